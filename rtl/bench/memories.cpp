#include "memories.h"

#include "vectors.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

std::uint64_t field(const std::string& text, const std::string& name, std::uint64_t otherwise) {
  const std::size_t at = text.find(" " + name + "=");
  return at == std::string::npos ? otherwise : std::stoull(text.substr(at + name.size() + 2), nullptr, 0);
}

// Copies of a core and of its cluster, which read and write addresses of the chip.
bool copies(const std::string& text) {
  for (const char* name : {"iodma.copy", "mvdma.copy", "gdma.copy"})
    if (text.compare(0, text.find(' '), name) == 0) return true;
  return false;
}

}  // namespace

Memories::Memories(const std::string& folder) {
  std::ifstream file(folder + "/dram.before.hex");
  if (!file) throw std::runtime_error("cannot read " + folder + "/dram.before.hex");
  std::uint64_t at = 0;
  for (std::string word; file >> word;) {
    if (word[0] == '@')
      at = std::stoull(word.substr(1), nullptr, 16);
    else
      bytes_[at++] = static_cast<std::uint8_t>(std::stoul(word, nullptr, 16));
  }
  for (const auto& [processor, program] : read_programs(folder))
    for (const Executed& executed : program)
      if (copies(executed.text) && executed.end >= 0)
        waiting_.emplace(executed.begin, Copy{static_cast<std::uint64_t>(executed.end), executed.text});
}

void Memories::advance(std::uint64_t clock) {
  for (; !moving_.empty() && moving_.begin()->first <= clock; moving_.erase(moving_.begin()))
    for (const auto& [address, byte] : moving_.begin()->second) bytes_[address] = byte;
  // A copy begins when its source is complete, which may be overwritten before the copy has ended.
  for (; !waiting_.empty() && waiting_.begin()->first <= clock; waiting_.erase(waiting_.begin())) {
    const Copy& copy = waiting_.begin()->second;
    moving_.emplace(copy.end, read(copy.text));
  }
}

Memories::Bytes Memories::read(const std::string& text) const {
  const std::uint64_t source = field(text, "source", 0), destination = field(text, "destination", 0);
  const std::uint64_t run = field(text, "run_bytes", 1), inner = field(text, "inner_count", 1),
                      outer = field(text, "outer_count", 1),
                      source_inner = field(text, "source_inner_stride", 0),
                      source_outer = field(text, "source_outer_stride", 0),
                      inner_stride = field(text, "destination_inner_stride", 0),
                      outer_stride = field(text, "destination_outer_stride", 0),
                      turned = field(text, "transposed_columns", 0),
                      turned_stride = field(text, "transposed_stride", 0);
  Bytes bytes;
  for (std::uint64_t o = 0; o < outer; o++)
    for (std::uint64_t i = 0; i < inner; i++)
      for (std::uint64_t b = 0; b < run; b++) {
        const std::uint64_t place =
            turned == 0 ? i * inner_stride + b : i + b % turned * inner_stride + b / turned * turned_stride;
        bytes[destination + o * outer_stride + place] = at(source + o * source_outer + i * source_inner + b);
      }
  return bytes;
}

bool Memories::moving(std::uint64_t address) const {
  for (const auto& [end, bytes] : moving_)
    if (bytes.count(address) != 0) return true;
  return false;
}

std::uint8_t Memories::at(std::uint64_t address) const {
  const auto found = bytes_.find(address);
  return found == bytes_.end() ? 0 : found->second;
}

}  // namespace bench
