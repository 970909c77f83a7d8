#include "rolling_vectors.h"

#include "registers.h"
#include "vectors.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <vector>

namespace bench {
namespace {

// Codes of states, as the RTL has them.
const std::map<std::string, int> kCodes{
    {"busy", 1},      {"roll", 2},          {"output_drain", 3},   {"input_load", 4},  {"weight_load", 5},
    {"line_load", 6}, {"input_release", 7}, {"weight_release", 8}, {"write_queue", 9}, {"staging", 10}};

// The port that a signal belongs to, its first element and the bits of each; no port: it is not compared.
struct Place {
  std::string port;
  std::uint32_t element = 0;
  int bits = 0, count = 1;
};

Place place_of(const std::string& signal) {
  int row = 0, column = 0, group = 0, line = 0;
  char operand = 0;
  const auto port = [&](const char* name) { return std::string(name) + operand; };
  if (std::sscanf(signal.c_str(), "pe%d_%d.%c%d", &row, &column, &operand, &group) == 4)
    return {port("pe."), static_cast<std::uint32_t>((group * kRows + row) * kColumns + column), 9};
  if (std::sscanf(signal.c_str(), "tags.%c%d_%d", &operand, &group, &line) == 3)
    return {port("tags."), static_cast<std::uint32_t>(group * kLanes + line), 16};
  if (std::sscanf(signal.c_str(), "spare%d.e%d", &group, &line) == 2)
    return {"spare", static_cast<std::uint32_t>(group * kLanes + line), 9};
  if (std::sscanf(signal.c_str(), "half%d.line%d", &group, &line) == 2)
    return {"half", static_cast<std::uint32_t>((group * kLines + line) * kLines), 32, kLines};
  return {};
}

void note(Changes& changes, const Place& place, std::uint64_t clock, bool known, const std::uint8_t* value,
          int bytes) {
  for (int i = 0; i < place.count; i++) {
    std::uint64_t number = 0;
    const int first = place.count > 1 ? i * place.bits / 8 : 0, size = (place.bits + 7) / 8;
    for (int b = 0; b < size && first + b < bytes; b++)
      number |= static_cast<std::uint64_t>(value[first + b]) << (8 * b);
    if (first < bytes) changes[place.port].push_back({clock, place.element + i, known, known ? number : 0});
  }
}

void read_registers(const Folder& folder, const std::string& unit, Changes& changes) {
  for (const auto& [name, file] : folder.files()) {
    if (name.compare(0, unit.size(), unit) != 0) continue;
    const Port& port = file.port;
    const std::size_t last = port.fields.empty() ? 0 : port.fields.size() - 1;
    if (!file.signals.empty()) {
      std::vector<Place> places;
      for (const std::string& signal : file.signals) places.push_back(place_of(signal));
      for (std::size_t i = 0; i < port.records(); i++) {
        const Place& place = places[port.number(i, 0)];
        if (!place.port.empty())
          note(changes, place, port.clock(i), port.number(i, 1) != 0, port.value(i, 2),
               port.fields[2].bytes());
      }
    } else if (last > 0 && !place_of(port.fields[0].name).port.empty()) {
      for (std::size_t i = 0; i < port.records(); i++)
        for (std::size_t f = 0; f < last; f++)
          note(changes, place_of(port.fields[f].name), port.clock(i),
               (port.value(i, last)[f / 8] >> (f % 8) & 1) != 0, port.value(i, f), port.fields[f].bytes());
    }
  }
}

// Spare registers and the result buffer hold zeros before.
void write_ports(Changes& changes, Ports& ports) {
  for (const char* name : {"pe.a", "pe.b", "tags.a", "tags.b", "spare", "half"})
    write_registers(changes[name], std::string(name).compare(0, 4, "tags") != 0, ports[name]);
}

void read_accesses(const Folder& folder, const std::string& unit, Ports& ports) {
  const std::vector<Field> access{{"address", 48}, {"write", 1}}, data{{"data", kPort * 8}};
  for (const std::string name : {"a", "b"}) {
    const File& file = folder.at(unit + name + ".port.req");
    Merged(ports, name + ".port", access).take(file, -1, {"addr", "write"});
    File reads = file, writes = file;
    reads.port.data.clear(), writes.port.data.clear();
    const std::size_t bytes = file.port.record_bytes();
    for (std::size_t i = 0; i < file.port.records(); i++) {
      const bool write = file.port.number(i, 2) != 0;  // address, data, write
      auto& to = (write ? writes : reads).port.data;
      to.insert(to.end(), file.port.data.begin() + i * bytes, file.port.data.begin() + (i + 1) * bytes);
    }
    Merged(ports, name + ".data", data).take(reads, -1, {"data"});
    if (name == "b") Merged(ports, "b.write", data).take(writes, -1, {"data"});
  }
  if (folder.has(unit + "b.transposing"))
    Merged(ports, "b.transposing", {}).take(folder.at(unit + "b.transposing"), -1, {});
  Merged(ports, "results.port", {{"address", 48}, {"write", 1}, {"data", kPort * 8}})
      .take(folder.at(unit + "results.port.req"), -1, {"addr", "write", "data"});
}

void read_array(const Folder& folder, const std::string& unit, Ports& ports) {
  for (const std::string name : {"load_a", "load_b"})
    Merged(ports, name, {{"across", 1}, {"group", 8}, {"line", 16}})
        .take(folder.at(unit + "array." + name), -1, {name + "_across", name + "_group", name + "_line"});
  Merged(ports, "beat", {{"computation", 16}, {"group", 8}, {"phase", 8}, {"step", 3}})
      .take(folder.at(unit + "array"), -1, {"computation", "group", "phase", "step"});
  Merged(ports, "drain", {{"half", 1}, {"out", kSums * 32}})
      .take(folder.at(unit + "results.drain"), -1, {"drain_half", "out"});
  if (folder.has(unit + "results.realign"))
    Merged(ports, "realign", {}).take(folder.at(unit + "results.realign"), -1, {});
}

// Fields that are known, as records: number of the field's lane and value.
void read_sums(const Folder& folder, const std::string& unit, Ports& ports) {
  const Port& sums = folder.at(unit + "array.sums").port;
  Port& to = ports["sums"];
  to.fields = {{"multiplier", 8}, {"line", 8}, {"sum", 32}};
  for (std::size_t i = 0; i < sums.records(); i++) {
    const std::size_t last = sums.fields.size() - 1;
    std::map<std::pair<int, int>, std::uint64_t> known;
    for (std::size_t f = 0; f < last; f++) {
      int line = 0, multiplier = 0;
      std::sscanf(sums.fields[f].name.c_str(), "sum%d_%d", &line, &multiplier);
      if ((sums.value(i, last)[f / 8] >> (f % 8) & 1) != 0) known[{multiplier, line}] = sums.number(i, f);
    }
    for (const auto& [lane, value] : known) {
      to.begin(sums.clock(i));
      to.add(lane.first, 1);
      to.add(lane.second, 1);
      to.add(value, 4);
    }
  }
}

void read_adds(const Folder& folder, const std::string& unit, Ports& ports) {
  const Port& adds = folder.at(unit + "results.add").port;
  Register half(folder.at(unit + "results.registers"), "half");
  Port& to = ports["add"];
  to.fields = {{"lane", 8}, {"half", 1}, {"line", 16}, {"index", 16}};
  const std::size_t last = adds.fields.size() - 1;
  for (std::size_t i = 0; i < adds.records(); i++) {
    const std::uint64_t in = half.at(adds.clock(i));
    std::map<int, std::pair<std::uint64_t, std::uint64_t>> lanes;
    for (std::size_t f = 0; f < last; f++) {
      if ((adds.value(i, last)[f / 8] >> (f % 8) & 1) == 0) continue;
      int lane = 0;
      char what = 0;
      std::sscanf(adds.fields[f].name.c_str(), "w%d_%c", &lane, &what);
      (what == 'l' ? lanes[lane].first : lanes[lane].second) = adds.number(i, f);
    }
    for (const auto& [lane, place] : lanes) {
      to.begin(adds.clock(i));
      to.add(lane, 1);
      to.add(in, 1);
      to.add(place.first, 2);
      to.add(place.second, 2);
    }
  }
}

}  // namespace

Ports read_rolling_vectors(const std::string& path, const std::string& scope) {
  const Folder folder(path);
  const std::string unit = scope + "rolling.";
  Ports ports;
  Changes changes;
  read_registers(folder, unit, changes);
  write_ports(changes, ports);
  read_accesses(folder, unit, ports);
  read_array(folder, unit, ports);
  read_sums(folder, unit, ports);
  read_adds(folder, unit, ports);
  read_states(folder, scope, "rolling.", {std::begin(kUnits), std::end(kUnits)}, kCodes, ports);
  return ports;
}

}  // namespace bench
