#include "report/page/sections.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

// Pixels of the drawing.
constexpr double kPlanWidth = 960, kGap = 8, kStrip = 40, kCore = 46, kLabel = 18, kPad = 6;

// A part of the chip: the place of its number in the report, and its drawing.
struct DrawnPart {
  std::string label, shown, hint;
  std::string cited;  ///< attributes of the number
  double share = 0;
};

struct Area {
  double x, y, width, height;
};

// The text if it fits `width`, else its first word; the tooltip has the whole text.
std::string fitting(const std::string& text, double width) {
  constexpr double kCharacter = 6.8;
  return kCharacter * static_cast<double>(text.size()) <= width - kPad ? text
                                                                       : text.substr(0, text.find(' '));
}

std::string drawn_part(const DrawnPart& part, const Area& a) {
  const std::string ink = fmt::format("fill=\"{}\"", ink_on(part.share));
  const double middle = a.x + a.width / 2;
  std::string svg = rect_at(a.x, a.y, a.width, a.height, shade(part.share), part.hint,
                            part.cited + " stroke=\"#555\" rx=\"3\"");
  svg += text_at(middle, a.y + a.height / 2 - 3, fitting(part.label, a.width),
                 ink + " text-anchor=\"middle\" font-size=\"12\"");
  return svg + text_at(middle, a.y + a.height / 2 + 13, part.shown,
                       ink + part.cited + " text-anchor=\"middle\" font-size=\"14\" font-weight=\"bold\"");
}

std::string drawn_row(const std::vector<DrawnPart>& parts, const Area& a) {
  std::string svg;
  const double step = (a.width + kGap) / static_cast<double>(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    svg += drawn_part(parts[i], {a.x + static_cast<double>(i) * step, a.y, step - kGap, a.height});
  return svg;
}

DrawnPart busy_part(const RunFacts& run, const std::string& label, const BusyModule& module) {
  return {label, percent(module.share),
          fmt::format("{}: busy in {} of {} cycles", module.name,
                      run.cited.integer(fmt::format("/modules/{}/busy", module.index)),
                      run.cited.integer(fmt::format("/modules/{}/cycles", module.index))),
          run.cited.attributes("busy/" + module.name, module.share), module.share};
}

// Adds the busiest module below `prefix`, under the group's name and its own.
void add_busiest(std::vector<DrawnPart>& parts, const RunFacts& run, const std::string& label,
                 const std::string& prefix) {
  const auto module = busiest_module(run.cited.report(), prefix);
  if (!module) return;
  const std::string rest = module->name.substr(std::min(prefix.size(), module->name.size()));
  parts.push_back(busy_part(run, rest.empty() ? label : label + " " + rest, *module));
}

std::vector<DrawnPart> dram_parts(const RunFacts& run) {
  std::vector<DrawnPart> parts;
  for (const BusyModule& module : modules_of(run.cited.report(), "dram"))
    parts.push_back(busy_part(run, module.name, module));
  return parts;
}

struct Cluster {
  std::string name;
  std::vector<DrawnPart> cores;
  std::vector<DrawnPart> memory;
};

std::vector<Cluster> clusters_of(const RunFacts& run) {
  std::vector<Cluster> clusters;
  std::map<std::string, std::size_t> places;
  const Json& cores = run.cited.report()["cores"];
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const auto name = cores[i]["name"].get<std::string>();
    const std::string cluster = name.substr(0, name.find('.'));
    const auto [found, added] = places.emplace(cluster, clusters.size());
    if (added) clusters.push_back({cluster, {}, {}});
    const std::string pointer = fmt::format("/cores/{}/utilization", i);
    const double share = run.cited.number(pointer);
    clusters[found->second].cores.push_back(
        {name == cluster ? name : name.substr(cluster.size() + 1), percent(share),
         fmt::format("{}: array busy {} cycles, at barriers {} cycles, waits for signals {} cycles", name,
                     cores[i]["busy"].get<std::int64_t>(), cores[i]["barrier"].get<std::int64_t>(),
                     cores[i]["peer"].get<std::int64_t>()),
         run.cited.attributes(pointer), share});
  }
  for (Cluster& cluster : clusters) {
    add_busiest(cluster.memory, run, "memory", cluster.name + ".memory.");
    add_busiest(cluster.memory, run, "link", "link." + cluster.name + ".");
  }
  return clusters;
}

