#include "tilebeat/system/snapshot.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

void collect_banks(Snapshot& snapshot, const std::string& name,
                   const std::vector<std::unique_ptr<SramBank>>& banks, std::int64_t& read,
                   std::int64_t& write) {
  for (std::size_t i = 0; i < banks.size(); ++i) {
    const BankPortStats& reads = banks[i]->stats(SwitchArrayEngine::kReadPort);
    const BankPortStats& writes = banks[i]->stats(SwitchArrayEngine::kWritePort);
    snapshot.count(fmt::format("{}{}", name, i), "read_port_busy", "clocks", reads.accesses);
    snapshot.count(fmt::format("{}{}", name, i), "write_port_busy", "clocks", writes.accesses);
    read += reads.bytes;
    write += writes.bytes;
  }
}

}  // namespace

void collect_ledger(Snapshot& snapshot, const std::string& name, CycleLedger& ledger, Cycle at) {
  // What another processor computes while a layer ends may be accounted for ahead of time.
  const Cycle upto = std::max(at, ledger.settled_at());
  ledger.settle(upto);
  snapshot.modules.push_back({name, "npu", upto, ledger.cycles()});
}

void collect_engine(Snapshot& snapshot, const std::string& prefix, SwitchArrayEngine& engine) {
  const SwitchStats& stats = engine.switch_network->stats;
  const ActivityCycles& array = engine.switch_network->ledger.cycles();
  for (std::size_t i = 0; i < array.size(); ++i) snapshot.array[i] += array[i];
  snapshot.beats += stats.beats;
  snapshot.macs += stats.useful_macs;
  snapshot.count(prefix + "engine.switch", "beats", "beats", stats.beats);
  snapshot.count(prefix + "engine.switch", "chunks", "chunks", stats.chunks);
  snapshot.count(prefix + "engine.switch", "operation_cycles", "operation cycles", stats.operation_cycles);
  snapshot.count(prefix + "engine.switch", "bank_reads", "words", stats.bank_read_words);
  snapshot.count(prefix + "engine.pe", "useful_macs", "multiply-accumulates", stats.useful_macs);
  snapshot.count(prefix + "engine.post", "results", "results", engine.post_processor->stats.results);
  snapshot.count(prefix + "engine.post", "lane_drains", "lanes", engine.post_processor->stats.lane_drains);
  MemoryBytes& bytes = snapshot.bytes;
  collect_banks(snapshot, prefix + "engine.b", engine.input_banks, bytes.input_buffer_read,
                bytes.input_buffer_write);
  collect_banks(snapshot, prefix + "engine.w", engine.parameter_banks, bytes.parameter_buffer_read,
                bytes.parameter_buffer_write);
  const int ports = static_cast<int>(engine.output_buffer->ports.size());
  for (int port = 0; port < ports; ++port) {
    const BankPortStats& port_stats = engine.output_buffer->stats(port);
    const bool reads = port == ports - 1;
    (reads ? bytes.output_buffer_read : bytes.output_buffer_write) += port_stats.bytes;
    snapshot.count(prefix + "engine.output_buffer",
                   reads ? "read_port_busy" : fmt::format("write_port{}_busy", port).c_str(), "clocks",
                   port_stats.accesses);
  }
}

void collect_wfold(Snapshot& snapshot, const std::string& prefix, const WfoldEngine& engine) {
  const WfoldStats& stats = engine.master->stats;
  const ActivityCycles& slaves = engine.master->slaves_ledger().cycles();
  for (std::size_t i = 0; i < slaves.size(); ++i) snapshot.array[i] += slaves[i];
  snapshot.beats += stats.beats;
  snapshot.macs += stats.useful_macs;
  const std::string master = prefix + "engine.master";
  snapshot.count(master, "beats", "beats", stats.beats);
  snapshot.count(master, "runs", "runs", stats.runs);
  snapshot.count(master, "tiles", "tiles", stats.tiles);
  snapshot.count(master, "refills", "refills", stats.refills);
  snapshot.count(master, "broadcast_lines", "lines", stats.broadcast_lines);
  snapshot.count(master, "kernel_lines", "lines a slave", stats.kernel_lines);
  snapshot.count(master, "useful_macs", "multiply-accumulates", stats.useful_macs);
  snapshot.count(master, "read_requests", "requests", engine.master->reader.stats.requests);
  snapshot.count(master, "read", "bytes", engine.master->reader.stats.bytes);
  snapshot.count(prefix + "engine.writer", "results", "results", engine.writer->stats.results);
  snapshot.count(prefix + "engine.writer", "write_requests", "requests", engine.writer->stats.requests);
  snapshot.count(prefix + "engine.writer", "written", "bytes", engine.writer->stats.bytes);
}

void collect_bus(Snapshot& snapshot, const std::string& name, Interconnect& bus, Cycle at) {
  bus.settle(at);
  for (int i = 0; i < bus.ports(); ++i) {
    const BusPortStatistics& port = bus.statistics(PortId(i));
    const std::string port_name = fmt::format("{}.{}", name, port.name);
    snapshot.modules.push_back({port_name + ".read", "npu", port.settled_at, port.read_cycles});
    snapshot.modules.push_back({port_name + ".write", "npu", port.settled_at, port.write_cycles});
    snapshot.count(port_name, "read", "bytes", port.read_bytes);
    snapshot.count(port_name, "written", "bytes", port.write_bytes);
    snapshot.count(port_name, "read_bursts", "bursts", port.read_bursts);
    snapshot.count(port_name, "write_bursts", "bursts", port.write_bursts);
  }
}

void collect_dram(Snapshot& snapshot, const std::string& dram_name, DramController& dram, Picoseconds at) {
  dram.settle(at);
  for (int i = 0; i < dram.channels(); ++i) {
    const DramChannelStatistics& channel = dram.statistics(i);
    const std::string name = fmt::format("{}.ch{}", dram_name, i);
    snapshot.modules.push_back({name, "dram", channel.settled_at, channel.cycles});
    snapshot.count(name, "row_hits", "bursts", channel.row_hits);
    snapshot.count(name, "row_misses", "bursts", channel.row_misses);
    snapshot.count(name, "row_conflicts", "bursts", channel.row_conflicts);
    snapshot.count(name, "refreshes", "commands", channel.refreshes);
    snapshot.count(name, "read", "bytes", channel.read_bytes);
    snapshot.count(name, "written", "bytes", channel.write_bytes);
    snapshot.count(name, "data_bus", "bytes", channel.bus_bytes);
    // Bytes a picosecond times 10^6 are megabytes a second.
    const std::int64_t payload = channel.read_bytes + channel.write_bytes;
    snapshot.count(name, "achieved_bandwidth", "MB/s", at > 0 ? payload * 1'000'000 / at : 0);
    snapshot.bytes.dram_read += channel.read_bytes;
    snapshot.bytes.dram_write += channel.write_bytes;
  }
}

void collect_scratchpad(Snapshot& snapshot, const std::string& name, const Scratchpad& memory,
                        std::int64_t& read, std::int64_t& write) {
  snapshot.count(name, "read", "bytes", memory.stats.read_bytes);
  snapshot.count(name, "written", "bytes", memory.stats.write_bytes);
  snapshot.count(name, "bank_accesses", "words", memory.stats.words);
  snapshot.count(name, "bank_conflicts", "clocks", memory.stats.conflict_clocks);
  read += memory.stats.read_bytes;
  write += memory.stats.write_bytes;
}

}  // namespace tilebeat
