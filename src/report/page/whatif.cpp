#include "report/whatif.h"

#include "report/page/sections.h"
#include "report/text_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

constexpr std::size_t kMostRuns = 8;
constexpr double kSameArea = 1;  // per cent

std::string shown_change(const Json& row) {
  return escaped(change_text(row, "\u2192"));
}

std::string signed_percent(double value) {
  const std::string shown = fmt::format("{:+.1f} %", value);
  return shown == "-0.0 %" ? "+0.0 %" : shown;
}

// Numbers of a table, cited as `whatif/STEP/COLUMN` of a run.
class Numbers {
 public:
  explicit Numbers(const Cited& cited) : cited_(cited) {}
  // A share, as all percentages of pages are.
  std::string percent(const Json& row, const char* column) const {
    const double value = row[column].get<double>();
    return cited_.computed(name(row, column), value / 100, signed_percent(value));
  }
  std::string cycles(const Json& row) const {
    return cited_.computed(name(row, "cycles"), row["cycles"].get<double>(),
                           grouped(row["cycles"].get<std::int64_t>()));
  }

 private:
  static std::string name(const Json& row, const char* column) {
    return fmt::format("whatif/{}/{}", row["step"].get<std::string>(), column);
  }
  const Cited& cited_;
};

// Gains to the left of the middle, losses to the right.
std::string bar(const Json& row, double most) {
  constexpr double kHalf = 50;
  const double change = row["cycles_percent"].get<double>();
  const double length = kHalf * std::min(1.0, ratio(std::abs(change), most));
  return "<svg width=\"120\" height=\"12\" viewBox=\"0 0 100 12\" preserveAspectRatio=\"none\">" +
         rect_at(change < 0 ? kHalf - length : kHalf, 0, length, 12, change < 0 ? kBlue : kOrange) + "</svg>";
}

std::string table_of(const std::vector<Json>& rows, const Numbers& numbers) {
  double most = 0;
  for (const Json& row : rows) most = std::max(most, std::abs(row["cycles_percent"].get<double>()));
  std::string html =
      "<table><thead><tr><th>step</th><th class=\"n\">cycles</th><th class=\"n\">change</th><th></th><th "
      "class=\"n\">energy</th><th class=\"n\">area</th></tr></thead><tbody>\n";
  for (const Json& row : rows)
    html += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"bar\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        shown_change(row), numbers.cycles(row), numbers.percent(row, "cycles_percent"), bar(row, most),
        numbers.percent(row, "energy_percent"), numbers.percent(row, "area_percent") + area_parts_text(row));
  return html + "</tbody></table>\n";
}

// A sentence on the best row of `rows`, which begins with `what`.
std::string sentence(const char* what, const std::vector<Json>& rows, const Numbers& numbers) {
  if (rows.empty()) return "";
  const Json& best = rows.front();
  return fmt::format(" {}: <b>{}</b>, {} cycles, {} energy, {} area.", what, shown_change(best),
                     numbers.percent(best, "cycles_percent"), numbers.percent(best, "energy_percent"),
                     numbers.percent(best, "area_percent"));
}

// The measured rows that `keep`.
template <class Keep>
std::vector<Json> kept(std::vector<Json> rows, const Keep& keep) {
  rows.erase(std::remove_if(rows.begin(), rows.end(), [&](const Json& row) { return !keep(row); }),
             rows.end());
  return rows;
}

std::vector<Json> at_most(std::vector<Json> rows, std::size_t most) {
  if (rows.size() > most) rows.resize(most);
  return rows;
}

std::string verdict(const WhatIfTable& table, const Numbers& numbers) {
  const std::vector<Json> singles = kept(measured_rows(table, "steps"), saves_cycles);
  if (singles.empty()) return "<p>None of the measured steps takes fewer cycles.</p>\n";
  const std::vector<Json> cheap =
      kept(singles, [](const Json& row) { return row["area_percent"].get<double>() <= kSameArea; });
  std::string html = "<p>" + sentence("Measured, the step that helps most", singles, numbers).substr(1);
  if (cheap.empty() || cheap.front()["step"] != singles.front()["step"])
    html += sentence("For at most 1 % more area", cheap, numbers);
  return html + sentence("The best of the pairs", helpful_pairs(table), numbers) + "</p>\n";
}

}  // namespace

std::string measured_help(const RunFacts& run) {
  if (run.whatif == nullptr)
    return "<p class=\"note\">What would help has not been measured: <code>tilebeat whatif</code> does "
           "that, and <code>tilebeat report --whatif</code> shows it here.</p>\n";
  const Numbers numbers(run.cited);
  const std::vector<Json> rows = kept(measured_rows(*run.whatif, "steps"), saves_cycles);
  std::string html = "<h3>What would help</h3>\n" + verdict(*run.whatif, numbers);
  if (!rows.empty())
    html += "<p>Runs with one knob a step away:</p>\n" + table_of(at_most(rows, kMostRuns), numbers);
  const std::vector<Json> pairs = helpful_pairs(*run.whatif);
  if (!pairs.empty())
    html += "<p>Two knobs, where that saves more than either:</p>\n" +
            table_of(at_most(pairs, kMostRuns), numbers);
  return html;
}

}  // namespace tilebeat::page

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

std::string not_measured(const WhatIfTable& table) {
  std::string rows;
  for (const char* list : {"steps", "pairs"}) {
    for (const Json& row : table[list]) {
      if (row["result"] == "measured") continue;
      rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", page::shown_change(row),
                          page::escaped(row["result"].get<std::string>()),
                          page::escaped(row["reason"].get<std::string>()));
    }
  }
  if (rows.empty()) return "";
  return "<h2>Not measured</h2>\n<table><thead><tr><th>step</th><th></th><th>why</th></tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

}  // namespace

std::string whatif_page(const WhatIfTable& table) {
  const page::Cited cited(0, table);
  const page::Numbers numbers(cited);
  const std::vector<Json> steps = measured_rows(table, "steps"), pairs = measured_rows(table, "pairs");
  const std::vector<Json> smaller = page::kept(steps, saves_area);
  std::string html =
      page::opening(fmt::format("what if, {} on {}", page::escaped(table["workload"].get<std::string>()),
                                page::escaped(table["hardware"].get<std::string>())));
  html += fmt::format(
      "<p>Without a step: {} cycles. Every knob was run a step up and a step down; changes are "
      "of the run without.</p>\n",
      cited.count("/base/cycles"));
  html += page::verdict(table, numbers);
  if (!pairs.empty()) html += "<h2>Pairs</h2>\n" + page::table_of(pairs, numbers);
  if (!smaller.empty())
    html += fmt::format("<h2>Smaller, for at most {} % more cycles</h2>\n", kNoticed) +
            page::table_of(smaller, numbers);
  html += "<h2>All steps</h2>\n" + page::table_of(steps, numbers);
  return html + not_measured(table) + page::kClosing;
}

}  // namespace tilebeat
