#include "tilebeat/report/page.h"

#include <fmt/format.h>

#include "frame.h"
#include "sections.h"

namespace tilebeat {
namespace {

std::string title_of(const page::RunFacts& run) {
  return page::escaped(run.workload) + " on " + page::escaped(run.hardware);
}

// What did not pass.
std::string failures(const page::RunFacts& run) {
  std::string html;
  const auto& report = run.cited.report();
  for (const auto& d : report["differences"])
    html +=
        fmt::format("<p class=\"failed\">Check failed: layer {}, element {}: {} says {}, simulated {}</p>\n",
                    page::escaped(d["layer"].get<std::string>()), page::escaped(d["index"].dump()),
                    page::escaped(d["against"].get<std::string>()), d["wanted"].dump(), d["got"].dump());
  for (const auto& failure : report["failures"])
    html += fmt::format("<p class=\"failed\">Failed: {}</p>\n", page::escaped(failure.get<std::string>()));
  return html;
}

std::string section_of(const page::RunFacts& run, std::size_t index) {
  const auto& report = run.cited.report();
  std::string html = fmt::format(
      "<section id=\"run{}\">\n<h2>{}</h2>\n<p class=\"note\">{}, {} dataflow</p>\n", index, title_of(run),
      page::escaped(run.file), page::escaped(report["dataflow"].get<std::string>()));
  html += failures(run) + page::totals(run) + page::limits(run) + page::floor_plan(run);
  html += page::cycles_by_layer(run) + page::losses_by_layer(run) + page::roofline(run);
  html += report.contains("graph") ? page::graph(run) : page::fused_units(run);
  html += page::traffic_over_time(run) + page::memory_over_time(run) + page::bytes_by_layer(run) +
          page::energy_by_layer(run);
  return html + "</section>\n";
}

}  // namespace

std::string report_page(const std::vector<PageReport>& reports) {
  std::vector<page::RunFacts> runs;
  for (const PageReport& report : reports) runs.push_back(page::facts_of(report, runs.size()));
  const std::string title = runs.size() == 1 ? title_of(runs.front()) : fmt::format("{} runs", runs.size());
  std::string html = page::opening(title);
  if (runs.size() > 1) html += page::comparison(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) html += section_of(runs[i], i);
  return html + page::kClosing;
}

}  // namespace tilebeat
