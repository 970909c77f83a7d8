// What went over the ports of a unit, clock by clock, in the form in which vectors are stored: of each port a
// sequence of records, a clock of eight bytes and then each field in as many bytes as its bits take, least
// significant byte first.
#pragma once

#include <cstdint>
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

// Sizes of the array.
struct Geometry {
  int rows, columns, groups, port_channels, bus_bytes;
};
// Ports by the names of the switch array, from a folder of vectors; `scope` is that of the core: "soc.".
Ports read_vectors(const std::string& path, const Geometry& geometry, const std::string& scope);

// When instructions of a processor began and ended, in program order.
struct Executed {
  std::string text;
  std::int64_t begin = -1, end = -1;
};
std::vector<Executed> read_programs(const std::string& path, const std::string& processor);

}  // namespace bench
