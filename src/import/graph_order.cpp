#include "graph_order.h"

#include "tilebeat/base/error.h"
#include "tilebeat/schema/place.h"

#include <fmt/format.h>

namespace tilebeat {

void check_order(const ModelGraph& graph) {
  const auto fail = [&](const std::string& problem) {
    throw UserError(one_line(fmt::format("{}: {}", graph.path, problem)));
  };
  std::vector<bool> there(graph.tensors.size());
  for (std::size_t i = 0; i < there.size(); ++i) there[i] = graph.tensors[i].data.has_value();
  for (const std::size_t input : graph.inputs) there[input] = true;
  for (const GraphNode& node : graph.nodes) {
    for (const auto& input : node.inputs) {
      if (input && !there[*input])
        fail(fmt::format("node {} ({}) reads {}, which nothing before it makes", node.name, node.op,
                         graph.tensors[*input].name));
    }
    for (const auto& output : node.outputs) {
      if (!output) continue;
      if (there[*output])
        fail(fmt::format("node {} ({}) makes {}, which is there already", node.name, node.op,
                         graph.tensors[*output].name));
      there[*output] = true;
    }
  }
  for (const std::size_t output : graph.outputs) {
    if (!there[output]) fail(fmt::format("output {} is made by no node", graph.tensors[output].name));
  }
}

}  // namespace tilebeat
