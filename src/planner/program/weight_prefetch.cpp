#include "planner/program/weight_prefetch.h"

#include "base/types.h"
#include "planner/layer/estimate.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kFarthest = 8;  // parts between host and guest

double own_cycles(const PlannedPart& part, int loads, const Machine& machine) {
  CyclesByLoads here;
  CyclesByLoads& known = part.known_cycles() != nullptr ? *part.known_cycles() : here;
  const auto [found, added] = known.try_emplace(loads);
  if (added) {
    TaskGraph graph;
    part.build_roughly(graph, {loads, 0});
    found->second = schedule(graph, dependencies_of(graph), machine).cycles;
  }
  return found->second;
}

HostTasks& tasks_of(ProgramPart& host) {
  if (host.tasks) return *host.tasks;
  HostTasks& tasks = host.tasks.emplace();
  tasks.sram = host.part->build_roughly(tasks.graph, host.prefetch).sram;
  for (const ProgramPart* guest : host.guests)
    tasks.sram = guest->part->build_prefetch(tasks.graph, guest->prefetch, tasks.sram).sram;
  return tasks;
}

// Infinite when the SRAM has no room for the loads, or when the cycles exceed `limit`.
double host_cycles(ProgramPart& host, const PlannedPart& part, int loads, const Machine& machine,
                   double limit) {
  HostTasks& tasks = tasks_of(host);
  const TaskGraph::Size before = tasks.graph.size();
  double cycles = kNever;
  try {
    part.build_prefetch(tasks.graph, {loads, 0}, tasks.sram);
    if (LeastCycles(tasks.graph, machine).now() <= limit)
      cycles = schedule(tasks.graph, dependencies_of(tasks.graph), machine, limit).cycles;
  } catch (const UserError&) {
    cycles = kNever;
  }
  tasks.graph.shrink(before);
  return cycles;
}

double cycles_alone(ProgramPart& host, const Machine& machine) {
  HostTasks& tasks = tasks_of(host);
  if (!tasks.alone) tasks.alone = schedule(tasks.graph, dependencies_of(tasks.graph), machine).cycles;
  return *tasks.alone;
}

}  // namespace

void refuse_prefetch(int loads, const std::string& why) {
  throw UserError(fmt::format("mapping: weight_prefetch {} is not possible: {}", loads, why));
}

WeightPrefetch::WeightPrefetch(const HardwareConfig& hardware)
    : hardware_(hardware), machine_(machine_of(hardware, {})) {}

void WeightPrefetch::add(ProgramPart& part) {
  earlier_.push_back(&part);
  if (earlier_.size() > kFarthest) earlier_[earlier_.size() - 1 - kFarthest]->tasks.reset();
}

// The candidate hosts of a prefetch, the last part first, and the free WRAM from each of them on.
struct WeightPrefetch::Hosts {
  std::vector<Host> hosts;
  std::vector<WramInUse> in_use;  // by host
  std::vector<std::int64_t> bytes;
  std::int64_t wram = 0, alignment = 1;

  std::optional<std::int64_t> place(std::size_t host, int loads) const {
    return in_use[host].find(nth(bytes, loads - 1), wram, alignment);
  }
};

WeightPrefetch::Hosts WeightPrefetch::hosts_for(const PlannedPart& part,
                                                const std::vector<std::int64_t>& bytes, bool all) const {
  Hosts found;
  found.bytes = bytes;
  found.wram = part.wram_bytes({}), found.alignment = kBufferAlignment * part.wram_regions();
  WramInUse in_use(hardware_.chip->core.wram.size_bytes);
  for (std::size_t i = earlier_.size(); i-- > 0 && (all || found.hosts.size() < kFarthest);) {
    ProgramPart& host = *earlier_[i];
    // The estimate is least exact while processors start one after the other.
    if (host.started && !all) break;
    in_use.add(host.prefetch.wram_at, host.part->wram_bytes(host.prefetch));
    found.in_use.push_back(in_use);
    found.hosts.push_back({&host, count_of(bytes)});
    int& most = found.hosts.back().most;
    while (most > 0 && !found.place(found.hosts.size() - 1, most)) --most;
    if (most == 0) break;
  }
  return found;
}

PrefetchPlan WeightPrefetch::find(const PlannedPart& part, const PrefetchRequest& asked) const {
  const std::vector<std::int64_t> bytes = part.wram_of_loads();
  if (bytes.empty()) {
    if (asked.loads) refuse_prefetch(*asked.loads, "there are no kernels, or they are streamed");
    return {};
  }
  const Hosts hosts = hosts_for(part, bytes, asked.loads.has_value());
  return asked.loads ? as_asked(hosts, part, asked, count_of(bytes)) : best_of(hosts, part);
}

PrefetchPlan WeightPrefetch::as_asked(const Hosts& hosts, const PlannedPart& part,
                                      const PrefetchRequest& asked, int loads_of_part) const {
  const int loads = *asked.loads;
  const auto named = [&](const Host& host) { return !asked.during || host.part->name == *asked.during; };
  const auto found = std::find_if(hosts.hosts.begin(), hosts.hosts.end(), named);
  if (loads > loads_of_part) refuse_prefetch(loads, fmt::format("there are {}", loads_of_part));
  if (found == hosts.hosts.end() || found->most < loads)
    refuse_prefetch(
        loads, fmt::format("there is no {} from which on WRAM has room for them",
                           asked.during ? fmt::format("earlier layer '{}'", *asked.during) : "layer before"));
  if (host_cycles(*found->part, part, loads, machine_, kNever) == kNever)
    refuse_prefetch(loads,
                    fmt::format("the SRAM of a cluster has no room for them beside '{}'", found->part->name));
  const auto number = to_size(found - hosts.hosts.begin());
  return {found->part, {loads, *hosts.place(number, loads)}, 0};
}

// The host and the loads with the least estimated cycles for host and part together.
PrefetchPlan WeightPrefetch::best_of(const Hosts& hosts, const PlannedPart& part) const {
  int most = 0;
  std::vector<double> alone;  // by host: cycles without further loads
  for (const Host& host : hosts.hosts) {
    most = std::max(most, host.most);
    alone.push_back(host.most > 0 ? cycles_alone(*host.part, machine_) : 0);
  }
  PrefetchPlan best{nullptr, {}, own_cycles(part, 0, machine_)};
  for (int loads = most; loads > 0; loads /= 2) {
    const double left = own_cycles(part, loads, machine_);
    for (std::size_t h = 0; h < hosts.hosts.size(); ++h) {
      if (loads > hosts.hosts[h].most) continue;
      constexpr double kRounded = 1 + 1e-9;
      const double limit = kRounded * (best.cycles - left + alone[h]);
      const double cycles = left + host_cycles(*hosts.hosts[h].part, part, loads, machine_, limit) - alone[h];
      if (cycles < best.cycles) best = {hosts.hosts[h].part, {loads, *hosts.place(h, loads)}, cycles};
    }
  }
  return best;
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
