// What went over the ports of a unit, clock by clock, in the form in which vectors are stored: of each port a
// sequence of records, a clock of eight bytes and then each field in as many bytes as its bits take, least
// significant byte first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bench {

struct Field {
  std::string name;
  int bits = 0;
  int bytes() const { return (bits + 7) / 8; }
};

// The records of one port, ordered by clock; records of a clock are ordered by their first field.
struct Port {
  std::vector<Field> fields;
  std::vector<std::uint8_t> data;

  std::size_t record_bytes() const;
  std::size_t records() const { return data.size() / record_bytes(); }
  std::uint64_t clock(std::size_t record) const;
  // The field's bytes in a record.
  const std::uint8_t* value(std::size_t record, std::size_t field) const;
  std::uint64_t number(std::size_t record, std::size_t field) const;
  std::string text(std::size_t record) const;

  void begin(std::uint64_t clock);
  void add(std::uint64_t value, int bytes);
};

using Ports = std::map<std::string, Port>;

struct Difference {
  std::string port;
  std::uint64_t clock = 0;
  std::string simulator, rtl;
};

// The first difference of one port, in time; an empty port name: there is none.
Difference compare(const std::string& name, const Port& simulator, const Port& rtl);

// Prints the first difference of each port whose name `compared` picks, and what was compared. Returns
// whether there is no difference.
bool report_differences(const Ports& simulator, Ports& rtl, std::uint64_t clocks,
                        const std::function<bool(const std::string&)>& compared);

}  // namespace bench