double cluster_height(const Cluster& cluster, std::size_t columns) {
  const std::size_t rows = (cluster.cores.size() + columns - 1) / columns;
  return kLabel + kPad + static_cast<double>(rows) * (kCore + kPad) +
         (cluster.memory.empty() ? 0 : kStrip + kPad);
}

std::string drawn_cluster(const Cluster& cluster, const Area& a, std::size_t columns) {
  std::string svg = rect_at(a.x, a.y, a.width, a.height, "#fff", "", " stroke=\"#888\" rx=\"4\"") +
                    text_at(a.x + kPad, a.y + 14, cluster.name, "font-size=\"12\"");
  const double step = (a.width - kPad) / static_cast<double>(columns);
  for (std::size_t i = 0; i < cluster.cores.size(); ++i) {
    const std::size_t row = i / columns, column = i % columns;
    const double x = a.x + kPad + static_cast<double>(column) * step;
    const double y = a.y + kLabel + static_cast<double>(row) * (kCore + kPad);
    svg += drawn_part(cluster.cores[i], {x, y, step - kPad, kCore});
  }
  if (!cluster.memory.empty())
    svg +=
        drawn_row(cluster.memory, {a.x + kPad, a.y + a.height - kStrip - kPad, a.width - 2 * kPad, kStrip});
  return svg;
}

// Draws the clusters below `y` and advances `y`.
std::string drawn_clusters(const std::vector<Cluster>& clusters, double& y) {
  const auto square = [](std::size_t count) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(std::sqrt(count))));
  };
  const std::size_t across = std::min<std::size_t>(square(clusters.size()), 4);
  std::size_t most_cores = 1;
  for (const Cluster& cluster : clusters) most_cores = std::max(most_cores, cluster.cores.size());
  const std::size_t columns = square(most_cores);
  const double step = (kPlanWidth + kGap) / static_cast<double>(across);
  std::string svg;
  for (std::size_t first = 0; first < clusters.size(); first += across) {
    double height = 0;
    const std::size_t end = std::min(first + across, clusters.size());
    for (std::size_t i = first; i < end; ++i) height = std::max(height, cluster_height(clusters[i], columns));
    for (std::size_t i = first; i < end; ++i)
      svg += drawn_cluster(clusters[i], {static_cast<double>(i - first) * step, y, step - kGap, height},
                           columns);
    y += height + kGap;
  }
  return svg;
}

// The parts of a board with one engine: the modules that move data, and the engine.
std::vector<DrawnPart> board_parts(const RunFacts& run) {
  std::vector<DrawnPart> parts;
  for (const char* name : {"dma_load.", "dma_parameter.", "dma_store."})
    add_busiest(parts, run, std::string(name, std::string(name).size() - 1), name);
  const double share = run.cited.number("/total/utilization");
  parts.push_back({"matrix engine", percent(share), "useful MACs of the peak",
                   run.cited.attributes("/total/utilization"), share});
  return parts;
}

std::string scale() {
  std::string svg;
  for (int i = 0; i < 10; ++i) svg += rect_at(i * 14, 0, 14, 12, shade(i / 9.0));
  return "<p class=\"note\">0 % <svg width=\"140\" height=\"12\">" + svg + "</svg> 100 %</p>\n";
}

}  // namespace

std::string floor_plan(const RunFacts& run) {
  const std::vector<Cluster> clusters = clusters_of(run);
  double y = 0;
  std::string svg;
  const auto strip = [&](const std::vector<DrawnPart>& parts) {
    if (parts.empty()) return;
    svg += drawn_row(parts, {0, y, kPlanWidth, kStrip});
    y += kStrip + kGap;
  };
  strip(dram_parts(run));
  std::vector<DrawnPart> interconnect;
  add_busiest(interconnect, run, "interconnect, busiest port:", clusters.empty() ? "bus." : "noc.");
  strip(interconnect);
  if (clusters.empty())
    strip(board_parts(run));
  else
    svg += drawn_clusters(clusters, y);
  return "<h3>The chip</h3>\n<p>Cores: utilisation, useful MACs of their peak over the whole run. DRAM "
         "channels, memories, links and the interconnect: the share of cycles in which they are busy, of the "
         "busiest module of each.</p>\n" +
         scale() +
         fmt::format(
             "<svg class=\"drawing\" viewBox=\"-1 -1 {} {}\" role=\"img\" aria-label=\"floor "
             "plan\">\n{}</svg>\n",
             drawn(kPlanWidth + 2), drawn(y), svg);
}

}  // namespace tilebeat::page
