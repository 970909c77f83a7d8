#include "tilebeat/observe/statistics.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sections.h"

namespace tilebeat::page {
namespace {

constexpr std::array<const char*, 3> kMeanings{
    "no output element for the lane, thread or line: edges of maps, tiles and blocks",
    "no kernel for the column",
    "output and kernel exist, the product is none of the layer's: fill of channels, other groups, inserted "
    "zeros"};
constexpr std::array<const char*, 3> kColours{"#e69f00", "#56b4e9", "#cc79a7"};
static_assert(kMeanings.size() == kMacLossNames.size() && kColours.size() == kMacLossNames.size());

constexpr double kBarWidth = 1000, kBarHeight = 14;

// A cell with a count, and its part of all that the beats had room for.
std::string cell(const RunFacts& run, const std::string& place, double all) {
  const double share = ratio(run.cited.number(place), all);
  return fmt::format("<td class=\"n\">{}<div class=\"note\">{}</div></td>", run.cited.short_count(place),
                     run.cited.computed(place + "/share", share, percent(share)));
}

// The row of what stands at `place`: the run or a layer.
std::string row(const RunFacts& run, const std::string& place, const std::string& name) {
  const double all = beat_macs(run.cited.at(place));
  std::string cells = cell(run, place + "/macs", all), svg;
  double x = 0;
  const auto piece = [&](const std::string& at, const char* colour, std::string_view what) {
    const double width = kBarWidth * ratio(run.cited.number(at), all);
    svg += rect_at(x, 0, width, kBarHeight, colour, std::string(what), run.cited.attributes(at));
    x += width;
  };
  piece(place + "/macs", kBlue, "useful");
  for (std::size_t i = 0; i < kMacLossNames.size(); ++i) {
    const std::string at = fmt::format("{}/lost_macs/{}", place, kMacLossNames[i]);
    cells += cell(run, at, all);
    piece(at, kColours[i], kMacLossNames[i]);
  }
  return fmt::format(
      "<tr><td class=\"name\">{}</td><td class=\"bar\"><svg width=\"100%\" height=\"{:.0f}\" viewBox=\"0 0 "
      "{:.0f} {:.0f}\" preserveAspectRatio=\"none\">{}</svg></td>{}</tr>\n",
      name, kBarHeight, kBarWidth, kBarHeight, svg, cells);
}

std::size_t largest_loss_of(const Json& counted) {
  const Json& losses = counted["lost_macs"];
  std::size_t largest = 0;
  for (std::size_t i = 1; i < kMacLossNames.size(); ++i) {
    if (losses[std::string(kMacLossNames[i])] > losses[std::string(kMacLossNames[largest])]) largest = i;
  }
  return largest;
}

}  // namespace

double beat_macs(const Json& counted) {
  auto all = counted["macs"].get<double>();
  for (const auto& [name, lost] : counted["lost_macs"].items()) all += lost.get<double>();
  return all;
}

std::string_view largest_loss_name(const Json& counted) {
  return kMacLossNames[largest_loss_of(counted)];
}

std::string largest_loss(const Json& counted) {
  const std::size_t largest = largest_loss_of(counted);
  return fmt::format("<b>{}</b> ({})", kMacLossNames[largest], escaped(kMeanings[largest]));
}

std::string losses_by_layer(const RunFacts& run) {
  const Json& report = run.cited.report();
  if (!report["total"].contains("lost_macs") || beat_macs(report["total"]) <= 0) return "";
  std::string html =
      "<h3>Why busy is not utilised</h3>\n<p>In each of its busy cycles an array has room for as many "
      "multiply-accumulates as it has multipliers. What became of them:</p>\n<p>" +
      legend_entry(kBlue, "useful");
  for (std::size_t i = 0; i < kMacLossNames.size(); ++i)
    html += legend_entry(kColours[i], fmt::format("{}: {}", kMacLossNames[i], kMeanings[i]));
  html +=
      "</p>\n<table class=\"layers\"><thead><tr><th>layer</th><th class=\"wide\"></th><th "
      "class=\"n\">useful</th>";
  for (const std::string_view name : kMacLossNames) html += fmt::format("<th class=\"n\">{}</th>", name);
  html += "</tr></thead><tbody>\n" + row(run, "/total", "<b>the whole run</b>");
  const Json& layers = report["layers"];
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].contains("lost_macs") && beat_macs(layers[i]) > 0)
      html += row(run, layer_at(i), escaped(layer_name(layers[i])));
  }
  return html + "</tbody></table>\n";
}

}  // namespace tilebeat::page
