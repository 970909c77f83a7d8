#include "observe/statistics.h"
#include "report/page/sections.h"
#include "report/text_table.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

constexpr double kBarWidth = 1000, kBarHeight = 14;

// The causes that have a colour of their own; all others share one.
std::vector<std::string> coloured_causes(const RunFacts& run) {
  std::vector<std::string> names;
  for (const Cause& cause : run.causes) {
    if (names.size() < kCauseColours.size()) names.push_back(cause.name);
  }
  return names;
}

std::string bar_of(const std::string& inside) {
  return fmt::format(
      "<svg width=\"100%\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "preserveAspectRatio=\"none\">{2}</svg>",
      kBarWidth, kBarHeight, inside);
}

// The bar of a layer: its length is the layer's cycles, divided into busy cycles and stalls of the arrays.
std::string cycles_bar(const RunFacts& run, std::size_t index, double most,
                       const std::vector<std::string>& coloured) {
  const std::string pointer = layer_at(index);
  const Json& layer = run.cited.at(pointer);
  const double length = kBarWidth * ratio(layer["cycles"].get<double>(), most);
  const auto all = static_cast<double>(array_cycles(layer));
  std::string svg;
  double x = 0;
  const auto piece = [&](double cycles, const std::string& colour, const std::string& hint,
                         const std::string& cited) {
    const double width = length * ratio(cycles, all);
    svg += rect_at(x, 0, width, kBarHeight, colour, hint, cited);
    x += width;
  };
  const auto hint = [](const std::string& name, std::int64_t cycles) {
    return fmt::format("{}: {} cycles", name, grouped(cycles));
  };
  piece(layer["beats"].get<double>(), kBlue, hint("busy", layer["beats"].get<std::int64_t>()),
        run.cited.attributes(pointer + "/beats"));
  for (std::size_t c = 0; c < coloured.size(); ++c) {
    const std::string place = pointer + "/stall_cycles/" + coloured[c];
    if (!layer["stall_cycles"].contains(coloured[c])) continue;
    piece(run.cited.number(place), kCauseColours[c], hint(coloured[c], run.cited.integer(place)),
          run.cited.attributes(place));
  }
  std::int64_t others = 0;
  for (const auto& [name, value] : layer["stall_cycles"].items()) {
    if (std::find(coloured.begin(), coloured.end(), name) == coloured.end())
      others = add_capped(others, value.get<std::int64_t>());
  }
  if (others > 0)
    piece(static_cast<double>(others), kGrey, hint("other causes", others),
          run.cited.attributes(pointer + "/others", static_cast<double>(others)));
  return svg;
}

// The name of the largest stall but those that `without` names; empty: there is none.
std::string largest_of(const Json& stalls, const std::set<std::string>& without = {}) {
  std::string largest;
  for (const auto& [name, value] : stalls.items()) {
    if (without.count(name) == 0 && (largest.empty() || value > stalls[largest])) largest = name;
  }
  return largest;
}

// A layer without multiply-accumulates is explained by the units that work in it.
std::string helpers_text(const RunFacts& run, const std::string& pointer) {
  std::string text;
  for (const auto& [unit, cycles] : run.cited.at(pointer)["helpers"].items()) {
    double all = cycles["busy"].template get<double>();
    for (const auto& [name, value] : cycles["stall_cycles"].items()) all += value.template get<double>();
    if (all <= 0 || cycles["busy"] == 0) continue;
    const std::string place = pointer + "/helpers/" + unit;
    const double busy = cycles["busy"].template get<double>() / all;
    text += fmt::format("{}{} busy {}", text.empty() ? "" : "<br>", escaped(unit),
                        run.cited.computed(place + "/busy", busy, percent(busy)));
    const std::string stall = largest_of(cycles["stall_cycles"], {"host", "no_work", "layer_end"});
    if (stall.empty()) continue;
    const double share = cycles["stall_cycles"][stall].template get<double>() / all;
    text += fmt::format(", {} {}", escaped(stall),
                        run.cited.computed(place + "/largest_stall", share, percent(share)));
  }
  return text;
}

