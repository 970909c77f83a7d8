#include "kernels_ahead.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimate.h"

namespace tilebeat {
namespace {

double own_cycles(const AheadTarget& target, int loads, const HardwareConfig& hardware) {
  TaskGraph graph;
  target.add_tasks(graph, loads);
  return schedule(graph, dependencies_of(graph), machine_of(hardware, {})).cycles;
}

// Infinite when the SRAM has no room for the loads.
double host_cycles(const AheadHost& host, const AheadTarget& target, int loads) {
  TaskGraph graph;
  const PlannedUse use = host.add_tasks(graph);
  try {
    if (loads > 0) target.add_loads(graph, loads, use.sram);
  } catch (const UserError&) {
    return std::numeric_limits<double>::infinity();
  }
  return schedule(graph, dependencies_of(graph), host.machine).cycles;
}

}  // namespace

KernelsAhead choose_kernels_ahead(const std::vector<AheadHost>& hosts, const AheadTarget& target,
                                  const HardwareConfig& hardware) {
  int most = 0;
  std::vector<double> alone;  // of the hosts
  for (const AheadHost& host : hosts) {
    most = std::max(most, host.most);
    if (host.most > 0 && !*host.alone) *host.alone = host_cycles(host, target, 0);
    alone.push_back(host.most > 0 ? **host.alone : 0);
  }
  const double own = own_cycles(target, 0, hardware);
  KernelsAhead best{0, 0, own};
  for (int loads = most; loads > 0; loads /= 2) {
    const double left = own_cycles(target, loads, hardware);
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      if (loads > hosts[h].most) continue;
      const double cycles = left + host_cycles(hosts[h], target, loads) - alone[h];
      if (cycles < best.cycles) best = {h, loads, cycles};
    }
  }
  return best;
}

bool fits_sram(const AheadHost& host, const AheadTarget& target, int loads) {
  return std::isfinite(host_cycles(host, target, loads));
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
