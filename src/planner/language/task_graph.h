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
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace tilebeat {

/// Buffers that each hold one content and are filled in turn, such as the copies of the input banks or the
/// kernel buffers in WRAM. Finds which contents must be loaded.
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

/// The kind of use that a task makes of a buffer.
enum class AccessKind : std::uint8_t {
  kRead,
  kWrite,      ///< several tasks may write parts of one version
  kAccumulate  ///< reads and updates one version, after the accumulations that were added before it
};

/// A task's use of version `version` of a buffer. Versions count from 0. A version is complete when all its
/// writers are done; its place is free for the next version when all its readers no longer need it.
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

/// The time in which a place in a memory is in use, both ends included, in steps that the caller defines
/// (layers, steps of a layer).
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
  // By requested bytes, the lowest place found for them: a larger request finds no lower place, because
  // places are never given back. Keys and values both rise.
  using Floors = std::map<std::int64_t, std::int64_t>;
  static std::int64_t floor_of(const Floors& floors, std::int64_t bytes);
  static void raise(Floors& floors, std::int64_t bytes, std::int64_t begin);
  std::vector<Place> places_;                     // by rising begin
  std::int64_t longest_ = 0;                      // bytes of the longest of `places_`
  std::map<std::pair<int, int>, Floors> floors_;  // by lifetime
};

/// The purpose of a buffer. It gives a name to the stall of a task that waits until the buffer is full or
/// free.
enum class BufferRole : std::uint8_t {
  kMap,         ///< a tile of a map in a core's memory
  kKernels,     ///< kernels, or the factors of a vector operation, in a core's memory
  kResult,      ///< results in a core's memory
  kInput,       ///< operands inside a matrix engine
  kParameters,  ///< kernels inside a matrix engine
  kOutput,      ///< results inside a matrix engine
  kStaging      ///< data that pass through the SRAM of a cluster
};
/// The stall cause of a reader that waits for the contents and of a writer that waits for the place.
Activity cause_of_empty(BufferRole role);
Activity cause_of_full(BufferRole role);

/// The events of a task that a later task may wait for.
enum class TaskEvent : std::uint8_t {
  kReleased,  ///< the unit's front end has finished with the task
  kDone       ///< the task's results are complete
};

/// The requests of a copy between DRAM and a memory on the chip, all alike; cycles are those of one request.
struct RequestCost {
  int count = 0;        ///< 0: the task is no such copy
  int outstanding = 0;  ///< that its engine has under way at DRAM, at most
  bool to_dram = false;
  float bytes = 0;         ///< on the DRAM bus
  float buffer = 0;        ///< bytes that its engine holds
  float dram_beats = 0;    ///< of its data at the port to DRAM
  float request_trip = 0;  ///< from the port to DRAM
  float dram_trip = 0;     ///< from DRAM's data bus back
  float other_beats = 0;   ///< at the port to the other memory
  float other_trip = 0;    ///< of an access there
  double all_beats() const { return double{dram_beats} * count; }
  double all_bytes() const { return double{bytes} * count; }
};

/// The expected cost of a task: guides choices and orders, and is never a result.
struct TaskCost {
  double cycles = 1;        ///< cycles that its unit is busy when nothing else interferes
  double dram_bytes = 0;    ///< bytes on the DRAM bus, which all concurrent tasks share
  double latency = 0;       ///< cycles from the end of `cycles` to completion
  double release = 0;       ///< cycles from the end of `cycles` until the operands have been read
  double instructions = 1;  ///< instructions fetched for the task
  /// The beats of a matrix engine by its schedule: exact, not an estimate. 0 for other units.
  std::int64_t beats = 0;
  /// Bytes of tables that a matrix unit reads from DRAM through a port of its own, exact: those at `table`
  /// only where they are not the last ones that the unit has read; where `table` is 0, in any case.
  std::int64_t table_bytes = 0;
  std::uint64_t table = 0;
  /// The place of its DRAM bytes: `dram_parts` parts of kControllerBytes from part `dram_part` on; 0 parts:
  /// anywhere.
  std::int64_t dram_part = 0, dram_parts = 0;
  double dram_request = 0;  ///< average bytes of one of its DRAM requests; 0: as of most other tasks
  /// Bytes of whole beats at the SRAM of cluster `sram_read`, and the same at that of cluster `sram_write`;
  /// -1: it does not read, or write, an SRAM.
  double sram_bytes = 0;
  int sram_read = -1, sram_write = -1;
  RequestCost requests = {};  ///< of a copy from or to DRAM, where each is followed (Machine::requests)
};

