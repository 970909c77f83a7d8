#include "offset_vectors.h"

#include "vectors.h"

#include <cstdio>
#include <map>
#include <vector>

namespace bench {
namespace {

// Codes of states, as the RTL has them.
const std::map<std::string, int> kCodes{{"busy", 1},       {"bank_conflict", 2}, {"output_drain", 3},
                                        {"table_load", 4}, {"address", 5},       {"input_load", 6},
                                        {"weight_load", 7}};

// Accesses of an engine's port at the banks of a memory, with their bytes.
void read_banks(const Folder& folder, const std::string& memory, int port, const std::string& to, int banks,
                Ports& ports) {
  Merged accesses(ports, to, {{"bank", 8}, {"word", 32}, {"data", kPort * 8}});
  for (int b = 0; b < banks; b++) {
    const std::string bank = "p" + std::to_string(port) + "b" + std::to_string(b);
    const std::string name = memory + ".engine." + bank;
    if (folder.has(name)) accesses.take(folder.at(name), b, {bank + "_addr", bank});
  }
}

// The number of an operand by its name in the waveform; negative: it is none.
int operand(const std::string& name) {
  int at = 0, element = 0;
  if (std::sscanf(name.c_str(), "row%d.c%d", &at, &element) == 2) return at * kVector + element;
  if (std::sscanf(name.c_str(), "column%d.c%d", &at, &element) == 2) return (kRows + at) * kVector + element;
  return -1;
}

void read_operands(const Folder& folder, const std::string& lanes, Ports& ports) {
  constexpr int kOperands = (kRows + kColumns) * kVector;
  Port& to = ports["lanes"];
  for (int i = 0; i < kOperands; i++) {
    to.fields.push_back({"value" + std::to_string(i), 9});
    to.fields.push_back({"known" + std::to_string(i), 1});
  }
  const Port& from = folder.at(lanes).port;
  const std::size_t last = from.fields.size() - 1;
  for (std::size_t r = 0; r < from.records(); r++) {
    std::vector<std::pair<std::uint64_t, bool>> values(kOperands);
    for (std::size_t f = 0; f < last; f++) {
      const int number = operand(from.fields[f].name);
      const bool known = (from.value(r, last)[f / 8] >> (f % 8) & 1) != 0;
      if (number >= 0 && known) values[number] = {from.number(r, f), true};
    }
    to.begin(from.clock(r));
    for (const auto& [value, known] : values) {
      to.add(value, 2);
      to.add(known, 1);
    }
  }
}

}  // namespace

OffsetVectors read_offset_vectors(const std::string& path, const Settings& settings) {
  const Folder folder(path + "/vectors");
  const std::string scope = settings.text("scope"), lanes = scope + "offset.lanes";
  const std::string tables = settings.text("tables");
  OffsetVectors vectors;
  Ports& ports = vectors.ports;
  Merged(ports, "tables.request", {{"address", 48}, {"bytes", 32}})
      .take(folder.at(tables + ".req"), -1, {"addr", "req_bytes"});
  Merged(ports, "tables.data", {{"data", kBus * 8}}).take(folder.at(tables + ".rbeat"), -1, {"rdata"});
  Merged(ports, "beat",
         {{"group", 32},
          {"slice", 16},
          {"kernel_row", 16},
          {"kernel_column", 16},
          {"channel", 16},
          {"hits", 16},
          {"misses", 16},
          {"bank_cycles", 16}})
      .take(folder.at(lanes + ".beat"), -1,
            {"group", "slice", "kernel_row", "kernel_column", "channel", "hits", "misses", "bank_cycles"});
  read_operands(folder, lanes, ports);
  const int nram_banks = static_cast<int>(settings.number("lines_banks"));
  read_banks(folder, scope + "nram", 0, "lines", nram_banks, ports);
  read_banks(folder, scope + "nram", 1, "results", nram_banks, ports);
  read_banks(folder, scope + "wram", 0, "kernels", static_cast<int>(settings.number("kernels_banks")), ports);
  read_states(folder, scope, "offset.", {"lanes"}, kCodes, ports);
  vectors.tables = read_bus(folder, tables, kBus);
  return vectors;
}

}  // namespace bench
