#include "memories.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

std::uint64_t field(const std::string& text, const std::string& name, std::uint64_t otherwise) {
  const std::size_t at = text.find(" " + name + "=");
  return at == std::string::npos ? otherwise : std::stoull(text.substr(at + name.size() + 2), nullptr, 0);
}

}  // namespace

Memories::Memories(const std::string& folder, const std::vector<Instruction>& program) {
  std::ifstream file(folder + "/dram.before.hex");
  if (!file) throw std::runtime_error("cannot read " + folder + "/dram.before.hex");
  std::uint64_t at = 0;
  for (std::string word; file >> word;) {
    if (word[0] == '@')
      at = std::stoull(word.substr(1), nullptr, 16);
    else
      bytes_[at++] = static_cast<std::uint8_t>(std::stoul(word, nullptr, 16));
  }
  for (const Instruction& instruction : program) {
    if (instruction.text.compare(0, 10, "iodma.copy") != 0 || instruction.end < 0) continue;
    // A store begins when its source is complete, which may be overwritten before the store is.
    const auto begin = static_cast<std::uint64_t>(instruction.begin);
    const bool stores = field(instruction.text, "source", 0) >= kNram;
    copies_.emplace(stores ? begin : instruction.end, Copy{begin, instruction.text});
  }
}

void Memories::advance(std::uint64_t clock) {
  clock_ = clock;
  while (!copies_.empty() && copies_.begin()->first <= clock) {
    copy(copies_.begin()->second.text);
    copies_.erase(copies_.begin());
  }
}

void Memories::copy(const std::string& text) {
  const std::uint64_t source = field(text, "source", 0), destination = field(text, "destination", 0);
  const std::uint64_t run = field(text, "run_bytes", 1), inner = field(text, "inner_count", 1),
                      outer = field(text, "outer_count", 1),
                      inner_stride = field(text, "destination_inner_stride", 0),
                      turned = field(text, "transposed_columns", 0);
  for (std::uint64_t o = 0; o < outer; o++)
    for (std::uint64_t i = 0; i < inner; i++)
      for (std::uint64_t b = 0; b < run; b++) {
        const std::uint64_t from = source + o * field(text, "source_outer_stride", 0) +
                                   i * field(text, "source_inner_stride", 0) + b;
        const std::uint64_t place =
            turned == 0 ? i * inner_stride + b
                        : i + b % turned * inner_stride + b / turned * field(text, "transposed_stride", 0);
        bytes_[destination + o * field(text, "destination_outer_stride", 0) + place] = at(from);
      }
}

bool Memories::moving(std::uint64_t address) const {
  for (const auto& [end, copy] : copies_) {
    if (copy.begin > clock_) continue;
    const std::uint64_t first = field(copy.text, "destination", 0);
    const std::uint64_t last =
        first + (field(copy.text, "outer_count", 1) - 1) * field(copy.text, "destination_outer_stride", 0) +
        (field(copy.text, "inner_count", 1) - 1) * field(copy.text, "destination_inner_stride", 0) +
        field(copy.text, "run_bytes", 1) *
            std::max<std::uint64_t>(1, field(copy.text, "transposed_stride", 1));
    if (address >= first && address < last) return true;
  }
  return false;
}

std::uint8_t Memories::at(std::uint64_t address) const {
  const auto found = bytes_.find(address);
  return found == bytes_.end() ? 0 : found->second;
}

}  // namespace bench
