#include "report/page/sections.h"
#include "report/text_table.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

// Pixels of the drawing.
constexpr double kTrafficWidth = 960, kTrafficHeight = 190, kTrafficLeft = 70, kTrafficRight = 10,
                 kTrafficTop = 14, kTrafficBottom = 36;

struct Span {
  double cycles;
  double read, written;  ///< bytes a second
};

}  // namespace

std::string traffic_over_time(const RunFacts& run) {
  const Json& layers = run.cited.report()["layers"];
  double total = 0, most = run.peak_dram_bytes_per_second;
  std::vector<Span> spans;
  for (const Json& layer : layers) {
    const double cycles = layer["cycles"].get<double>(), seconds = cycles / run.clock_mhz / 1e6;
    const Json& dram = layer["bytes"]["dram"];
    spans.push_back(
        {cycles, ratio(dram["read"].get<double>(), seconds), ratio(dram["write"].get<double>(), seconds)});
    total += cycles;
    most = std::max(most, spans.back().read + spans.back().written);
  }
  const double floor = kTrafficHeight - kTrafficBottom, width = kTrafficWidth - kTrafficLeft - kTrafficRight;
  const auto height = [&](double rate) { return (floor - kTrafficTop) * ratio(rate, most); };
  std::string svg;
  double x = kTrafficLeft;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    const double wide = width * ratio(span.cycles, total);
    const std::string hint = fmt::format("{}: {}B/s read, {}B/s written", layer_name(layers[i]),
                                         prefixed(span.read), prefixed(span.written));
    const double low = height(span.read), high = height(span.written);
    svg += rect_at(x, floor - low, wide, low, kBlue, hint,
                   run.cited.attributes(layer_at(i) + "/dram_read_per_second", span.read));
    svg += rect_at(x, floor - low - high, wide, high, kOrange, hint,
                   run.cited.attributes(layer_at(i) + "/dram_write_per_second", span.written));
    svg += fmt::format(
        "<line x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\" stroke=\"#fff\" "
        "stroke-width=\"0.5\"/>\n",
        drawn(x), drawn(kTrafficTop), drawn(floor));
    x += wide;
  }
  const double peak = floor - height(run.peak_dram_bytes_per_second);
  svg += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"/>\n", drawn(kTrafficLeft),
                     drawn(floor), drawn(kTrafficWidth - kTrafficRight), drawn(floor), kInk);
  svg +=
      fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-dasharray=\"6 4\"/>\n",
                  drawn(kTrafficLeft), drawn(peak), drawn(kTrafficWidth - kTrafficRight), drawn(peak), kInk);
  svg += text_at(kTrafficLeft - 6, peak + 4, prefixed(run.peak_dram_bytes_per_second) + "B/s",
                 "text-anchor=\"end\"" +
                     run.cited.attributes("peak_dram_bytes_per_second", run.peak_dram_bytes_per_second));
  svg += text_at(kTrafficLeft - 6, floor + 4, "0", "text-anchor=\"end\"") +
         text_at(kTrafficLeft, floor + 18, "0 µs") +
         text_at(kTrafficWidth - kTrafficRight, floor + 18, fmt::format("{:.1f} µs", run.microseconds),
                 "text-anchor=\"end\"" + run.cited.attributes("microseconds", run.microseconds));
  return "<h3>DRAM over time</h3>\n<p>Average over each layer, in the order of their completion; the dashed "
         "line is the peak.</p>\n<p>" +
         legend_entry(kBlue, "read") + legend_entry(kOrange, "written") + "</p>\n" +
         fmt::format(
             "<svg class=\"drawing\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"DRAM "
             "over time\">\n{}</svg>\n",
             kTrafficWidth, kTrafficHeight, svg);
}

std::string fusion_groups(const RunFacts& run) {
  const Json& layers = run.cited.report()["layers"];
  std::string rows;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i]["layers"].empty()) continue;
    std::string chain;
    for (const Json& name : layers[i]["layers"])
      chain += fmt::format("{}<span class=\"box\">{}</span>", chain.empty() ? "" : " &rarr; ",
                           escaped(name.get<std::string>()));
    std::string decided;
    for (const Json& fact : layers[i].value("facts", Json::array())) {
      if (fact["name"] == "layers") continue;
      decided +=
          fmt::format("{}<b>{}</b> {}", decided.empty() ? "" : "<br>\n",
                      escaped(fact["name"].get<std::string>()), escaped(fact["text"].get<std::string>()));
    }
    rows += fmt::format(
        "<tr><td class=\"chain\">{}</td><td class=\"note\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        chain, decided, run.cited.count(layer_at(i) + "/cycles"),
        run.cited.computed(layer_at(i) + "/dram_bytes", dram_bytes(layers[i]),
                           prefixed(dram_bytes(layers[i]))));
  }
  if (rows.empty()) return "";
  return "<h3>Fusion groups</h3>\n<p>The layers of a unit run together, in this order; what passes between "
         "them "
         "stays on the chip. Layers that are not here run "
         "alone.</p>\n<table><thead><tr><th>layers</th><th>decided</th><th "
         "class=\"n\">cycles</th><th class=\"n\">bytes over DRAM</th></tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

}  // namespace tilebeat::page
