#include "planner/layer/kernels_ahead.h"

#include "base/math.h"
#include "planner/layer/estimate.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <limits>

namespace tilebeat {
namespace {

constexpr double kNotAhead = std::numeric_limits<double>::infinity();

double own_cycles(const AheadTarget& target, int loads, const HardwareConfig& hardware) {
  TaskGraph graph;
  target.add_tasks(graph, loads);
  return schedule(graph, dependencies_of(graph), machine_of(hardware, {})).cycles;
}

// Infinite when the SRAM has no room for the loads, and when the cycles are more than `limit`.
double host_cycles(const AheadHost& host, const AheadTarget& target, int loads, double limit) {
  HostTasks& tasks = host.tasks();
  const TaskGraph::Size before = tasks.graph.size();
  double cycles = kNotAhead;
  try {
    target.add_loads(tasks.graph, loads, tasks.sram);
    if (LeastCycles(tasks.graph, host.machine).now() <= limit)
      cycles = schedule(tasks.graph, dependencies_of(tasks.graph), host.machine, limit).cycles;
  } catch (const UserError&) {
    cycles = kNotAhead;
  }
  tasks.graph.shrink(before);
  return cycles;
}

double cycles_alone(const AheadHost& host) {
  HostTasks& tasks = host.tasks();
  if (!tasks.alone) tasks.alone = schedule(tasks.graph, dependencies_of(tasks.graph), host.machine).cycles;
  return *tasks.alone;
}

}  // namespace

KernelsAhead choose_kernels_ahead(const std::vector<AheadHost>& hosts, const AheadTarget& target,
                                  const HardwareConfig& hardware) {
  int most = 0;
  std::vector<double> alone;  // of the hosts
  for (const AheadHost& host : hosts) {
    most = std::max(most, host.most);
    alone.push_back(host.most > 0 ? cycles_alone(host) : 0);
  }
  const double own = own_cycles(target, 0, hardware);
  KernelsAhead best{0, 0, own};
  for (int loads = most; loads > 0; loads /= 2) {
    const double left = own_cycles(target, loads, hardware);
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      if (loads > hosts[h].most) continue;
      constexpr double kRounded = 1 + 1e-9;
      const double limit = kRounded * (best.cycles - left + alone[h]);
      const double cycles = left + host_cycles(hosts[h], target, loads, limit) - alone[h];
      if (cycles < best.cycles) best = {h, loads, cycles};
    }
  }
  return best;
}

bool fits_sram(const AheadHost& host, const AheadTarget& target, int loads) {
  return host_cycles(host, target, loads, kNotAhead) < kNotAhead;
}

void WramInUse::add(std::int64_t begin, std::int64_t size) {
  if (size > 0) parts_[begin] = std::max(parts_[begin], begin + size);
}

std::optional<std::int64_t> WramInUse::find(std::int64_t ahead, std::int64_t size,
                                            std::int64_t alignment) const {
  std::int64_t at = 0;
  for (const auto& [begin, end] : parts_) {
    if (begin >= at + ahead) break;
    at = std::max(at, align_up(end, alignment));
  }
  if (at + size > bytes_) return std::nullopt;
  return at;
}

}  // namespace tilebeat
