#include "report/page/sections.h"
#include "report/text_table.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

// Pixels of the drawing.
constexpr double kRow = 22, kLane = 16, kGraphLeft = 12, kGraphTop = 26, kGraphWidth = 1100, kDot = 4.5,
                 kNameWidth = 330, kOpWidth = 130;
constexpr const char *kInside = kBlue, *kBetween = "#999";

// A row of the drawing: a layer, or an input of the workload.
struct Node {
  std::string name, op;
  std::vector<std::size_t> inputs;   // rows above
  std::optional<std::size_t> entry;  // index of its entry in layers[]
  std::size_t lane = 0, last = 0;    // the row of its last reader
};

// Rows in the order of the report, an input directly above its first reader.
std::vector<Node> nodes_of(const Json& report) {
  std::map<std::string, std::size_t> entries;
  const Json& layers = report["layers"];
  for (std::size_t i = 0; i < layers.size(); ++i) {
    entries.emplace(layers[i]["name"].get<std::string>(), i);
    for (const Json& name : layers[i]["layers"]) entries.emplace(name.get<std::string>(), i);
  }
  std::vector<Node> nodes;
  std::map<std::string, std::size_t> rows;
  for (const Json& layer : report["graph"]) {
    Node node;
    node.name = layer["name"].get<std::string>(), node.op = layer["op"].get<std::string>();
    for (const Json& json : layer["inputs"]) {
      const auto name = json.get<std::string>();
      const auto [found, added] = rows.emplace(name, nodes.size());
      if (added) nodes.push_back({name, "input", {}, {}});
      node.inputs.push_back(found->second);
    }
    if (const auto entry = entries.find(node.name); entry != entries.end()) node.entry = entry->second;
    rows[node.name] = nodes.size();
    nodes.push_back(node);
  }
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    nodes[row].last = std::max(nodes[row].last, row);
    for (const std::size_t input : nodes[row].inputs) nodes[input].last = row;
  }
  return nodes;
}

// Gives each tensor a lane from its row to the row of its last reader, which takes over the lane if it can.
// Returns the number of lanes.
std::size_t assign_lanes(std::vector<Node>& nodes) {
  std::vector<std::size_t> free_from;  // by lane: the first row that may take it
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    const auto lane =
        std::find_if(free_from.begin(), free_from.end(), [&](std::size_t r) { return r <= row; });
    nodes[row].lane = to_size(lane - free_from.begin());
    if (lane == free_from.end()) free_from.push_back(0);
    free_from[nodes[row].lane] = std::max(nodes[row].last, row + 1);
  }
  return free_from.size();
}

double x_of(const Node& node) {
  return kGraphLeft + kLane * static_cast<double>(node.lane);
}
double y_of(std::size_t row) {
  return kGraphTop + kRow * (static_cast<double>(row) + 0.5);
}

bool same_unit(const Node& a, const Node& b) {
  return a.entry && a.entry == b.entry;
}

// An edge from a row down its lane, and to the dot of its reader.
std::string edge(const std::vector<Node>& nodes, std::size_t from, std::size_t to) {
  const Node &a = nodes[from], &b = nodes[to];
  const double x = x_of(a), end = x_of(b), y = y_of(to), turn = y - kRow * 0.8;
  const bool inside = same_unit(a, b);
  const std::string path = a.lane == b.lane ? fmt::format("V{}", drawn(y))
                                            : fmt::format("V{0}C{1} {2} {3} {0} {3} {2}", drawn(turn),
                                                          drawn(x), drawn(y), drawn(end));
  return fmt::format(
      "<path d=\"M{} {}{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" "
      "data-edge=\"{}\"><title>{}</title>"
      "</path>\n",
      drawn(x), drawn(y_of(from)), path, inside ? kInside : kBetween, inside ? 2.5 : 1.5,
      escaped(a.name + " to " + b.name), escaped(a.name + " to " + b.name));
}

// A frame around successive rows of one fusion group, with the group's numbers at its first row.
std::string unit_field(std::size_t from, std::size_t to, double x) {
  return rect_at(x, kGraphTop + kRow * static_cast<double>(from) + 1, kGraphWidth - x,
                 kRow * static_cast<double>(to - from) - 2, "#e8f1f8");
}

