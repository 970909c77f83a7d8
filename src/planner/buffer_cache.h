#pragma once

#include "tilebeat/mapping/task_graph.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace tilebeat {

/// Buffers that are filled in turn, and what they hold.
template <class Key>
class BufferCache {
 public:
  BufferCache() = default;
  BufferCache(TaskGraph& graph, BufferRole role, int count)
      : ring_(graph, role, count), held_(static_cast<std::size_t>(count)) {}

  struct Use {
    BufferRing::Filling filling;
    bool load = false;
  };
  Use use(const Key& key) {
    for (const auto& held : held_) {
      if (held && held->first == key) return {held->second, false};
    }
    const BufferRing::Filling filling = ring_.next();
    held_[static_cast<std::size_t>(filling.place)] = std::pair(key, filling);
    return {filling, true};
  }

 private:
  BufferRing ring_;
  std::vector<std::optional<std::pair<Key, BufferRing::Filling>>> held_;
};

}  // namespace tilebeat