std::string largest_stall(const RunFacts& run, const std::string& pointer) {
  if (run.cited.at(pointer).contains("helpers")) {
    if (std::string text = helpers_text(run, pointer); !text.empty()) return text;
  }
  const Json& stalls = run.cited.at(pointer)["stall_cycles"];
  const std::string largest = largest_of(stalls);
  if (largest.empty()) return "";
  const double share =
      ratio(stalls[largest].get<double>(), static_cast<double>(array_cycles(run.cited.at(pointer))));
  return escaped(largest) + " " + run.cited.computed(pointer + "/largest_stall", share, percent(share));
}

// Whether a layer stands for one of a float network (SPEC RN-3).
bool has_quality(const Json& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const Json& l) { return l.contains("quality"); });
}

std::string quality_cell(const RunFacts& run, const std::string& pointer) {
  const Json& layers = run.cited.report()["layers"];
  if (!has_quality(layers)) return "";
  if (!run.cited.at(pointer).contains("quality")) return "<td></td>";
  const std::string ratio_at = pointer + "/quality/sqnr_db", cosine_at = pointer + "/quality/cosine";
  return fmt::format(
      "<td class=\"n\"><span{}>{:.1f} dB</span><div class=\"note\">cosine <span{}>{:.5f}</span></div></td>",
      run.cited.attributes(ratio_at), run.cited.number(ratio_at), run.cited.attributes(cosine_at),
      run.cited.number(cosine_at));
}

std::string cycles_row(const RunFacts& run, std::size_t index, double most,
                       const std::vector<std::string>& coloured) {
  const std::string pointer = layer_at(index);
  const Json& layer = run.cited.at(pointer);
  const std::string bound = largest_bound(layer);
  const double tick =
      std::min(kBarWidth, kBarWidth * ratio(layer["bound_cycles"][bound].get<double>(), most));
  const std::string bar =
      cycles_bar(run, index, most, coloured) + rect_at(tick - 1, 0, 3, kBarHeight, "#000");
  return fmt::format(
      "<tr><td class=\"name\">{}<div class=\"note\">{}</div></td><td class=\"n\">{}</td><td "
      "class=\"bar\">{}</td><td "
      "class=\"n\">{}</td><td class=\"n\">{}<div class=\"note\">{}</div></td><td>{}</td>{}</tr>\n",
      escaped(layer_name(layer)), escaped(layer_kind(layer)), run.cited.count(pointer + "/cycles"),
      bar_of(bar), run.cited.share(pointer + "/utilization"),
      run.cited.count(pointer + "/bound_cycles/" + bound), bound, largest_stall(run, pointer),
      quality_cell(run, pointer));
}

struct MemoryName {
  const char *key, *name;
};
constexpr MemoryName kMemories[] = {{"dram", "DRAM"},
                                    {"sram", "cluster SRAM"},
                                    {"nram", "NRAM"},
                                    {"wram", "WRAM"},
                                    {"input_buffer", "input buffer"},
                                    {"parameter_buffer", "kernel buffer"},
                                    {"output_buffer", "output buffer"}};

// The most bytes in one direction of any layer.
double most_bytes(const Json& layers, const char* memory) {
  double most = 0;
  for (const Json& layer : layers) {
    for (const char* direction : {"read", "write"})
      most = std::max(most, layer["bytes"][memory][direction].get<double>());
  }
  return most;
}

std::string bytes_cell(const RunFacts& run, const std::string& pointer, double most) {
  const double read = run.cited.number(pointer + "/read"), written = run.cited.number(pointer + "/write");
  const double half = kBarHeight / 2;
  return fmt::format("<td class=\"bytes\">{}<div class=\"note\">{} / {}</div></td>",
                     bar_of(rect_at(0, 0, kBarWidth * ratio(read, most), half - 1, kBlue) +
                            rect_at(0, half, kBarWidth * ratio(written, most), half - 1, kOrange)),
                     run.cited.short_count(pointer + "/read"), run.cited.short_count(pointer + "/write"));
}

}  // namespace

