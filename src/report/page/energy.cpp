#include "report/page/sections.h"
#include "report/run_result.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

constexpr double kEnergyBarWidth = 1000, kEnergyBarHeight = 14, kPjPerUj = 1e6;

// The parts with energy, largest first, and the colour of each; the last ones share grey.
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
    const double pj = run.cited.number(place), width = kEnergyBarWidth * ratio(pj, most);
    inside +=
        rect_at(x, 0, width, kEnergyBarHeight, part.colour,
                fmt::format("{}: {:.4g} uJ", part.part.name, pj / kPjPerUj), run.cited.attributes(place));
    x += width;
  }
  return fmt::format(
      "<svg width=\"100%\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "preserveAspectRatio=\"none\">{2}</svg>",
      kEnergyBarWidth, kEnergyBarHeight, inside);
}

// A number of the report, converted to another unit.
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

// The area by unit and memory; empty for a report of an earlier version.
std::string area_table(const RunFacts& run) {
  struct Row {
    const char *part, *meaning;
  };
  constexpr std::array<Row, 9> kRows{{{"macs", "multiply-accumulate units"},
                                      {"results", "result units of post-processing"},
                                      {"lanes", "lanes of vector units"},
                                      {"buffers", "buffers of the engines"},
                                      {"nram", "memories for maps and results"},
                                      {"wram", "memories for kernels"},
                                      {"sram", "memories of the clusters"},
                                      {"dma", "landing buffers of DMA engines"},
                                      {"buses", "ports of interconnects"}}};
  if (!run.cited.report()["energy"]["area_mm2"].contains("buses")) return "";
  const double total = run.cited.number("/energy/area_mm2/total");
  std::string rows;
  for (const Row& row : kRows) {
    const std::string name = row.part, place = "/energy/area_mm2/" + name;
    const double mm2 = run.cited.number(place), share = ratio(mm2, total);
    if (mm2 <= 0) continue;
    rows += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                        name, number_at(run, place),
                        run.cited.computed("area_share/" + name, share, percent(share)), row.meaning);
  }
  return "<table><thead><tr><th>area of</th><th class=\"n\">mm2</th><th class=\"n\">share</th><th>what it "
         "is</th></tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

}  // namespace

std::string energy_by_layer(const RunFacts& run) {
  const Json& report = run.cited.report();
  if (!report.contains("energy")) return "";  // a report of an earlier version
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
  html += parts_table(run, parts) + area_table(run);
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

namespace {

// Pixels of a drawing.
constexpr double kHeldWidth = 960, kHeldHeight = 74, kHeldLeft = 200, kHeldRight = 70, kHeldTop = 6,
                 kHeldBottom = 8;
constexpr std::size_t kMostMemories = 24;

struct Memory {
  std::size_t index = 0;  ///< in the report
  std::int64_t bytes = 0, peak = 0;
};

// The memories to draw: of many, the fullest, in the report's order.
std::vector<Memory> drawn_memories(const Json& memories) {
  std::vector<Memory> all;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    Memory memory{i, memories[i]["bytes"].get<std::int64_t>(), 0};
    for (const Json& held : memories[i]["held_bytes"])
      memory.peak = std::max(memory.peak, held.get<std::int64_t>());
    all.push_back(memory);
  }
  const auto part = [](const Memory& m) { return ratio(m.peak, m.bytes); };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Memory& a, const Memory& b) { return part(a) > part(b); });
  all.resize(std::min(all.size(), kMostMemories));
  std::sort(all.begin(), all.end(), [](const Memory& a, const Memory& b) { return a.index < b.index; });
  return all;
}

// The row of a memory: a bar per slice, with the held bytes as its height.
std::string row(const RunFacts& run, const Memory& memory, std::int64_t slice_cycles, double y) {
  const std::string place = fmt::format("/memory_over_time/memories/{}", memory.index);
  const Json& json = run.cited.at(place);
  const Json& held = json["held_bytes"];
  const double cycles = run.cited.number("/total/cycles");
  const double floor = y + kHeldHeight - kHeldBottom, room = kHeldHeight - kHeldTop - kHeldBottom;
  const double width = kHeldWidth - kHeldLeft - kHeldRight;
  const auto x_of = [&](double cycle) { return kHeldLeft + width * std::min(1.0, ratio(cycle, cycles)); };
  std::string svg = rect_at(kHeldLeft, y + kHeldTop, width, room, "#f3f3f3");
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto bytes = held[i].get<double>();
    if (bytes <= 0) continue;
    const double from = static_cast<double>(i) * static_cast<double>(slice_cycles);
    const double x = x_of(from), end = x_of(from + static_cast<double>(slice_cycles));
    const double height = room * std::min(1.0, ratio(bytes, static_cast<double>(memory.bytes)));
    svg += rect_at(x, floor - height, end - x, height, kBlue,
                   fmt::format("from cycle {:.0f} on: {}B", from, prefixed(bytes)),
                   run.cited.attributes(fmt::format("{}/held_bytes/{}", place, i)));
  }
  const double share = ratio(memory.peak, memory.bytes);
  svg += text_at(kHeldLeft - 8, y + kHeldTop + 16, json["module"].get<std::string>(), "text-anchor=\"end\"");
  svg += text_at(kHeldLeft - 8, y + kHeldTop + 34, prefixed(static_cast<double>(memory.bytes)) + "B",
                 "text-anchor=\"end\" fill=\"#555\"" + run.cited.attributes(place + "/bytes"));
  svg += text_at(kHeldLeft + width + 6, y + kHeldTop + 16, "peak", "fill=\"#555\"");
  svg += text_at(kHeldLeft + width + 6, y + kHeldTop + 34, percent(share),
                 run.cited.attributes(place + "/peak_share", share));
  return svg;
}

}  // namespace

std::string memory_over_time(const RunFacts& run) {
  const Json& report = run.cited.report();
  if (!report.contains("memory_over_time")) return "";
  const Json& over_time = report["memory_over_time"];
  const auto slice_cycles = over_time["slice_cycles"].get<std::int64_t>();
  const std::vector<Memory> memories = drawn_memories(over_time["memories"]);
  std::string svg;
  double y = 0;
  for (const Memory& memory : memories) {
    svg += row(run, memory, slice_cycles, y);
    y += kHeldHeight;
  }
  svg += text_at(kHeldLeft, y + 14, "0 µs") +
         text_at(kHeldWidth - kHeldRight, y + 14, fmt::format("{:.1f} µs", run.microseconds),
                 "text-anchor=\"end\"" + run.cited.attributes("microseconds", run.microseconds));
  const std::size_t left_out = over_time["memories"].size() - memories.size();
  const std::string more =
      left_out == 0
          ? ""
          : fmt::format(" {} memories that are filled less are not drawn; the report has them.", left_out);
  return fmt::format(
      "<h3>Memory over time</h3>\n<p>Bytes that each memory on the chip holds: a byte is held from when it "
      "is "
      "written until it is read for the last time, in lines of 64 bytes or more. A bar is {} cycles wide and "
      "counts what is held at any time of them; the grey field is the memory's "
      "size.{}</p>\n<svg class=\"drawing\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Memory "
      "over "
      "time\">\n{}</svg>\n",
      run.cited.count("/memory_over_time/slice_cycles"), more, kHeldWidth, y + 20, svg);
}

}  // namespace tilebeat::page
