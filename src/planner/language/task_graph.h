#pragma once

#include "base/activity.h"
#include "base/types.h"
#include "isa/instruction.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tilebeat {

/// Buffers that hold one content each and are filled in turn, as the copies of the input banks or the buffers
/// for kernels in WRAM are. Works out what has to be loaded.
template <class Key>
class Residency {
 public:
  explicit Residency(int buffers) : content_(to_size(buffers)) {}

  struct Use {
    int buffer = 0;
    bool loads = false;
  };
  Use use(const Key& key) {
    for (std::size_t i = 0; i < content_.size(); ++i) {
      if (content_[i].second && content_[i].first == key) return {to_int(i), false};
    }
    const int buffer = next_;
    next_ = (next_ + 1) % count_of(content_);
    nth(content_, buffer) = {key, true};
    return {buffer, true};
  }

 private:
  std::vector<std::pair<Key, bool>> content_;
  int next_ = 0;
};

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

/// When a place in a memory is in use, in steps of whatever the caller counts (layers, steps of a layer),
/// both ends included.
struct Lifetime {
  int first = 0, last = 0;
  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

/// Assigns places in one memory (SPEC MA-2). Places whose lifetimes overlap share no byte; all others may.
class Arena {
 public:
  /// A memory of `bytes` bytes whose first has the address `base`. Places begin at multiples of `alignment`,
  /// counted from there.
  Arena(std::uint64_t base, std::int64_t bytes, std::int64_t alignment)
      : base_(base), bytes_(bytes), alignment_(alignment) {}

  /// The address of `bytes` bytes during `lifetime`: the lowest free place. Throws UserError when there is
  /// none.
  std::uint64_t allocate(std::int64_t bytes, Lifetime lifetime = {});
  /// The end of the highest place given so far, counted from the base.
  std::int64_t used() const { return used_; }
  std::int64_t size() const { return bytes_; }

 private:
  struct Place {
    std::int64_t begin, end;
    Lifetime lifetime;
  };
  std::uint64_t base_;
  std::int64_t bytes_, alignment_;
  std::int64_t used_ = 0;
  // Where the lowest place was that was found, by the bytes that it was for: more bytes find none below, as
  // places are never given back. Both rise.
  using Floors = std::map<std::int64_t, std::int64_t>;
  static std::int64_t floor_of(const Floors& floors, std::int64_t bytes);
  static void raise(Floors& floors, std::int64_t bytes, std::int64_t begin);
  std::vector<Place> places_;                     // by rising begin
  std::int64_t longest_ = 0;                      // of them
  std::map<std::pair<int, int>, Floors> floors_;  // by lifetime
};

/// What a buffer is for. It names what is waited for: a buffer that is not full yet, or not free yet.
enum class BufferRole : std::uint8_t {
  kMap,         ///< a tile of a map in a core's memory
  kKernels,     ///< kernels, or the factors of a vector operation, in a core's memory
  kResult,      ///< results in a core's memory
  kInput,       ///< operands inside a matrix engine
  kParameters,  ///< kernels inside a matrix engine
  kOutput,      ///< results inside a matrix engine
  kStaging      ///< what passes through the memory of a cluster
};
/// The stall cause of a reader that waits for the contents, and of a writer that waits for the place.
Activity cause_of_empty(BufferRole role);
Activity cause_of_full(BufferRole role);

/// What a later task may wait for.
enum class TaskEvent : std::uint8_t {
  kReleased,  ///< the unit's front is through with the task
  kDone       ///< the results are complete
};

/// What a task is expected to cost; a guide for choosing and ordering, never a result.
struct TaskCost {
  double cycles = 1;        ///< that its unit is busy when nothing else is in the way
  double dram_bytes = 0;    ///< on the DRAM's bus; DRAM is shared by all tasks that run at a time
  double latency = 0;       ///< from the end of these cycles to completion
  double release = 0;       ///< from the end of these cycles until its operands have been read
  double instructions = 1;  ///< that are fetched for it
  /// That a matrix engine takes for it by its schedule: no guide, it takes as many. 0 for other units.
  std::int64_t beats = 0;
  /// Where its bytes of DRAM lie: so many parts of kControllerBytes from the one with that number on; 0:
  /// anywhere.
  std::int64_t dram_part = 0, dram_parts = 0;
  double dram_request = 0;  ///< bytes of DRAM in one of its requests, on average; 0: as in most others
};

/// One instruction of one processor, with what it reads and writes (SPEC MA-2). Its semaphores are empty:
/// `synchronise` derives them.
struct Task {
  int processor = 0;
  Instruction instruction;
  AccessList accesses;
  TaskCost cost;
  TaskEvent operands_free = TaskEvent::kReleased;  ///< when what it reads may be overwritten