/// One instruction of one processor, with what it reads and writes (SPEC MA-2). Its semaphores are empty:
/// `synchronise` derives them.
struct Task {
  int processor = 0;
  Instruction instruction;
  AccessList accesses;
  TaskCost cost;
  TaskEvent operands_free = TaskEvent::kReleased;  ///< event after which its operands may be overwritten

  Unit unit() const { return unit_of(instruction); }
};

/// Tasks with the buffer versions that they read and write. Executing them in the order in which they are
/// added is always possible. The tasks of a matrix unit keep this order, because sums may carry over from one
/// task to the next; all other units may reorder theirs.
class TaskGraph {
 public:
  BufferId add_buffer(BufferRole role);
  /// Returns the task's number.
  int add(Task task);
  /// All tasks added from now on also make this access; nothing: no further access.
  void also(std::optional<Access> access) { also_ = access; }

  /// Assigns bytes that instructions name a place in DRAM, where the host writes them before the run; equal
  /// bytes may share a place.
  using ConstantPlacer = std::function<std::uint64_t(std::vector<std::uint8_t> bytes)>;
  void place_constants(ConstantPlacer placer) { place_constant_ = std::move(placer); }
  /// Whether it is a graph for a plan, whose constants have places; others are for estimates.
  bool is_for_plan() const { return place_constant_ != nullptr; }
  /// The DRAM address of the bytes that `make` returns. In a graph for an estimate it is 0, and `make` is not
  /// called.
  std::uint64_t constant(const std::function<std::vector<std::uint8_t>()>& make) const {
    return place_constant_ ? place_constant_(make()) : 0;
  }

  /// The graph keeps `held` as long as it exists.
  void hold(std::shared_ptr<const void> held) { held_.push_back(std::move(held)); }

  /// Whether `processor` has not asked this before of the content that `content` accesses, at `address`: what
  /// is done once after a load, whichever lowering meets it first. Without an access, the place alone counts.
  bool is_first_use(int processor, const std::optional<Access>& content, std::uint64_t address);

  const std::vector<Task>& tasks() const { return tasks_; }
  BufferRole role(BufferId buffer) const { return nth(roles_, buffer); }
  int buffers() const { return count_of(roles_); }

  /// Numbers of tasks and buffers.
  struct Size {
    std::size_t tasks = 0, buffers = 0;
  };
  Size size() const { return {tasks_.size(), roles_.size()}; }
  /// Removes the tasks and buffers that were added since the graph had size `size`, and ends `also`.
  void shrink(const Size& size);

 private:
  std::vector<Task> tasks_;
  std::vector<BufferRole> roles_;
  std::optional<Access> also_;
  ConstantPlacer place_constant_;
  std::vector<std::shared_ptr<const void>> held_;
  // Number of tasks before the first use, by processor, buffer, version and address.
  std::map<std::tuple<int, std::optional<BufferId>, int, std::uint64_t>, std::size_t> first_uses_;
};

/// Task `to` waits for an event of task `from`, which was added before it; `cause` is its stall cause.
struct Dependency {
  int from = 0, to = 0;
  TaskEvent event = TaskEvent::kDone;
  Activity cause = Activity::kNoWork;
};
/// All dependencies that the accesses of a graph imply, by rising `to`, possibly with duplicates. Throws
/// SimulationError when a task writes a version that has been read, or uses one that has been overwritten.
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
  int next_ = 0, version_ = 0;  // place and version of the next filling
};

}  // namespace tilebeat
