#include "system/snapshot.h"

#include "base/types.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {

LayerCounts& LayerCounts::operator+=(const LayerCounts& more) {
  bytes = bytes + more.bytes;
  for (std::size_t i = 0; i < array.size(); ++i) array[i] += more.array[i];
  for (std::size_t u = 0; u < helpers.size(); ++u) {
    for (std::size_t i = 0; i < array.size(); ++i) helpers[u][i] += more.helpers[u][i];
  }
  beats += more.beats;
  macs += more.macs;
  results += more.results;
  decoded += more.decoded;
  activations += more.activations;
  if (more.losses) losses = losses.value_or(MacLosses{}) + *more.losses;
  return *this;
}

LayerCounts& LayerCounts::operator-=(const LayerCounts& other) {
  bytes = bytes - other.bytes;
  for (std::size_t i = 0; i < array.size(); ++i) array[i] -= other.array[i];
  for (std::size_t u = 0; u < helpers.size(); ++u) {
    for (std::size_t i = 0; i < array.size(); ++i) helpers[u][i] -= other.helpers[u][i];
  }
  beats -= other.beats;
  macs -= other.macs;
  results -= other.results;
  decoded -= other.decoded;
  activations -= other.activations;
  if (losses) losses = *losses - other.losses.value_or(MacLosses{});
  return *this;
}

void Snapshot::add(Snapshot part) {
  const auto move = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  move(part.modules, modules), move(part.counters, counters), move(part.ports, ports);
  move(part.cores, cores);
  *this += part;
}

void Snapshot::add(Snapshot part, const std::string& prefix, const std::string& as) {
  const auto rename = [&](std::string& name) { name.replace(0, prefix.size(), as); };
  for (ModuleCycles& module : part.modules) rename(module.name);
  for (Counter& counter : part.counters) rename(counter.module);
  for (PortBeats& port : part.ports) rename(port.name);
  for (CoreResult& core : part.cores) rename(core.name);
  add(std::move(part));
}

PortBound port_bound(const Snapshot& snapshot, const Snapshot& before) {
  const Cycle cycles = snapshot.at - before.at;
  PortBound bound;
  for (std::size_t i = 0; i < snapshot.ports.size(); ++i) {
    const PortBeats& now = snapshot.ports[i];
    const PortBeats then = before.ports.empty() ? PortBeats{} : before.ports[i];
    const Cycle outside = std::max<Cycle>(0, now.cycles - then.cycles - cycles);
    const Cycle beats = now.beats - then.beats - outside;
    if (beats > bound.cycles) bound = {now.name, beats};
  }
  return bound;
}

LayerMark::LayerMark(const Snapshot& snapshot, const Snapshot& before)
    : LayerCounts(snapshot), at(snapshot.at), port(port_bound(snapshot, before)) {
  constexpr auto kBusy = to_size(Activity::kBusy);
  for (std::size_t i = 0; i < snapshot.modules.size(); ++i) {
    const ModuleCycles& now = snapshot.modules[i];
    const Cycle cycles = now.cycles - (before.modules.empty() ? 0 : before.modules[i].cycles);
    const Cycle worked =
        now.activity[kBusy] - (before.modules.empty() ? 0 : before.modules[i].activity[kBusy]);
    const double share = cycles > 0 ? ratio_of(worked, cycles) : 0.0;
    if (share > busiest_share) busiest = now.name, busiest_share = share;
  }
  const Cycle cycles = at - before.at;
  const double share = cycles > 0 ? ratio_of(port.cycles, cycles) : 0.0;
  if (share > busiest_share) busiest = port.name, busiest_share = share;
}

void SnapshotVisitor::ledger(const std::string& module, CycleLedger& ledger) {
  // While a layer ends, another processor's work may already be accounted for ahead of time.
  const Cycle upto = std::max(snapshot_.at, ledger.settled_at());
  ledger.settle(upto);
  ledger.close();
  snapshot_.modules.push_back({prefix_ + module, "npu", upto, ledger.cycles()});
}

void SnapshotVisitor::counter(const std::string& module, const std::string& name, const std::string& unit,
                              std::int64_t value) {
  snapshot_.counters.push_back({prefix_ + module, name, unit, value});
}

void SnapshotVisitor::array(const CycleLedger& ledger, std::int64_t beats, std::int64_t macs) {
  for (std::size_t i = 0; i < snapshot_.array.size(); ++i) snapshot_.array[i] += ledger.cycles()[i];
  snapshot_.beats += beats;
  snapshot_.macs += macs;
}

void SnapshotVisitor::helper(HelperUnit unit, const CycleLedger& ledger) {
  if (ledger.current() == Activity::kUnused) return;
  ActivityCycles& sum = nth(snapshot_.helpers, unit);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += ledger.cycles()[i];
}

void SnapshotVisitor::losses(const MacLosses& losses) {
  snapshot_.losses = snapshot_.losses.value_or(MacLosses{}) + losses;
}

