// Charts across several runs: a bar a run for time, energy and DRAM bytes.
#include "report/page/sections.h"
#include "report/run_result.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

constexpr double kRunBarWidth = 1000, kRunBarHeight = 14;

/// A part of a bar.
struct Piece {
  std::string name;
  double value = 0;
};

/// One chart: a bar a run, divided into pieces whose colours are the same in all bars.
struct Chart {
  std::string heading, text;
  std::string key;   ///< under which sums are cited, in the unit of the report
  std::string unit;  ///< of the numbers that are shown
  double scale = 1;  ///< what the shown unit has of the report's
  std::vector<std::vector<Piece>> bars;
};

double sum_of(const std::vector<Piece>& pieces) {
  double sum = 0;
  for (const Piece& piece : pieces) sum += piece.value;
  return sum;
}

/// The names of the pieces with a colour of their own, in the order in which they are drawn: the largest of
/// all bars together.
std::vector<std::string> coloured_names(const Chart& chart) {
  std::map<std::string, double> sums;
  std::vector<std::string> names;
  for (const auto& bar : chart.bars) {
    for (const Piece& piece : bar) {
      if (piece.value > 0 && sums.count(piece.name) == 0) names.push_back(piece.name);
      sums[piece.name] += piece.value;
    }
  }
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return sums[a] > sums[b]; });
  // Busy cycles have the colour that they have everywhere on the page.
  const auto busy = std::find(names.begin(), names.end(), "busy");
  if (busy != names.end()) std::rotate(names.begin(), busy, busy + 1);
  names.resize(std::min(names.size(), kCauseColours.size() + 1));
  return names;
}

std::string colour_of(const std::vector<std::string>& coloured, const std::string& name) {
  const auto found = std::find(coloured.begin(), coloured.end(), name);
  if (found == coloured.end()) return kGrey;
  return found == coloured.begin() ? kBlue : kCauseColours[to_size(found - coloured.begin() - 1)];
}

std::string shown(const Chart& chart, double value) {
  return fmt::format("{:.4g} {}", value / chart.scale, chart.unit);
}

std::string bar_of(const Chart& chart, std::vector<Piece> pieces, double most,
                   const std::vector<std::string>& coloured) {
  std::string svg;
  double x = 0;
  const auto place = [&coloured](const Piece& piece) {
    return std::find(coloured.begin(), coloured.end(), piece.name) - coloured.begin();
  };
  std::stable_sort(pieces.begin(), pieces.end(),
                   [&](const Piece& a, const Piece& b) { return place(a) < place(b); });
  for (const Piece& piece : pieces) {
    if (piece.value <= 0) continue;
    const double width = kRunBarWidth * ratio(piece.value, most);
    svg += rect_at(x, 0, width, kRunBarHeight, colour_of(coloured, piece.name),
                   piece.name + ": " + shown(chart, piece.value));
    x += width;
  }
  return fmt::format(
      "<svg width=\"100%\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "preserveAspectRatio=\"none\">{2}</svg>",
      kRunBarWidth, kRunBarHeight, svg);
}

std::string drawn_chart(const std::vector<RunFacts>& runs, const Chart& chart) {
  const std::vector<std::string> coloured = coloured_names(chart);
  double most = 0;
  std::string legend, rows;
  for (const auto& bar : chart.bars) most = std::max(most, sum_of(bar));
  for (const std::string& name : coloured) legend += legend_entry(colour_of(coloured, name), name);
  if (coloured.size() > kCauseColours.size()) legend += legend_entry(kGrey, "others");
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const double sum = sum_of(chart.bars[r]);
    rows += fmt::format(
        "<tr><td class=\"name\"><a href=\"#run{}\">{} on {}</a></td><td class=\"n\">{}</td><td "
        "class=\"bar\">{}</td></tr>\n",
        r, escaped(runs[r].workload), escaped(runs[r].hardware),
        runs[r].cited.computed(chart.key, sum, shown(chart, sum)),
        bar_of(chart, chart.bars[r], most, coloured));
  }
  return fmt::format(
      "<h3>{}</h3>\n<p>{}</p>\n<p>{}</p>\n<table class=\"layers\"><thead><tr><th>run</th><th "
      "class=\"n\">{}</th><th class=\"wide\"></th></tr></thead><tbody>\n{}</tbody></table>\n",
      chart.heading, chart.text, legend, chart.unit, rows);
}

/// The time of a run, divided as the cycles of its matrix arrays are; whole where these have none.
std::vector<Piece> time_pieces(const RunFacts& run) {
  if (run.array_cycles == 0) return {{"all", run.microseconds}};
  const auto part = [&run](std::int64_t cycles) {
    return run.microseconds * ratio(cycles, run.array_cycles);
  };
  std::vector<Piece> pieces{{"busy", part(run.beats)}};
  for (const Cause& cause : run.causes) pieces.push_back({cause.name, part(cause.cycles)});
  return pieces;
}

std::vector<Piece> energy_pieces(const RunFacts& run) {
  std::vector<Piece> pieces;
  for (const EnergyPart& part : kEnergyParts)
    pieces.push_back({std::string(part.name), run.cited.number("/energy/pj/" + std::string(part.name))});
  return pieces;
}

std::vector<Piece> dram_pieces(const RunFacts& run) {
  return {{"read", run.cited.number("/total/dram_read_bytes")},
          {"written", run.cited.number("/total/dram_write_bytes")}};
}

}  // namespace

std::string charts_across(const std::vector<RunFacts>& runs) {
  const auto chart = [&runs](Chart made, const std::function<std::vector<Piece>(const RunFacts&)>& pieces) {
    for (const RunFacts& run : runs) made.bars.push_back(pieces(run));
    return drawn_chart(runs, made);
  };
  constexpr double kPjPerUj = 1e6, kBytesPerKb = 1e3;
  std::string html =
      chart({"Time",
             "A bar is as long as its run took, divided as the cycles of the matrix arrays are.",
             "across/microseconds",
             "µs",
             1,
             {}},
            time_pieces);
  const bool have_energy = std::all_of(
      runs.begin(), runs.end(), [](const RunFacts& run) { return run.cited.report().contains("energy"); });
  if (have_energy)
    html += chart({"Energy", "The energy of each run by its parts.", "across/energy_pj", "µJ", kPjPerUj, {}},
                  energy_pieces);
  return html + chart({"DRAM", "Bytes over the DRAM buses.", "across/dram_bytes", "kB", kBytesPerKb, {}},
                      dram_pieces);
}

}  // namespace tilebeat::page