std::string row_text(const RunFacts& run, const std::vector<Node>& nodes, std::size_t row, double x) {
  const Node& node = nodes[row];
  const double y = y_of(row) + 4.5;
  std::string svg =
      fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" stroke=\"{}\"/>\n", drawn(x_of(node)),
                  drawn(y_of(row)), kDot, node.op == "input" ? "#fff" : kInk, kInk);
  constexpr std::size_t kMostLetters = 46;
  const std::string shown = node.name.size() > kMostLetters
                                ? "..." + node.name.substr(node.name.size() - kMostLetters + 3)
                                : node.name;
  svg += text_at(x, y, shown) + text_at(x + kNameWidth, y, node.op, "fill=\"#555\"");
  if (node.op.rfind("host_", 0) == 0)
    svg += text_at(x + kNameWidth + kOpWidth + 120, y, "on the host", "text-anchor=\"end\" fill=\"#555\"");
  if (!node.entry) return svg;
  const bool first = std::none_of(nodes.begin(), nodes.begin() + to_signed(row),
                                  [&](const Node& n) { return same_unit(n, node); });
  if (!first) return svg;
  const std::string place = layer_at(*node.entry);
  const Json& layer = run.cited.at(place);
  const double bytes = dram_bytes(layer);
  svg += text_at(x + kNameWidth + kOpWidth + 120, y, grouped(layer["cycles"].get<std::int64_t>()),
                 "text-anchor=\"end\"" + run.cited.attributes(place + "/cycles"));
  svg += text_at(x + kNameWidth + kOpWidth + 290, y, prefixed(bytes),
                 "text-anchor=\"end\"" + run.cited.attributes(place + "/dram_bytes", bytes));
  if (const std::size_t size = layer["layers"].size(); size > 0)
    svg +=
        text_at(x + kNameWidth + kOpWidth + 310, y, fmt::format("unit of {} layers", size), "fill=\"#555\"");
  return svg;
}

}  // namespace

std::string graph(const RunFacts& run) {
  const Json& report = run.cited.report();
  std::vector<Node> nodes = nodes_of(report);
  if (nodes.empty()) return "";
  const double x = kGraphLeft + kLane * static_cast<double>(assign_lanes(nodes)) + 8;
  std::string fields, edges, texts;
  for (std::size_t row = 0; row < nodes.size();) {
    std::size_t end = row + 1;
    while (end < nodes.size() && same_unit(nodes[row], nodes[end])) ++end;
    const auto& entry = nodes[row].entry;
    if (entry && !report["layers"][*entry]["layers"].empty()) fields += unit_field(row, end, x - 6);
    row = end;
  }
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    for (const std::size_t input : nodes[row].inputs) edges += edge(nodes, input, row);
    texts += row_text(run, nodes, row, x);
  }
  const double head = kGraphTop - 8, numbers = x + kNameWidth + kOpWidth;
  texts += text_at(x, head, "layer", "font-weight=\"bold\"") +
           text_at(x + kNameWidth, head, "operator", "font-weight=\"bold\"") +
           text_at(numbers + 120, head, "cycles", "font-weight=\"bold\" text-anchor=\"end\"") +
           text_at(numbers + 290, head, "bytes over DRAM", "font-weight=\"bold\" text-anchor=\"end\"");
  return fmt::format(
      "<h3>The graph of layers</h3>\n<p>Lines lead from a layer down to those that read its result. The "
      "layers "
      "of a fusion group, on a blue field, run together, and cycles and bytes are the "
      "unit's.</p>\n<p>{}{}</p>\n"
      "<svg class=\"drawing\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"The graph of "
      "layers\">\n{}{}{}</svg>\n",
      legend_entry(kInside, "inside a unit"), legend_entry(kBetween, "from one to the next"), kGraphWidth,
      kGraphTop + kRow * static_cast<double>(nodes.size()) + 4, fields, edges, texts);
}

}  // namespace tilebeat::page
