#include "planner/layer/appended_tensors.h"

#include "base/types.h"

#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

/// Fewer bytes of an image are not worth a place of their own: readers would fetch the tensor in short runs.
constexpr std::int64_t kShortImage = 64;

std::int64_t product(const std::vector<std::int64_t>& shape, std::size_t begin, std::size_t end) {
  const auto at = [&](std::size_t axis) { return shape.begin() + to_signed(axis); };
  return std::accumulate(at(begin), at(end), std::int64_t{1}, std::multiplies<>());
}

/// A first tensor, and the results of the concats that append to it.
struct Chain {
  AppendedPlace place;
  std::set<std::string> tensors;
  std::string last;  // what the next concat appends to
};

class Chains {
 public:
  Chains(const Workload& workload, const std::set<std::string>& on_chip)
      : workload_(workload), on_chip_(on_chip) {
    for (const Layer& layer : workload.layers) {
      if (std::holds_alternative<Reshape>(layer.operation))
        base_[layer.name] = base_of(layer.inputs.front());
      else if (const auto* concat = std::get_if<Concat>(&layer.operation))
        add(layer, *concat);
    }
    for (const Layer& layer : workload.layers) check(layer);
  }

  std::map<std::string, AppendedPlace> places() const {
    std::map<std::string, AppendedPlace> made;
    for (const Chain& chain : chains_) {
      if (unreadable_.count(chain.place.first) > 0) continue;
      for (const std::string& tensor : chain.tensors) made[tensor] = chain.place;
    }
    return made;
  }

 private:
  const std::string& base_of(const std::string& tensor) const {
    const auto found = base_.find(tensor);
    return found == base_.end() ? tensor : found->second;
  }
  Chain* chain_of(const std::string& base) {
    const auto found = of_.find(base);
    return found == of_.end() ? nullptr : &nth(chains_, found->second);
  }

  // Adds a concat that can append to a chain, or begin one.
  void add(const Layer& layer, const Concat& concat) {
    const std::vector<std::int64_t>& shape = layer.output.shape;
    const auto axis = to_size(concat.axis);
    const std::string& base = base_of(layer.inputs.front());
    if (axis + 1 == shape.size() || on_chip_.count(base) > 0 || on_chip_.count(layer.name) > 0) return;
    AppendedPlace place{base, product(shape, 0, axis),
                        product(shape, axis + 1, shape.size()) * dtype_size(layer.output.dtype), 0};
    place.image_stride = shape[axis] * place.pixel_bytes;
    if (workload_.tensor(base).size_bytes() / place.images < kShortImage && place.images > 1) return;
    Chain* chain = chain_of(base);
    for (std::size_t i = 1; i < layer.inputs.size(); ++i) {
      const std::string& other = base_of(layer.inputs[i]);
      if (other == base || (chain != nullptr && chain_of(other) == chain)) return;
    }
    if (chain == nullptr) {
      of_[base] = count_of(chains_);
      chain = &chains_.emplace_back(Chain{place, {base}, base});
    }
    const bool same = chain->place.images == place.images && chain->place.pixel_bytes == place.pixel_bytes;
    if (!same || chain->last != base) return;
    chain->place.image_stride = place.image_stride;
    chain->last = layer.name;
    chain->tensors.insert(layer.name);
    of_[layer.name] = to_int(chain - chains_.data());
  }

  // Gives up the chains that the layer cannot read in images with room between them.
  void check(const Layer& layer) {
    std::map<const Chain*, std::set<std::string>> read;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      const std::string& base = base_of(layer.inputs[i]);
      const Chain* chain = chain_of(base);
      if (chain == nullptr || chain->place.images == 1) continue;
      read[chain].insert(base);
      if (read[chain].size() > 1 || !reads_images(layer, i, *chain)) unreadable_.insert(chain->place.first);
    }
  }
  // B of a product is read matrix by matrix, everything else run by run.
  bool reads_images(const Layer& layer, std::size_t input, const Chain& chain) const {
    if (std::holds_alternative<Lookup>(layer.operation)) return false;  // rows lie at one distance
    const auto* conv = std::get_if<Conv2d>(&layer.operation);
    if (conv == nullptr || input != 1 || conv->kernels != KernelSource::kInput) return true;
    const TensorInfo& info = workload_.tensor(layer.inputs[input]);
    const std::size_t rank = info.shape.size();
    const std::int64_t matrix = product(info.shape, rank - 2, rank) * dtype_size(info.dtype);
    return info.size_bytes() / chain.place.images % matrix == 0;
  }

  const Workload& workload_;
  const std::set<std::string>& on_chip_;
  std::map<std::string, std::string> base_;  // by result of a reshape: the tensor that stores its bytes
  std::vector<Chain> chains_;
  std::map<std::string, int> of_;     // by tensor: the number of its chain
  std::set<std::string> unreadable_;  // first tensors of chains that a layer cannot read
};

}  // namespace

std::map<std::string, AppendedPlace> appended_tensors(const Workload& workload,
                                                      const HardwareConfig& hardware,
                                                      const std::set<std::string>& on_chip) {
  if (!hardware.chip || !hardware.planner.append_in_place) return {};
  return Chains(workload, on_chip).places();
}

std::string appended_in_words(const Layer& layer, std::int64_t written) {
  return fmt::format(
      "appended in place: {} of {} bytes are written, behind '{}', which lies where the result begins",
      written, layer.output.size_bytes(), layer.inputs.front());
}

}  // namespace tilebeat
