#include "wfold_vectors.h"

#include "bus.h"
#include "registers.h"
#include "vectors.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

namespace bench {
namespace {

// Codes of states, as the RTL has them.
const std::map<std::string, int> kCodes{{"busy", 1},           {"input_load", 2},    {"weight_load", 3},
                                        {"output_drain", 4},   {"input_release", 5}, {"line_load", 6},
                                        {"weight_release", 7}, {"landing", 8}};

std::vector<Field> fields_of(const File& file, const std::vector<std::string>& names) {
  std::vector<Field> fields;
  for (const std::string& name : names)
    for (const Field& field : file.port.fields)
      if (field.name == name) fields.push_back(field);
  return fields;
}

// A port with the records of one of the vectors.
void copy(const Folder& folder, const std::string& from, const std::string& to,
          const std::vector<std::string>& names, Ports& ports) {
  Merged merged(ports, to, folder.has(from) ? fields_of(folder.at(from), names) : std::vector<Field>{});
  if (folder.has(from)) merged.take(folder.at(from), -1, names);
}

// A port with the records of a port of each slave, its number in front.
void merge_slaves(const Folder& folder, const std::string& engine, const std::string& part,
                  const std::string& to, const std::vector<std::string>& names, Ports& ports) {
  std::vector<Field> fields{{"slave", 8}};
  for (const Field& field : fields_of(folder.at(engine + "sl0" + part), names)) fields.push_back(field);
  Merged merged(ports, to, fields);
  for (int s = 0; s < kSlaves; s++) {
    const std::string name = engine + "sl" + std::to_string(s) + part;
    if (folder.has(name)) merged.take(folder.at(name), s, names);
  }
}

void read_beats(const Folder& folder, const std::string& engine, Ports& ports) {
  std::vector<std::string> names{"block", kKernelsFirst ? "window" : "k", "kh", "kw",
                                 kKernelsFirst ? "first_slot" : "second_slot"};
  const std::string dealt = kKernelsFirst ? ".w" : ".x", shared = kKernelsFirst ? "map.x" : "kernel.w";
  for (int u = 0; u < kUnits; u++) names.push_back("cu" + std::to_string(u) + "_w");
  for (int u = 0; u < kUnits; u++)
    for (int i = 0; i < kLine; i++) names.push_back("cu" + std::to_string(u) + dealt + std::to_string(i));
  for (int i = 0; i < kLine; i++) names.push_back(shared + std::to_string(i));
  merge_slaves(folder, engine, "", "slave", names, ports);

  Register tile(folder.at(engine + "master.registers"), "tile"),
      refill(folder.at(engine + "master.registers"), "refill");
  const Port& beats = folder.at(engine + "master.beat").port;
  Port& to = ports["beat"];
  to.fields = {{"tile", 32}, {"refill", 32}};
  for (std::size_t i = 0; i < beats.records(); i++) {
    to.begin(beats.clock(i));
    to.add(tile.at(beats.clock(i)), 4);
    to.add(refill.at(beats.clock(i)), 4);
  }
}

// Results of the units, and what the third buffers hold.
void read_results(const Folder& folder, const std::string& engine, Ports& ports) {
  Changes changes;
  for (int s = 0; s < kSlaves; s++) {
    const std::string slave = engine + "sl" + std::to_string(s);
    if (folder.has(slave + ".results")) {
      const Port& port = folder.at(slave + ".results").port;
      const std::size_t last = port.fields.size() - 1;
      for (std::size_t i = 0; i < port.records(); i++)
        for (std::size_t f = 0; f < last; f++) {
          int unit = 0, column = 0;
          char what[4] = {};
          if (std::sscanf(port.fields[f].name.c_str(), "cu%d.%3[a-z]%d", &unit, what, &column) != 3) continue;
          const bool known = (port.value(i, last)[f / 8] >> (f % 8) & 1) != 0;
          changes[what].push_back({port.clock(i),
                                   static_cast<std::uint32_t>((s * kUnits + unit) * kColumns + column), known,
                                   known ? port.number(i, f) : 0});
        }
    }
    if (!folder.has(slave + ".third.registers")) continue;
    const File& file = folder.at(slave + ".third.registers");
    for (std::size_t i = 0; i < file.port.records(); i++) {
      int half = 0, kernel = 0;
      if (std::sscanf(file.signals.at(file.port.number(i, 0)).c_str(), "h%d_k%d", &half, &kernel) != 2)
        continue;
      const int bytes = file.port.fields[2].bytes();
      for (int e = 0; e * 4 < bytes; e++) {
        std::uint32_t value = 0;
        std::memcpy(&value, file.port.value(i, 2) + e * 4, 4);
        changes["third"].push_back(
            {file.port.clock(i),
             static_cast<std::uint32_t>(((s * 2 + half) * kKernels + kernel) * kResults + e), true, value});
      }
    }
  }
  for (const char* name : {"out", "sum", "third"}) write_registers(changes[name], true, ports[name]);
}

// Accesses of the regions' ports: the numbers of their words.
void read_regions(const Folder& folder, const std::string& scope, Ports& ports) {
  Merged accesses(ports, "region", {{"slave", 8}, {"address", 32}});
  for (int s = 0; s < kSlaves; s++) {
    const std::string bank = "b" + std::to_string(s), name = scope + "wram.engine." + bank;
    if (!folder.has(name)) continue;
    accesses.take(folder.at(name), s, {bank + "_addr"});
  }
}

}  // namespace

WfoldVectors read_wfold_vectors(const std::string& path, const Settings& settings) {
  const Folder folder(path + "/vectors");
  const std::string scope = settings.text("scope");
  const std::string engine = scope + "engine.";
  WfoldVectors vectors;
  Ports& ports = vectors.ports;
  copy(folder, scope + "bus.lines.req", "lines.request", {"addr", "req_bytes"}, ports);
  copy(folder, scope + "bus.lines.rbeat", "lines.data", {"rdata"}, ports);
  copy(folder, scope + "bus.results.req", "results.request", {"addr", "req_bytes"}, ports);
  copy(folder, engine + "master.broadcast", "broadcast", {"line", "line_group", "line_slot"}, ports);
  copy(folder, engine + "master.transit", "transit", {"begin", "bytes", "end", "lines", "row", "windows"},
       ports);
  copy(folder, engine + "master.weights", "weights", {}, ports);
  copy(folder, engine + "writer.drain", "drain", {"channel", "column"}, ports);
  copy(folder, engine + "writer.write", "write", {"write_addr", "write_bytes", "write_data"}, ports);
  merge_slaves(folder, engine, ".third.write", "third.write", {"write_half", "write_k"}, ports);
  merge_slaves(folder, engine, ".third.read", "third.read", {"read_half", "read_k", "read_w"}, ports);
  read_beats(folder, engine, ports);
  read_results(folder, engine, ports);
  read_regions(folder, scope, ports);
  read_states(folder, scope, "engine.", {std::begin(kParts), std::end(kParts)}, kCodes, ports);
  vectors.lines = read_bus(folder, scope + "bus.lines", kBus);
  vectors.results = read_bus(folder, scope + "bus.results", kBus);
  return vectors;
}

}  // namespace bench
