#pragma once

#include <map>
#include <mutex>
#include <utility>

namespace tilebeat {

/// Answers that were worked out before, by all that they depend on. Threads may ask at the same time: whoever
/// works an answer out, it is the same.
template <class Key, class Value>
class Memo {
 public:
  /// What `make()` returned for that key; the reference stays valid.
  template <class Make>
  const Value& get(const Key& key, const Make& make) const {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = known_.find(key);
      if (found != known_.end()) return found->second;
    }
    Value value = make();
    const std::lock_guard<std::mutex> lock(mutex_);
    return known_.try_emplace(key, std::move(value)).first->second;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<Key, Value> known_;
};

}  // namespace tilebeat
