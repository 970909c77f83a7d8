#pragma once

#include <map>
#include <mutex>
#include <utility>

namespace tilebeat {

/// A cache of computed values. Threads may use it concurrently: the value of a key does not depend on who
/// computes it.
template <class Key, class Value>
class Memo {
 public:
  /// The value of `key`, computed by `make()` the first time; the reference stays valid.
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
