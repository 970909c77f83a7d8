#include "report/page/markup.h"
#include "report/page/sections.h"
#include "report/report.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::string title_of(const page::RunFacts& run) {
  return page::escaped(run.workload) + " on " + page::escaped(run.hardware);
}

// Paragraphs on all failed checks and other failures.
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

// Of several runs, each is folded up.
std::string section_of(const page::RunFacts& run, std::size_t index, bool several) {
  const auto& report = run.cited.report();
  const std::string note = fmt::format("{}, {} dataflow", page::escaped(run.file),
                                       page::escaped(report["dataflow"].get<std::string>()));
  std::string html = fmt::format("<section id=\"run{}\">\n", index);
  html += several ? fmt::format("<details>\n<summary><b>{}</b> <span class=\"note\">{}</span></summary>\n",
                                title_of(run), note)
                  : fmt::format("<h2>{}</h2>\n<p class=\"note\">{}</p>\n", title_of(run), note);
  html += failures(run) + page::totals(run) + page::limits(run) + page::scenes(run) + page::floor_plan(run);
  html +=
      page::cycles_by_layer(run) + page::host_layers(run) + page::losses_by_layer(run) + page::roofline(run);
  html += report.contains("graph") ? page::graph(run) : "";
  html += page::fusion_groups(run);
  html += page::traffic_over_time(run) + page::memory_over_time(run) + page::bytes_by_layer(run) +
          page::energy_by_layer(run);
  return html + (several ? "</details>\n</section>\n" : "</section>\n");
}

}  // namespace

std::string report_page(const std::vector<PageReport>& reports) {
  std::vector<page::RunFacts> runs;
  for (const PageReport& report : reports) runs.push_back(page::facts_of(report, runs.size()));
  const std::string title = runs.size() == 1 ? title_of(runs.front()) : fmt::format("{} runs", runs.size());
  std::string html = page::opening(title);
  const bool several = runs.size() > 1;
  if (several) html += page::comparison(runs) + "<h2>Each run</h2>\n";
  for (std::size_t i = 0; i < runs.size(); ++i) html += section_of(runs[i], i, several);
  return html + page::kClosing;
}

}  // namespace tilebeat

namespace tilebeat::page {
namespace {

constexpr const char* kStyle = R"(
body { font: 14px/1.4 sans-serif; color: #222; background: #fff; max-width: 1200px; margin: 0 auto; padding: 12px 20px; }
h1 { font-size: 22px; margin: 8px 0; } h2 { font-size: 19px; margin: 28px 0 8px; border-bottom: 2px solid #222; }
h3 { font-size: 16px; margin: 22px 0 4px; } p { margin: 4px 0 8px; max-width: 900px; }
.note { font-size: 12px; color: #555; font-weight: normal; } .failed { color: #b34700; font-weight: bold; }
.tiles { display: flex; flex-wrap: wrap; gap: 8px; margin: 10px 0; }
.tile { border: 1px solid #bbb; border-radius: 4px; padding: 6px 12px; } .tile b { font-size: 18px; }
table { border-collapse: collapse; margin: 6px 0; } table.layers { width: 100%; }
th { text-align: left; border-bottom: 1px solid #222; vertical-align: bottom; }
td { border-bottom: 1px solid #ddd; vertical-align: top; } th, td { padding: 3px 8px; }
.n { text-align: right; font-variant-numeric: tabular-nums; } td.n { white-space: nowrap; }
td.bar { min-width: 120px; } th.wide { width: 40%; } td.bytes { min-width: 70px; } td.name { min-width: 110px; overflow-wrap: anywhere; }
span[data-value] { white-space: nowrap; }
td svg, .key svg { vertical-align: middle; } td.bar svg, td.bytes svg { display: block; margin-top: 3px; background: #f3f3f3; }
.key { white-space: nowrap; margin-right: 14px; }
.chain { line-height: 2; } .box { border: 1px solid #888; border-radius: 3px; padding: 1px 5px; white-space: nowrap; }
.drawing { display: block; width: 100%; max-width: 1100px; font: 13px sans-serif; }
@media screen and (max-width: 900px) { table { display: block; overflow-x: auto; } }
@media print {
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  body { font-size: 10px; padding: 0; } .note { font-size: 9px; } tr, .drawing, .tile { break-inside: avoid; }
  h2, h3, p { break-after: avoid; } thead { display: table-header-group; }
}
)";

}  // namespace

std::string opening(const std::string& title, const std::string& style) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>Tilebeat: "
      "{0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n"
      "<h1>Tilebeat: {0}</h1>\n",
      title, kStyle, style);
}

}  // namespace tilebeat::page
