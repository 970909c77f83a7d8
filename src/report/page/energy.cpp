#include "tilebeat/report/energy.h"

#include <algorithm>

#include <fmt/format.h>

#include "sections.h"

namespace tilebeat::page {
namespace {

constexpr double kBarWidth = 1000, kBarHeight = 14, kPjPerUj = 1e6;

// The parts that took some, largest first, and the colour of each: the last ones share grey.
struct Part {
  EnergyPart part;
  std::string colour;
};

std::vector<Part> parts_of(const RunFacts& run) {
  std::vector<Part> parts;
  const auto pj = [&run](const Part& p) {
    return run.cited.number("/energy/pj/" + std::string(p.part.name));
  };
  for (const EnergyPart& part : kEnergyParts) {
    if (pj({part, ""}) > 0) parts.push_back({part, kGrey});
  }
  std::stable_sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) { return pj(a) > pj(b); });
  for (std::size_t i = 0; i < std::min(parts.size(), kCauseColours.size() + 1); ++i)
    parts[i].colour = i == 0 ? kBlue : kCauseColours[i - 1];
  return parts;
}

std::string bar(const RunFacts& run, const std::string& pointer, const std::vector<Part>& parts,
                double most) {
  std::string inside;
  double x = 0;
  for (const Part& part : parts) {
    const std::string place = pointer + "/" + std::string(part.part.name);
    const double pj = run.cited.number(place), width = kBarWidth * ratio(pj, most);
    inside +=
        rect_at(x, 0, width, kBarHeight, part.colour,
                fmt::format("{}: {:.4g} uJ", part.part.name, pj / kPjPerUj), run.cited.attributes(place));
    x += width;
  }
  return fmt::format(
      "<svg width=\"100%\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "preserveAspectRatio=\"none\">{2}</svg>",
      kBarWidth, kBarHeight, inside);
}

// A number of the report, in another unit.
std::string number_at(const RunFacts& run, const std::string& pointer, double unit = 1) {
  return fmt::format("<span{}>{:.4g}</span>", run.cited.attributes(pointer),
                     run.cited.number(pointer) / unit);
}

std::string parts_table(const RunFacts& run, const std::vector<Part>& parts) {
  std::string rows;
  const double total = run.cited.number("/energy/pj/total");
  for (const Part& part : parts) {
    const std::string name(part.part.name), place = "/energy/pj/" + name;
    const double share = ratio(run.cited.number(place), total);
    rows += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                        legend_entry(part.colour, name), number_at(run, place, kPjPerUj),
                        run.cited.computed("energy_share/" + name, share, percent(share)),
                        escaped(std::string(part.part.meaning)));
  }
  return "<table><thead><tr><th>part</th><th class=\"n\">uJ</th><th class=\"n\">share</th><th>what it is</th>"
         "</tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

}  // namespace

std::string energy_by_layer(const RunFacts& run) {
  const Json& report = run.cited.report();
  if (!report.contains("energy")) return "";  // of a run from before there was one
  const std::vector<Part> parts = parts_of(run);
  const Json& layers = report["layers"];
  double most = 0;
  for (const Json& layer : layers) most = std::max(most, layer["energy_pj"]["total"].get<double>());
  std::string html = fmt::format(
      "<h3>Energy</h3>\n<p>{} uJ with the technology <b>{}</b>, {} W on average, an energy-delay product of "
      "{} J s; {} "
      "mm2 of units and memories.</p>\n",
      number_at(run, "/energy/pj/total", kPjPerUj),
      escaped(report["energy"]["technology"].get<std::string>()), number_at(run, "/energy/watts"),
      number_at(run, "/energy/edp_joule_seconds"), number_at(run, "/energy/area_mm2/total"));
  html += parts_table(run, parts);
  html +=
      "<table class=\"layers\"><thead><tr><th>layer</th><th class=\"n\">uJ</th><th "
      "class=\"wide\"></th></tr></thead>"
      "<tbody>\n";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string pointer = layer_at(i) + "/energy_pj";
    html +=
        fmt::format("<tr><td class=\"name\">{}</td><td class=\"n\">{}</td><td class=\"bar\">{}</td></tr>\n",
                    escaped(layer_name(layers[i])), number_at(run, pointer + "/total", kPjPerUj),
                    bar(run, pointer, parts, most));
  }
  return html + "</tbody></table>\n";
}

}  // namespace tilebeat::page
