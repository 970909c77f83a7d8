#include "base/types.h"
#include "planner/layer/mapping_set.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <array>

namespace tilebeat {
namespace {

// What a port or a memory carries: no part of it before `head` cycles, and `tail` cycles behind the last.
struct Load {
  double cycles = 0;
  double head = std::numeric_limits<double>::infinity(), tail = head;
  double least() const { return cycles > 0 ? head + cycles + tail : 0; }
};

class Bound {
 public:
  Bound(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const HardwareConfig& hardware)
      : tasks_(graph.tasks()),
        dependencies_(dependencies),
        noc_(hardware.interconnect.bytes_per_clock),
        core_(std::max(hardware.chip->core.bus.bytes_per_clock, hardware.chip->cluster_bus.bytes_per_clock)),
        dram_(hardware.chip->memory_controllers * tilebeat::dram_bytes_per_clock(hardware)) {
    if (hardware.dram.refresh) {
      clear_ = static_cast<double>(hardware.dram.tRFC_ps) / static_cast<double>(hardware.clock_ps());
      share_ -= static_cast<double>(hardware.dram.tRFC_ps) / static_cast<double>(hardware.dram.tREFI_ps);
    }
  }

  double run() {
    find_heads();
    find_tails();
    double least = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) least = std::max(least, done_[i] + tail_[i]);
    for (std::size_t i = 0; i < tasks_.size(); ++i) add_loads(i);
    for (const auto& [port, load] : ports_) least = std::max(least, load.least());
    // While DRAM is refreshed it moves nothing.
    for (const Load& load : dram_loads_) least = std::max(least, share_of_time(load));
    return least;
  }

 private:
  static constexpr double kSurely = 1 - 1e-9;  // sums are rounded

  static bool in_dram(std::uint64_t address) { return address < kDramEnd; }
  static double bytes_of(const Copy& copy) {
    return static_cast<double>(copy.run_bytes) * copy.inner_count * copy.outer_count;
  }
  const Copy* copy_of(std::size_t task) const {
    return tasks_[task].instruction.operation.get_if<Copy>();
  }

  double cycles_of(std::size_t task) const {
    if (const Copy* copy = copy_of(task)) {
      const bool outside = in_dram(copy->source) || in_dram(copy->destination);
      return bytes_of(*copy) / (outside ? std::min(noc_, dram_) : core_);
    }
    return static_cast<double>(tasks_[task].cost.beats);
  }

  void find_heads() {
    ready_.assign(tasks_.size(), 0), done_ = ready_;
    std::map<int, double> units;  // when the matrix unit of a processor is free
    std::size_t next = 0;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      for (; next < dependencies_.size() && to_size(dependencies_[next].to) == i; ++next) {
        const Dependency& d = dependencies_[next];
        // A unit may have read its operands long before it has used them.
        const auto from = to_size(d.from);
        ready_[i] = std::max(ready_[i], d.event == TaskEvent::kDone ? done_[from] : ready_[from]);
      }
      done_[i] = ready_[i];
      if (tasks_[i].unit() == Unit::kMatrix) done_[i] = std::max(done_[i], units[tasks_[i].processor]);
      done_[i] += cycles_of(i);
      if (tasks_[i].unit() == Unit::kMatrix) units[tasks_[i].processor] = done_[i];
    }
  }

  void find_tails() {
    tail_.assign(tasks_.size(), 0);
    std::map<int, double> units;  // what a matrix unit does behind a task, and what follows that
    std::size_t next = dependencies_.size();
    for (std::size_t i = tasks_.size(); i-- > 0;) {
      const bool matrix = tasks_[i].unit() == Unit::kMatrix;
      if (matrix) tail_[i] = std::max(tail_[i], units[tasks_[i].processor]);
      const double behind = cycles_of(i) + tail_[i];
      if (matrix) units[tasks_[i].processor] = behind;
      for (; next > 0 && to_size(dependencies_[next - 1].to) == i; --next) {
        const Dependency& d = dependencies_[next - 1];
        if (d.event != TaskEvent::kDone) continue;
        double& tail = tail_[to_size(d.from)];
        tail = std::max(tail, behind);
      }
    }
  }

  void add_loads(std::size_t task) {
    const Copy* copy = copy_of(task);
    if (copy == nullptr) return;
    const double bytes = bytes_of(*copy);
    const auto add = [&](Load& load, double rate) {
      load.cycles += bytes / rate;
      load.head = std::min(load.head, ready_[task]), load.tail = std::min(load.tail, tail_[task]);
    };
    const int processor = tasks_[task].processor;
    for (const bool reads : {true, false}) {
      if (!in_dram(reads ? copy->source : copy->destination)) continue;
      add(ports_[{processor, tasks_[task].unit(), reads}], noc_);
      add(nth(dram_loads_, reads ? 1 : 2), dram_), add(dram_loads_[0], dram_);
    }
  }
  double share_of_time(const Load& load) const {
    if (load.cycles == 0) return 0;
    return load.head + std::max(load.cycles, (load.cycles - clear_) / share_) + load.tail;
  }

  const std::vector<Task>& tasks_;
  const std::vector<Dependency>& dependencies_;
  double noc_, core_, dram_;       // bytes a cycle
  double clear_ = 0, share_ = 1;  // cycles of a refresh, and the part of the time that is none
  std::vector<double> ready_, done_, tail_;
  std::map<std::tuple<int, Unit, bool>, Load> ports_;
  std::array<Load, 3> dram_loads_;  // all, reads, writes
};

}  // namespace

double least_cycles(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
                    const HardwareConfig& hardware) {
  return Bound(graph, dependencies, hardware).run();
}

}  // namespace tilebeat
