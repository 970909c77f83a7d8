#include "planner/fusion/layer_index.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

LayerIndex::LayerIndex(const Workload& workload)
    : workload_(workload), readers_(workload.layers.size()), is_output_(workload.layers.size(), false) {
  for (const Layer& layer : workload.layers) numbers_.emplace(layer.name, count_of(numbers_));
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    for (const std::string& input : workload.layers[i].inputs) {
      const auto read = numbers_.find(input);
      if (read == numbers_.end()) continue;  // an input of the workload
      std::vector<int>& readers = nth(readers_, read->second);
      if (readers.empty() || readers.back() != to_int(i)) readers.push_back(to_int(i));
    }
  }
  for (const std::string& output : workload.outputs) {
    const auto written = numbers_.find(output);
    if (written != numbers_.end()) is_output_[to_size(written->second)] = true;
  }
}

std::vector<int> LayerIndex::numbers_of(const std::vector<std::string>& names) const {
  std::vector<int> numbers;
  for (const std::string& name : names) {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) throw UserError(fmt::format("layer '{}' is not in the workload", name));
    numbers.push_back(found->second);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace tilebeat
