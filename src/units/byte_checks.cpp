#include "units/byte_checks.h"

#include "base/types.h"
#include "isa/address_map.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// The part of what an instruction accesses that lies in a buffer, or in the address map for the name "".
const AccessedBytes* part_of(const Footprint& footprint, const std::string& buffer) {
  if (buffer.empty()) return &footprint.chip;
  const auto found = footprint.buffers.find(buffer);
  return found == footprint.buffers.end() ? nullptr : &found->second;
}

// Calls `use` with the name and the accesses of every part.
template <class Use>
void for_each_part(const Footprint& footprint, Use use) {
  use(std::string(), footprint.chip);
  for (const auto& [name, accesses] : footprint.buffers) use(name, accesses);
}

}  // namespace

void add(const StridedBlock& block, ByteSet& bytes) {
  const StridedBlock merged = block.merged();
  if (merged.total_bytes() == 0 || merged.inner_count * merged.outer_count > kMostRuns) return;
  for (std::int64_t i = 0; i < merged.outer_count; ++i) {
    bytes.add(BytePattern{merged.address + to_unsigned(i * merged.outer_stride),
                          to_unsigned(merged.run_bytes), to_unsigned(merged.inner_stride),
                          to_unsigned(merged.inner_count)});
  }
}

void add(const BytePattern& pattern, ByteSet& bytes) {
  if (pattern.count <= to_unsigned(kMostRuns)) bytes.add(pattern);
}

ByteSet& ByteChecks::written(int processor, const std::string& buffer) {
  return buffer.empty() ? chip_ : buffers_[{processor, buffer}];
}

ByteChecks::UnderWay* ByteChecks::find(int processor, std::uint64_t instruction) {
  for (UnderWay& other : under_way_) {
    if (other.processor == processor && other.instruction.address == instruction && !other.done)
      return &other;
  }
  return nullptr;
}

// Writes to multicast addresses reach a memory of each chosen core of the processor's cluster.
void ByteChecks::spread(int processor, ByteSet& writes) const {
  if (!chip_config_) return;
  const int cores = chip_config_->cores_per_cluster, cluster = processor / (cores + 1);
  ByteSet made;
  for (const auto& [begin, end] : writes.ranges()) {
    if (begin < kMulticast) {
      made.add(begin, end);
      continue;
    }
    const std::uint64_t offset = begin & kMulticastOffsetMask, bytes = end - begin;
    for (int core = 0; core < cores; ++core) {
      if ((begin >> (kMulticastCoresShift + core) & 1) == 0) continue;
      const int number = cluster * cores + core;
      const std::uint64_t memory =
          (begin & kMulticastWram) != 0 ? wram_address(number) : nram_address(number);
      made.add(memory + offset, memory + offset + bytes);
    }
  }
  writes = std::move(made);
}

void ByteChecks::begin(int processor, const Instruction& instruction, Footprint footprint, Cycle now) {
  spread(processor, footprint.chip.writes);
  const auto over = [now](const UnderWay& other) { return other.done && *other.done < now; };
  under_way_.erase(std::remove_if(under_way_.begin(), under_way_.end(), over), under_way_.end());
  const UnderWay begun{processor, instruction, std::move(footprint), {}, {}};
  check_races(begun, now);
  if (uninitialised_ == UninitialisedReads::kRefused) check_written(begun);
  under_way_.push_back(begun);
}

// What another processor ended in this very cycle is still under way, as its end may be processed before or
// after this.
void ByteChecks::check_races(const UnderWay& begun, Cycle now) {
  for (const UnderWay& other : under_way_) {
    const auto over = [&](const std::optional<Cycle>& at) {
      return at && (other.processor == begun.processor || *at < now);
    };
    // A unit reads the operands of its instructions in their order, before it writes later results.
    const bool same_unit =
        other.processor == begun.processor && unit_of(other.instruction) == unit_of(begun.instruction);
    for_each_part(begun.footprint, [&](const std::string& buffer, const AccessedBytes& accesses) {
      if (!buffer.empty() && other.processor != begun.processor) return;
      const AccessedBytes* const its = part_of(other.footprint, buffer);
      if (its == nullptr) return;
      if (!over(other.done)) {
        if (const auto range = accesses.reads.common_with(its->writes))
          refuse(begun, buffer, "reads", *range, "which " + name_of(other) + " has not written yet");
      }
      if (!over(other.released) && !same_unit) {
        if (const auto range = accesses.writes.common_with(its->reads))
          refuse(begun, buffer, "writes", *range, "which " + name_of(other) + " still reads");
      }
    });
  }
}

void ByteChecks::check_written(const UnderWay& begun) {
  for_each_part(begun.footprint, [&](const std::string& buffer, const AccessedBytes& accesses) {
    if (const auto range = accesses.reads.missing_in(written(begun.processor, buffer)))
      refuse(begun, buffer, "reads", *range, "which nobody has written; --uninitialised allow permits that");
  });
}

void ByteChecks::released(int processor, std::uint64_t instruction, Cycle now) {
  if (UnderWay* const other = find(processor, instruction); other != nullptr) other->released = now;
}

void ByteChecks::done(int processor, std::uint64_t instruction, Cycle now) {
  UnderWay* const other = find(processor, instruction);
  if (other == nullptr) return;
  for_each_part(other->footprint, [&](const std::string& buffer, const AccessedBytes& accesses) {
    if (!accesses.writes.empty()) written(processor, buffer).add(accesses.writes);
  });
  other->done = now;
  if (!other->released) other->released = now;
}

void ByteChecks::refuse(const UnderWay& begun, const std::string& buffer, const char* verb,
                        ByteSet::Range range, const std::string& why) {
  fault_ = Fault{
      begun.processor, begun.instruction.address,
      fmt::format("{} of the {} unit of {} {} {}, {}", summary(begun.instruction),
                  nth(kUnitNames, unit_of(begun.instruction)), processor_name(chip_config_, begun.processor),
                  verb, place(begun.processor, buffer, range), why)};
  throw SimulationError(fault_->text);
}

std::string ByteChecks::name_of(const UnderWay& other) const {
  return fmt::format("{} at {:#x} of {}", summary(other.instruction), other.instruction.address,
                     processor_name(chip_config_, other.processor));
}

// Memories lie in separate parts of the address map: a range is within one.
std::string ByteChecks::place(int processor, const std::string& buffer, ByteSet::Range range) const {
  const auto bytes = [range](std::uint64_t base, const char* unit) {
    return fmt::format("{} {:#x} to {:#x}", unit, range.begin - base, range.end - 1 - base);
  };
  if (!buffer.empty())
    return fmt::format("{} of {}, {}", buffer, processor_name(chip_config_, processor), bytes(0, "places"));
  if (range.begin < kDramEnd) return "DRAM, " + bytes(0, "bytes");
  const auto core = [&](std::uint64_t first) {
    const int number = to_int((range.begin - first) >> 30), cores = chip_config_->cores_per_cluster;
    return processor_name(chip_config_, number / cores * (cores + 1) + number % cores);
  };
  if (range.begin < nram_address(0)) {
    const int cluster = to_int((range.begin - sram_address(0)) >> 34);
    return fmt::format("SRAM of cluster{}, {}", cluster, bytes(sram_address(cluster), "bytes"));
  }
  const bool nram = range.begin < wram_address(0);
  const std::uint64_t first = nram ? nram_address(0) : wram_address(0);
  const std::uint64_t base = range.begin & ~kMulticastOffsetMask;
  return fmt::format("{} of {}, {}", nram ? "NRAM" : "WRAM", core(first), bytes(base, "bytes"));
}

}  // namespace tilebeat
