#include "ports.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace bench {

std::size_t Port::record_bytes() const {
  std::size_t bytes = 8;
  for (const Field& field : fields) bytes += field.bytes();
  return bytes;
}

std::uint64_t Port::clock(std::size_t record) const {
  std::uint64_t clock = 0;
  std::memcpy(&clock, data.data() + record * record_bytes(), 8);
  return clock;
}

const std::uint8_t* Port::value(std::size_t record, std::size_t field) const {
  const std::uint8_t* at = data.data() + record * record_bytes() + 8;
  for (std::size_t i = 0; i < field; i++) at += fields[i].bytes();
  return at;
}

std::uint64_t Port::number(std::size_t record, std::size_t field) const {
  std::uint64_t number = 0;
  std::memcpy(&number, value(record, field), std::min(8, fields[field].bytes()));
  return number;
}

std::string Port::text(std::size_t record) const {
  std::string text;
  for (std::size_t f = 0; f < fields.size(); f++) {
    text += (f ? " " : "") + fields[f].name + "=0x";
    const std::uint8_t* bytes = value(record, f);
    int top = fields[f].bytes() - 1;
    while (top > 0 && bytes[top] == 0) top--;
    char hex[3];
    for (int i = top; i >= 0; i--) {
      std::snprintf(hex, sizeof hex, i == top ? "%x" : "%02x", bytes[i]);
      text += hex;
    }
  }
  return text;
}

void Port::begin(std::uint64_t clock) {
  add(clock, 8);
}

void Port::add(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) data.push_back(i < 8 ? static_cast<std::uint8_t>(value >> (8 * i)) : 0);
}

Difference compare(const std::string& name, const Port& simulator, const Port& rtl) {
  const std::size_t bytes = simulator.record_bytes();
  if (bytes != rtl.record_bytes()) return {name, 0, "fields of another width", "fields of another width"};
  const std::size_t common = std::min(simulator.records(), rtl.records());
  std::size_t at = 0;
  while (at < common &&
         std::memcmp(simulator.data.data() + at * bytes, rtl.data.data() + at * bytes, bytes) == 0)
    at++;
  if (at == simulator.records() && at == rtl.records()) return {};
  Difference difference{name, UINT64_MAX, "nothing", "nothing"};
  if (at < simulator.records()) difference.clock = simulator.clock(at);
  if (at < rtl.records()) difference.clock = std::min(difference.clock, rtl.clock(at));
  if (at < simulator.records() && simulator.clock(at) == difference.clock)
    difference.simulator = simulator.text(at);
  if (at < rtl.records() && rtl.clock(at) == difference.clock) difference.rtl = rtl.text(at);
  return difference;
}

bool report_differences(const Ports& simulator, Ports& rtl, std::uint64_t clocks,
                        const std::function<bool(const std::string&)>& compared) {
  std::vector<Difference> differences;
  std::uint64_t records = 0;
  for (const auto& [name, port] : simulator) {
    if (!compared(name)) continue;
    records += port.records();
    Difference difference = compare(name, port, rtl[name]);
    if (!difference.port.empty()) differences.push_back(difference);
  }
  std::sort(differences.begin(), differences.end(),
            [](const auto& a, const auto& b) { return a.clock < b.clock; });
  for (const Difference& difference : differences)
    std::printf("clock %llu, port %s: simulator %s, RTL %s\n",
                static_cast<unsigned long long>(difference.clock), difference.port.c_str(),
                difference.simulator.c_str(), difference.rtl.c_str());
  std::printf("%s: %llu clocks, %llu records compared\n", differences.empty() ? "equal" : "different",
              static_cast<unsigned long long>(clocks), static_cast<unsigned long long>(records));
  return differences.empty();
}

}  // namespace bench
