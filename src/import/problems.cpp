#include "problems.h"

#include "tilebeat/import/import_error.h"
#include "tilebeat/schema/place.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kLongestName = 200;

}  // namespace

void Problems::add(const std::string& node, const std::string& reason) {
  auto found =
      std::find_if(found_.begin(), found_.end(), [&](const auto& entry) { return entry.first == reason; });
  if (found == found_.end()) found = found_.insert(found_.end(), {reason, {}});
  found->second.push_back(one_line(node.substr(0, kLongestName)));
  ++nodes_;
}

void Problems::add(const GraphNode& node, const std::string& reason) {
  add(node.name, fmt::format("{}: {}", node.op, reason));
}

void Problems::refuse(const std::string& path) const {
  std::vector<std::string> lines;
  for (const auto& [reason, nodes] : found_)
    lines.push_back(fmt::format("{} {}: {} ({})", nodes.size(), nodes.size() == 1 ? "node" : "nodes",
                                one_line(reason), fmt::join(nodes, ", ")));
  throw ImportError(fmt::format("{}: {} of its parts cannot be imported, for {} {}:", path, nodes_,
                                lines.size(), lines.size() == 1 ? "reason" : "reasons"),
                    lines);
}

}  // namespace tilebeat