void SnapshotVisitor::bus(const std::string& module, Interconnect& bus) {
  bus.settle(snapshot_.at);
  for (int i = 0; i < bus.ports(); ++i) {
    const BusPortStatistics& port = bus.statistics(PortId(i));
    const std::string name = fmt::format("{}.{}", module, port.name);
    snapshot_.modules.push_back({prefix_ + name + ".read", "npu", port.settled_at, port.read_cycles});
    snapshot_.modules.push_back({prefix_ + name + ".write", "npu", port.settled_at, port.write_cycles});
    snapshot_.ports.push_back(
        {prefix_ + name + ".read", port.settled_at, nth(port.read_cycles, Activity::kBusy)});
    snapshot_.ports.push_back(
        {prefix_ + name + ".write", port.settled_at, nth(port.write_cycles, Activity::kBusy)});
    counter(name, "read", "bytes", port.read_bytes);
    counter(name, "written", "bytes", port.write_bytes);
    counter(name, "read_bursts", "bursts", port.read_bursts);
    counter(name, "write_bursts", "bursts", port.write_bursts);
    bytes(&MemoryBytes::bus_read, port.read_bytes);
    bytes(&MemoryBytes::bus_write, port.write_bytes);
  }
  for (const TargetPortBeats& target : bus.target_beats()) {
    const std::string name = fmt::format("{}{}.{}", prefix_, module, target.name);
    snapshot_.ports.push_back({name + ".read", snapshot_.at, target.read});
    snapshot_.ports.push_back({name + ".write", snapshot_.at, target.write});
  }
}

void SnapshotVisitor::dram(const std::string& module, DramController& dram, Picoseconds at) {
  dram.settle(now_ps());  // commands up to now may be in the statistics already
  for (int i = 0; i < dram.channels(); ++i) {
    const DramChannelStatistics& channel = dram.statistics(i);
    const std::string name = fmt::format("{}.ch{}", module, i);
    snapshot_.modules.push_back({prefix_ + name, "dram", channel.settled_at, channel.cycles});
    counter(name, "row_hits", "bursts", channel.row_hits);
    counter(name, "row_misses", "bursts", channel.row_misses);
    counter(name, "row_conflicts", "bursts", channel.row_conflicts);
    counter(name, "refreshes", "commands", channel.refreshes);
    counter(name, "partial_writes", "bursts", channel.partial_writes);
    counter(name, "read", "bytes", channel.read_bytes);
    counter(name, "written", "bytes", channel.write_bytes);
    counter(name, "data_bus", "bytes", channel.bus_bytes);
    // Bytes per picosecond times 10^6 are megabytes per second.
    const std::int64_t payload = channel.read_bytes + channel.write_bytes;
    counter(name, "achieved_bandwidth", "MB/s", at > 0 ? payload * 1'000'000 / at : 0);
    snapshot_.activations += channel.row_misses + channel.row_conflicts;
    bytes(&MemoryBytes::dram_read, channel.read_bytes);
    bytes(&MemoryBytes::dram_write, channel.write_bytes);
  }
}

void SnapshotVisitor::external(const std::string& module, ExternalMemory& memory) {
  ledger(module, memory.ledger);
  counter(module, "read", "bytes", memory.stats.read_bytes);
  counter(module, "written", "bytes", memory.stats.written_bytes);
  counter(module, "requests", "requests", memory.stats.requests);
  counter(module, "direct", "requests", memory.stats.direct);
  bytes(&MemoryBytes::dram_read, memory.stats.read_bytes);
  bytes(&MemoryBytes::dram_write, memory.stats.written_bytes);
}

void SnapshotVisitor::scratchpad(const std::string& module, Scratchpad& memory,
                                 std::int64_t MemoryBytes::*read, std::int64_t MemoryBytes::*write) {
  memory.settle(snapshot_.at);
  counter(module, "read", "bytes", memory.stats.read_bytes);
  counter(module, "written", "bytes", memory.stats.write_bytes);
  counter(module, "bank_accesses", "words", memory.stats.words);
  counter(module, "bank_conflicts", "cycles", memory.stats.conflict_clocks);
  counter(module, "port_taken", "cycles", memory.stats.port_clocks);
  counter(module, "held_requests", "requests", memory.stats.held_requests);
  bytes(read, memory.stats.read_bytes);
  bytes(write, memory.stats.write_bytes);
  const int width = memory.words_per_clock();
  snapshot_.ports.push_back({prefix_ + module + ".read", snapshot_.at, memory.stats.read_words / width});
  snapshot_.ports.push_back({prefix_ + module + ".write", snapshot_.at, memory.stats.write_words / width});
}

void SnapshotVisitor::control_counters(const CommandProcessor& control) {
  counter("control", "instructions", "instructions", control.stats.instructions);
  counter("control", "fetched", "bytes", control.stats.fetched_bytes);
}

void visit_ledgers(StatVisitor& visitor, CommandProcessor& control) {
  visitor.ledger("control.decode", control.ledger);
  visitor.ledger("control.fetch", control.fetch.ledger);
}

void visit_ledgers(StatVisitor& visitor, const std::string& module, CopyEngine& engine) {
  visitor.ledger(module + ".read", engine.read_ledger);
  visitor.ledger(module + ".write", engine.write_ledger);
  visitor.helper(HelperUnit::kCopies, engine.write_ledger);
  visitor.decoded(engine.decoded);
}

}  // namespace tilebeat
