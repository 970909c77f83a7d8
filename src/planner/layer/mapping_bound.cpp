#include "base/types.h"
#include "planner/layer/mapping_set.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

namespace tilebeat {
namespace {

// The least bytes that a copy reads. Streams of weights take at least half a byte a weight, and half of that
// where those of four bits come twice; what the graph of an estimate says of them is expected, no bound.
double bytes_of(const Copy& copy) {
  const double bytes = static_cast<double>(copy.run_bytes) * copy.inner_count * copy.outer_count;
  if (!copy.decodes) return bytes;
  return copy.stream_bytes() < bytes / 2 ? bytes / 4 : bytes / 2;
}

// Transfers over one port, or all of DRAM's: none begins before `head`, and behind each there are at least
// `tail` cycles.
struct Load {
  double cycles = 0;
  double head = std::numeric_limits<double>::infinity(), tail = head;

  void add(double more, double ready, double behind) {
    cycles += more, head = std::min(head, ready), tail = std::min(tail, behind);
  }
  double least() const { return cycles > 0 ? head + cycles + tail : 0; }
};

// A port of a DMA engine: processor, unit, and whether it reads from DRAM.
using Port = std::tuple<int, Unit, bool>;

class MappingBound {
 public:
  MappingBound(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
               const HardwareConfig& hardware)
      : tasks_(graph.tasks()),
        dependencies_(dependencies),
        noc_(hardware.interconnect.bytes_per_clock),
        on_chip_(
            std::max(hardware.chip->core.bus.bytes_per_clock, hardware.chip->cluster_bus.bytes_per_clock)),
        dram_(hardware.chip->memory_controllers * dram_bytes_per_clock(hardware)),
        way_(hardware.interconnect.request_cycles + hardware.interconnect.response_cycles),
        begin_(way_ + 2.0 * hardware.host.register_write_cycles) {
    if (hardware.dram.refresh) {
      refresh_ = ratio_of(hardware.dram.tRFC_ps, hardware.clock_ps());
      free_ -= ratio_of(hardware.dram.tRFC_ps, hardware.dram.tREFI_ps);
    }
  }

  double run() {
    find_dependencies();
    find_heads();
    find_tails();
    double least = 0;
    std::map<Port, Load> ports;
    std::array<Load, 3> dram;  // all, reads, writes
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      least = std::max(least, done_[i] + tail_[i]);
      const Copy* copy = copy_of(i);
      if (copy == nullptr) continue;
      for (const bool reads : {true, false}) {
        if (!in_dram(reads ? copy->source : copy->destination)) continue;
        const double bytes = bytes_of(*copy);
        ports[port_of(i, reads)].add(bytes / noc_, ready_[i], tail_[i]);
        for (const std::size_t number : {std::size_t{0}, std::size_t{reads ? 1U : 2U}})
          dram[number].add(bytes / dram_, ready_[i], tail_[i]);
      }
    }
    for (const auto& [port, load] : ports) least = std::max(least, load.least());
    for (const Load& load : dram) {
      // While DRAM is refreshed it moves nothing.
      const double with_refreshes = (load.cycles - refresh_) / free_ - load.cycles;
      if (load.cycles > 0) least = std::max(least, load.least() + std::max(0.0, with_refreshes));
    }
    return least;
  }

 private:
  static bool in_dram(std::uint64_t address) { return address < kDramEnd; }
  const Copy* copy_of(std::size_t task) const { return tasks_[task].instruction.operation.get_if<Copy>(); }
  Port port_of(std::size_t task, bool reads) const {
    return {tasks_[task].processor, tasks_[task].unit(), reads};
  }
  bool is_matrix(std::size_t task) const { return tasks_[task].unit() == Unit::kMatrix; }

  // Cycles of a task by itself: of a copy its bytes over the widest part of its way.
  double cycles_of(std::size_t task) const {
    const Copy* copy = copy_of(task);
    if (copy == nullptr) return static_cast<double>(tasks_[task].cost.beats);
    const bool outside = in_dram(copy->source) || in_dram(copy->destination);
    return bytes_of(*copy) / (outside ? std::min(noc_, dram_) : on_chip_);
  }

  void find_dependencies() {
    first_.assign(tasks_.size() + 1, dependencies_.size());
    for (std::size_t d = dependencies_.size(); d-- > 0;) first_[to_size(dependencies_[d].to)] = d;
    for (std::size_t i = tasks_.size(); i-- > 0;) first_[i] = std::min(first_[i], first_[i + 1]);
  }
  // Calls `use` with every task whose results `task` needs, and through other units of an engine with those
  // that these need.
  template <class Use>
  void each_needed(std::size_t task, const Use& use) const {
    for (std::size_t d = first_[task]; d < first_[task + 1]; ++d) {
      if (dependencies_[d].event != TaskEvent::kDone) continue;
      const auto from = to_size(dependencies_[d].from);
      if (is_matrix(from) || copy_of(from) != nullptr)
        use(from);
      else
        each_needed(from, use);
    }
  }

