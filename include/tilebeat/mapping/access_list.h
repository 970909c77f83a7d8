#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tilebeat {

/// A buffer of a task graph, by number.
using BufferId = int;

/// How a task uses a buffer.
enum class AccessKind : std::uint8_t {
  kRead,
  kWrite,      ///< several tasks may write parts of one version
  kAccumulate  ///< reads and writes the same version, behind the accumulations that were added before
};

/// A task uses version `version` of a buffer. Versions count from 0; a version is there when all that write
/// it are complete, and its place is free for the next one when all that read it no longer need it.
struct Access {
  BufferId buffer = 0;
  int version = 0;
  AccessKind kind = AccessKind::kRead;
};

/// The accesses of a task. Most tasks have few, and planning makes millions of tasks: the first few take no
/// memory of their own.
class AccessList {
 public:
  AccessList() = default;
  AccessList(std::initializer_list<Access> accesses) {
    for (const Access& access : accesses) push_back(access);
  }
  AccessList(const std::vector<Access>& accesses) {  // NOLINT(google-explicit-constructor): the same accesses
    for (const Access& access : accesses) push_back(access);
  }

  void push_back(const Access& access) {
    if (!many_.empty()) {
      many_.push_back(access);
    } else if (few_count_ < kFew) {
      few_[few_count_++] = access;
    } else {
      many_.reserve(2 * kFew);
      many_.assign(few_.begin(), few_.end());
      many_.push_back(access);
    }
  }
  void append(const AccessList& accesses) {
    for (const Access& access : accesses) push_back(access);
  }
  void clear() { few_count_ = 0, many_.clear(); }

  const Access* begin() const { return many_.empty() ? few_.data() : many_.data(); }
  const Access* end() const { return begin() + size(); }
  std::size_t size() const { return many_.empty() ? few_count_ : many_.size(); }
  bool empty() const { return size() == 0; }
  const Access& back() const { return *(end() - 1); }
  const Access& operator[](std::size_t i) const { return begin()[i]; }

 private:
  static constexpr std::size_t kFew = 4;
  std::array<Access, kFew> few_;
  std::size_t few_count_ = 0;
  std::vector<Access> many_;  // all of them, where they are more than a few
};

}  // namespace tilebeat
