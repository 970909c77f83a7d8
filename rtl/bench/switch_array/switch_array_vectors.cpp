// Reads the vectors of a run of the product into the ports of the switch array: ports of single banks and
// lanes become one with the number in front, changes of registers a record for each clock.
#include "recording.h"
#include "vectors.h"

#include <map>
#include <string>
#include <vector>

namespace bench {
namespace {

void read_array(const Folder& folder, const Geometry& geometry, const std::string& engine, Ports& ports) {
  const int word = geometry.port_channels * 8;
  const std::vector<Field> stored{{"bank", 8}, {"address", 32}, {"data", word}},
      kernels{{"column", 8}, {"address", 32}, {"data", word}};
  Merged writes(ports, "engine.banks.write", stored), reads(ports, "engine.banks.read", stored);
  Merged lanes(ports, "engine.switch", {{"lane", 8}, {"h", 16}, {"w", 16}, {"data", word}});
  for (int b = 0; b < geometry.rows; b++) {
    const std::string bank = "b" + std::to_string(b), lane = "sw" + std::to_string(b);
    writes.take(folder.at(engine + "banks." + bank + "_write"), b, {bank + "_write_addr", bank + "_write"});
    reads.take(folder.at(engine + "banks." + bank), b, {bank + "_addr", bank});
    lanes.take(folder.at(engine + "switch." + lane), b, {lane + "_h", lane + "_w", lane});
  }
  Merged loads(ports, "engine.parameters.write", kernels), words(ports, "engine.parameters.read", kernels);
  for (int c = 0; c < geometry.columns; c++) {
    const std::string bank = "w" + std::to_string(c);
    loads.take(folder.at(engine + "parameters." + bank + "_write"), c,
               {bank + "_write_addr", bank + "_write"});
    words.take(folder.at(engine + "parameters." + bank), c, {bank + "_addr", bank});
  }
  if (folder.has(engine + "post.record_write"))
    Merged(ports, "engine.records.write", {{"place", 32}, {"record", 128}})
        .take(folder.at(engine + "post.record_write"), -1, {"record_addr", "record"});
  Merged results(ports, "engine.out", {{"group", 8}, {"address", 32}, {"data", geometry.columns * 32}});
  for (int g = 0; g < geometry.groups; g++) {
    const std::string out = "out" + std::to_string(g);
    results.take(folder.at(engine + out), g, {out + "_addr", out});
  }
}

// Sums and accumulators, which the file has PE by PE in a record.
void read_pes(const File& file, const Geometry& geometry, Ports& ports) {
  Port& to = ports["engine.pe"];
  to.fields = {{"row", 8}, {"column", 8}, {"sum", 32}, {"accumulator", 32}};
  for (std::size_t i = 0; i < file.port.records(); i++) {
    const std::uint8_t* from = file.port.value(i, 0);
    for (int pe = 0; pe < geometry.rows * geometry.columns; pe++, from += 8) {
      to.begin(file.port.clock(i));
      to.add(pe / geometry.columns, 1);
      to.add(pe % geometry.columns, 1);
      to.data.insert(to.data.end(), from, from + 8);
    }
  }
}

void read_beats(const Folder& folder, const std::string& engine, Ports& ports) {
  Port& to = ports["engine.switch.beat"];
  to.fields = {{"beat", 32}, {"row_block", 16}, {"column_block", 16}};
  const File& registers = folder.at(engine + "switch.registers");
  Register beat(registers, "beat"), row(registers, "row_block"), column(registers, "column_block");
  const Port& words = folder.at(engine + "parameters.w0").port;
  for (std::size_t i = 0; i < words.records(); i++) {
    const std::uint64_t clock = words.clock(i);
    to.begin(clock);
    to.add(beat.at(clock), 4);
    to.add(row.at(clock), 2);
    to.add(column.at(clock), 2);
  }
}

// What changes in no rhythm, in each clock up to `end`.
void read_states(const Folder& folder, const std::string& scope, std::uint64_t end, Ports& ports) {
  Port& state = ports["engine.state"];
  state.fields = {{"state", 8}};
  const std::string top = scope.substr(0, scope.find('.') + 1);
  const File& states = folder.at(top + "states");
  std::vector<int> codes;
  for (const std::string& value : states.values) {
    static const std::map<std::string, int> known{
        {"busy", 1}, {"pipeline_fill", 2}, {"bank_conflict", 3}, {"output_drain", 4}, {"setup_wait", 5}};
    codes.push_back(known.count(value) != 0 ? known.at(value) : 0);
  }
  Register array(states, scope.substr(top.size()) + "engine.array.state");
  Port& outstanding = ports["bus.store.outstanding"];
  outstanding.fields = {{"bursts", 16}};
  Register bursts(folder.at(scope + "bus.store.registers"), "outstanding");
  for (std::uint64_t clock = 0; clock <= end; clock++) {
    if (const int code = codes.at(array.at(clock)); code != 0) {
      state.begin(clock);
      state.add(code, 1);
    }
    outstanding.begin(clock);
    outstanding.add(bursts.at(clock), 2);
  }
}

}  // namespace

Ports read_vectors(const std::string& path, const Geometry& geometry, const std::string& scope) {
  const Folder folder(path);
  const std::string engine = scope + "engine.", channel = scope == "soc." ? scope + "dma_" : scope;
  Ports ports;
  read_array(folder, geometry, engine, ports);
  read_pes(folder.at(engine + "pe"), geometry, ports);
  read_beats(folder, engine, ports);
  Merged(ports, "dma_load.streaming", {}).take(folder.at(channel + "load.streaming"), -1, {});
  Merged(ports, "dma_parameter.streaming", {}).take(folder.at(channel + "parameter.streaming"), -1, {});
  Merged(ports, "dma_store.reading", {}).take(folder.at(channel + "store.reading"), -1, {});
  const std::vector<Field> data{{"data", geometry.bus_bytes * 8}};
  for (const std::string name : {"fetch", "load", "parameter", "store"}) {
    const std::string bus = scope + "bus." + name;
    if (!folder.has(bus + ".rbeat")) continue;  // a core fetches over another bus
    Merged(ports, "bus." + name + ".read", data).take(folder.at(bus + ".rbeat"), -1, {"rdata"});
    Merged(ports, "bus." + name + ".write", data).take(folder.at(bus + ".wbeat"), -1, {"wdata"});
    Merged(ports, "bus." + name + ".request", {{"address", 48}, {"bytes", 32}})
        .take(folder.at(bus + ".req"), -1, {"addr", "req_bytes"});
  }
  read_states(folder, scope, last_clock(ports) + 1, ports);
  return ports;
}

}  // namespace bench