  // The cycle before which a task is not ready, and the one before which it is not done. A matrix unit takes
  // its tasks in their order: by then all that it needs for this one and those before has come over the
  // ports.
  void find_heads() {
    ready_.assign(tasks_.size(), begin_), done_ = ready_;
    std::vector<char> counted(tasks_.size(), 0);
    std::map<int, double> free;                  // when the matrix unit of a processor is free
    std::map<std::pair<int, Port>, Load> loads;  // by processor of the matrix unit
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      for (std::size_t d = first_[i]; d < first_[i + 1]; ++d) {
        // A unit may have read its operands long before it has used them.
        const auto from = to_size(dependencies_[d].from);
        ready_[i] =
            std::max(ready_[i], dependencies_[d].event == TaskEvent::kDone ? done_[from] : ready_[from]);
      }
      done_[i] = ready_[i] + cycles_of(i);
      if (const Copy* copy = copy_of(i); copy != nullptr && in_dram(copy->source)) done_[i] += way_;
      if (!is_matrix(i)) continue;
      const int processor = tasks_[i].processor;
      double start = std::max(ready_[i], free[processor]);
      each_needed(i, [&](std::size_t from) {
        const Copy* copy = copy_of(from);
        if (copy == nullptr || !in_dram(copy->source) || counted[from] != 0) return;
        counted[from] = 1;
        Load& load = loads[{processor, port_of(from, true)}];
        load.add(bytes_of(*copy) / noc_, ready_[from] + way_, 0);
        start = std::max(start, load.least());
      });
      done_[i] = start + cycles_of(i);
      free[processor] = done_[i];
    }
  }

  // The cycles that pass at least behind the end of a task. Behind a task of a matrix unit its later tasks
  // are computed, and the results of all of them leave over the ports.
  void find_tails() {
    tail_.assign(tasks_.size(), 0);
    std::vector<std::vector<std::size_t>> stores(tasks_.size());  // by the last matrix task that they need
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Copy* copy = copy_of(i);
      if (copy == nullptr || !in_dram(copy->destination)) continue;
      std::map<int, std::size_t> last;  // by processor
      each_needed(i, [&](std::size_t from) {
        if (is_matrix(from)) last[tasks_[from].processor] = std::max(last[tasks_[from].processor], from);
      });
      for (const auto& [processor, from] : last) stores[from].push_back(i);
    }
    std::map<int, double> later;                 // what is behind the last task of a matrix unit, with it
    std::map<std::pair<int, Port>, Load> loads;  // by processor of the matrix unit
    for (std::size_t i = tasks_.size(); i-- > 0;) {
      if (is_matrix(i)) {
        const int processor = tasks_[i].processor;
        for (const std::size_t store : stores[i]) {
          Load& load = loads[{processor, port_of(store, false)}];
          load.add(bytes_of(*copy_of(store)) / noc_, 0, tail_[store]);
          tail_[i] = std::max(tail_[i], load.least());
        }
        tail_[i] = std::max(tail_[i], later[processor]);
        later[processor] = cycles_of(i) + tail_[i];
      }
      for (std::size_t d = first_[i]; d < first_[i + 1]; ++d) {
        if (dependencies_[d].event != TaskEvent::kDone) continue;
        double& tail = tail_[to_size(dependencies_[d].from)];
        tail = std::max(tail, cycles_of(i) + tail_[i]);
      }
    }
  }

  const std::vector<Task>& tasks_;
  const std::vector<Dependency>& dependencies_;
  double noc_, on_chip_, dram_;     // bytes a cycle
  double way_, begin_;              // cycles of the way to DRAM and back; before the first task
  double refresh_ = 0, free_ = 1;   // cycles of a refresh, and the part of the time that is none
  std::vector<std::size_t> first_;  // by task: its dependencies
  std::vector<double> ready_, done_, tail_;
};

}  // namespace

LeastWork::LeastWork(const TaskGraph& graph, const HardwareConfig& hardware)
    : graph_(graph), dram_(hardware.chip->memory_controllers * dram_bytes_per_clock(hardware)) {}

double LeastWork::now() {
  for (; seen_ < graph_.tasks().size(); ++seen_) {
    const Task& task = graph_.tasks()[seen_];
    most_ = std::max(most_, beats_[task.processor] += static_cast<double>(task.cost.beats));
    const Copy* copy = task.instruction.operation.get_if<Copy>();
    if (copy != nullptr && (copy->source < kDramEnd || copy->destination < kDramEnd))
      bytes_ += bytes_of(*copy);
  }
  return std::max(most_, bytes_ / dram_);
}

double least_cycles(const TaskGraph& graph, const std::vector<Dependency>& dependencies,
                    const HardwareConfig& hardware) {
  return MappingBound(graph, dependencies, hardware).run();
}

}  // namespace tilebeat
