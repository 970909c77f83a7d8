#include "regions.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

constexpr std::uint64_t kWram = 1ULL << 43;

std::uint64_t field(const std::string& text, const std::string& name, std::uint64_t otherwise) {
  const std::size_t at = text.find(" " + name + "=");
  return at == std::string::npos ? otherwise : std::stoull(text.substr(at + name.size() + 2), nullptr, 0);
}

}  // namespace

Regions::Regions(const std::string& folder, const std::vector<Instruction>& program, std::uint64_t bytes)
    : bytes_(bytes), wram_(GEOMETRY_NS * bytes) {
  std::ifstream file(folder + "/dram.before.hex");
  if (!file) throw std::runtime_error("cannot read " + folder + "/dram.before.hex");
  std::uint64_t at = 0;
  for (std::string word; file >> word;) {
    if (word[0] == '@')
      at = std::stoull(word.substr(1), nullptr, 16);
    else
      dram_[at++] = static_cast<std::uint8_t>(std::stoul(word, nullptr, 16));
  }
  for (const Instruction& instruction : program)
    if (instruction.text.compare(0, 10, "iodma.copy") == 0 && instruction.end >= 0)
      copies_.emplace(instruction.end, instruction.text);
}

void Regions::advance(std::uint64_t clock) {
  while (!copies_.empty() && copies_.begin()->first <= clock) {
    copy(copies_.begin()->second);
    copies_.erase(copies_.begin());
  }
}

void Regions::copy(const std::string& text) {
  const std::uint64_t source = field(text, "source", 0), destination = field(text, "destination", 0);
  if (destination < kWram || destination - kWram >= wram_.size()) return;
  const std::uint64_t run = field(text, "run_bytes", 1), inner = field(text, "inner_count", 1),
                      outer = field(text, "outer_count", 1);
  for (std::uint64_t o = 0; o < outer; o++)
    for (std::uint64_t i = 0; i < inner; i++)
      for (std::uint64_t b = 0; b < run; b++) {
        const auto from = dram_.find(source + o * field(text, "source_outer_stride", 0) +
                                     i * field(text, "source_inner_stride", 0) + b);
        wram_.at(destination - kWram + o * field(text, "destination_outer_stride", 0) +
                 i * field(text, "destination_inner_stride", 0) + b) = from == dram_.end() ? 0 : from->second;
      }
}

std::uint8_t Regions::at(int slave, std::uint64_t byte) const {
  return byte < bytes_ ? wram_[slave * bytes_ + byte] : 0;
}

}  // namespace bench