std::string cycles_by_layer(const RunFacts& run) {
  const Json& layers = run.cited.report()["layers"];
  const std::vector<std::string> coloured = coloured_causes(run);
  double most = 0;
  for (const Json& layer : layers) most = std::max(most, layer["cycles"].get<double>());
  std::string html =
      "<h3>Cycles by layer</h3>\n<p>A bar is as long as the layer's cycles, divided by what the "
      "matrix arrays did in them. The black mark is the layer's lower bound.</p>\n<p>";
  html += legend_entry(kBlue, "busy");
  for (std::size_t c = 0; c < coloured.size(); ++c) html += legend_entry(kCauseColours[c], coloured[c]);
  if (run.causes.size() > coloured.size()) html += legend_entry(kGrey, "other causes");
  html +=
      "</p>\n<table class=\"layers\"><thead><tr><th>layer</th><th class=\"n\">cycles</th><th "
      "class=\"wide\"></th><th class=\"n\">utilisation</th><th class=\"n\">lower bound</th><th>largest "
      "stall</th>";
  if (has_quality(layers)) html += "<th class=\"n\">against float</th>";
  html += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < layers.size(); ++i) html += cycles_row(run, i, most, coloured);
  return html + "</tbody></table>\n";
}

std::string host_layers(const RunFacts& run) {
  const Json& report = run.cited.report();
  if (!report.contains("host_layers")) return "";
  std::string html =
      "<h3>On the host</h3>\n<p>The host computes these layers in float32: the chip takes no cycles for "
      "them, "
      "and what the host reads and writes is none of its transfers.</p>\n<table class=\"layers\"><thead><tr>"
      "<th>layer</th><th>operator</th><th class=\"n\">bytes read</th><th class=\"n\">bytes written</th>"
      "</tr></thead><tbody>\n";
  const Json& layers = report["host_layers"];
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string pointer = fmt::format("/host_layers/{}", i);
    html += fmt::format(
        "<tr><td class=\"name\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        escaped(layers[i]["name"].get<std::string>()), escaped(layers[i]["op"].get<std::string>()),
        run.cited.count(pointer + "/read_bytes"), run.cited.count(pointer + "/written_bytes"));
  }
  return html + "</tbody></table>\n";
}

std::string bytes_by_layer(const RunFacts& run) {
  const Json& layers = run.cited.report()["layers"];
  std::vector<MemoryName> used;
  for (const MemoryName& memory : kMemories) {
    if (most_bytes(layers, memory.key) > 0) used.push_back(memory);
  }
  std::string html =
      "<h3>Bytes by layer and memory</h3>\n<p>Each column has its own scale, up to the most that a layer "
      "moves "
      "there.</p>\n<p>" +
      legend_entry(kBlue, "read") + legend_entry(kOrange, "written") +
      "</p>\n<table class=\"layers\"><thead><tr><th>layer</th>";
  for (const MemoryName& memory : used) html += fmt::format("<th>{}</th>", memory.name);
  html += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    html += fmt::format("<tr><td class=\"name\">{}</td>", escaped(layer_name(layers[i])));
    for (const MemoryName& memory : used)
      html += bytes_cell(run, fmt::format("{}/bytes/{}", layer_at(i), memory.key),
                         most_bytes(layers, memory.key));
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

namespace {

constexpr std::array<const char*, 3> kMeanings{
    "no output element for the lane, thread or line: edges of maps, tiles and blocks",
    "no kernel for the column",
    "output and kernel exist, the product is none of the layer's: fill of channels, other groups, inserted "
    "zeros"};
constexpr std::array<const char*, 3> kColours{"#e69f00", "#56b4e9", "#cc79a7"};
static_assert(kMeanings.size() == kMacLossNames.size() && kColours.size() == kMacLossNames.size());

// A cell with a count, and its fraction of the capacity of all beats.
std::string cell(const RunFacts& run, const std::string& place, double all) {
  const double share = ratio(run.cited.number(place), all);
  return fmt::format("<td class=\"n\">{}<div class=\"note\">{}</div></td>", run.cited.short_count(place),
                     run.cited.computed(place + "/share", share, percent(share)));
}

// The row of the run or layer at JSON pointer `place`.
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