  Unit unit() const { return unit_of(instruction); }
};

/// Tasks with the buffer versions that they read and write. The order in which they are added is one in which
/// they may be executed one after the other. The tasks of a matrix unit keep this order, because its sums may
/// carry over from one to the next; all other units take theirs in whatever order is best.
class TaskGraph {
 public:
  BufferId add_buffer(BufferRole role);
  /// Returns the task's number.
  int add(Task task);
  /// Tasks that are added from now on make this access besides their own; nothing: no more.
  void also(std::optional<Access> access) { also_ = access; }

  /// Gives bytes that instructions name a place in DRAM, where the host writes them before the run; the same
  /// bytes may be given the same place.
  using ConstantPlacer = std::function<std::uint64_t(std::vector<std::uint8_t> bytes)>;
  void place_constants(ConstantPlacer placer) { place_constant_ = std::move(placer); }
  /// The address of the bytes that `make` returns. In a graph that is only estimated it is 0, and nothing is
  /// made.
  std::uint64_t constant(const std::function<std::vector<std::uint8_t>()>& make) const {
    return place_constant_ ? place_constant_(make()) : 0;
  }

  const std::vector<Task>& tasks() const { return tasks_; }
  BufferRole role(BufferId buffer) const { return nth(roles_, buffer); }
  int buffers() const { return count_of(roles_); }

  /// How many tasks and buffers there are.
  struct Size {
    std::size_t tasks = 0, buffers = 0;
  };
  Size size() const { return {tasks_.size(), roles_.size()}; }
  /// Takes tasks and buffers back that were added since it had that size, and what tasks make besides.
  void shrink(const Size& size);

 private:
  std::vector<Task> tasks_;
  std::vector<BufferRole> roles_;
  std::optional<Access> also_;
  ConstantPlacer place_constant_;
};

/// Task `to` waits for an event of task `from`, which was added before it; `cause` is what it waits for.
struct Dependency {
  int from = 0, to = 0;
  TaskEvent event = TaskEvent::kDone;
  Activity cause = Activity::kNoWork;
};
/// All dependencies that the accesses of a graph imply, by rising `to`; one may be there more than once.
/// Throws SimulationError when a task writes a version that was read before, or uses one that was
/// overwritten.
std::vector<Dependency> dependencies_of(const TaskGraph& graph);

/// Buffers of one kind that are filled in turn.
class BufferRing {
 public:
  BufferRing() = default;
  BufferRing(TaskGraph& graph, BufferRole role, int count);

  /// The next filling: the place, 0 to count - 1, and the version that is written.
  struct Filling {
    int place = 0;
    BufferId buffer = 0;
    int version = 0;
    Access read() const { return {buffer, version, AccessKind::kRead}; }
    Access write() const { return {buffer, version, AccessKind::kWrite}; }
    Access accumulate() const { return {buffer, version, AccessKind::kAccumulate}; }
  };
  Filling next();
  int count() const { return count_; }

 private:
  BufferId first_ = 0;  // the others follow it
  int count_ = 0;
  int next_ = 0, version_ = 0;  // of the next filling: place and version
};

}  // namespace tilebeat
