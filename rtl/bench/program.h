// The case that a bench runs: its settings, and the instructions with the clocks in which they began and
// ended.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bench {

struct Instruction {
  std::uint8_t bytes[64] = {};
  std::int64_t begin = -1, end = -1;
  std::string text;
  int opcode() const { return bytes[0]; }
  // Bits of the encoding, as docs/isa.md numbers them.
  std::uint64_t field(int first, int last) const {
    std::uint64_t value = 0;
    for (int bit = first; bit <= last; bit++)
      value |= static_cast<std::uint64_t>(bytes[bit / 8] >> (bit % 8) & 1) << (bit - first);
    return value;
  }
};

// Lines "name value".
class Settings {
 public:
  explicit Settings(const std::string& path);
  const std::string& text(const char* name) const { return values_.at(name); }
  std::uint64_t number(const char* name) const { return std::stoull(values_.at(name)); }

 private:
  std::map<std::string, std::string> values_;
};

// The instructions of a folder: their bits from program.image, when they began and ended from the vectors.
std::vector<Instruction> read_program(const std::string& folder, const std::string& processor);

}  // namespace bench
