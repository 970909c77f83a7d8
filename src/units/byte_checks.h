#pragma once

#include "base/byte_set.h"
#include "config/hardware_config.h"
#include "fabric/strided_block.h"
#include "isa/instruction.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// What an instruction reads and writes of a memory.
struct AccessedBytes {
  ByteSet reads, writes;
};

/// What an instruction reads and writes: bytes by their addresses in the chip's address map, and what it uses
/// of buffers inside its engine.
struct Footprint {
  AccessedBytes chip;
  /// By the buffer's name in messages: "the parameter buffer". Counted in the words or bytes of the buffer.
  std::map<std::string, AccessedBytes> buffers;

  bool empty() const { return chip.reads.empty() && chip.writes.empty() && buffers.empty(); }
};

/// The most runs of bytes of one instruction that are told apart; accesses of more runs are not checked.
constexpr std::int64_t kMostRuns = std::int64_t{1} << 22;
/// Adds the bytes of a strided block or of a pattern.
void add(const StridedBlock& block, ByteSet& bytes);
void add(const BytePattern& pattern, ByteSet& bytes);

/// Whether programs may read bytes that nobody wrote; they are zero.
enum class UninitialisedReads : std::uint8_t { kRefused, kAllowed };

/// Finds the reads of programs by hand whose result is an accident (SPEC HI-2): of bytes that an instruction
/// under way will write, of bytes that an instruction under way reads while another one overwrites them, and
/// of bytes that nobody wrote. An instruction is under way from when its unit takes it (for a matrix engine:
/// begins it) until the command processor retires it or, as a reader, until it is released: whoever has
/// waited for its semaphore comes later. The checks depend on neither the granularity nor the order of
/// processes in a cycle.
class ByteChecks {
 public:
  /// The first read that was refused.
  struct Fault {
    int processor = 0;
    std::uint64_t instruction = 0;  ///< its address
    std::string text;               ///< names unit, memory, range of addresses and the other side
  };

  /// `chip`: none for a board.
  ByteChecks(const std::optional<ChipConfig>& chip, UninitialisedReads uninitialised)
      : chip_config_(chip), uninitialised_(uninitialised) {}

  /// The host wrote [begin, end) of DRAM before the run, or promises that they may be read.
  void wrote(std::uint64_t begin, std::uint64_t end) { chip_.add(begin, end); }
  /// An instruction of a processor accesses the bytes of `footprint` from cycle `now` on. Throws
  /// SimulationError with the text of the fault for a read that is refused.
  void begin(int processor, const Instruction& instruction, Footprint footprint, Cycle now);
  /// It no longer reads: from cycle `now` on its operands may be overwritten. Instructions that have not
  /// begun are ignored.
  void released(int processor, std::uint64_t instruction, Cycle now);
  /// Its results are complete.
  void done(int processor, std::uint64_t instruction, Cycle now);

  const std::optional<Fault>& fault() const { return fault_; }

 private:
  struct UnderWay {
    int processor;
    Instruction instruction;
    Footprint footprint;
    std::optional<Cycle> released, done;
  };
  UnderWay* find(int processor, std::uint64_t instruction);
  void spread(int processor, ByteSet& writes) const;
  void check_races(const UnderWay& begun, Cycle now);
  void check_written(const UnderWay& begun);
  ByteSet& written(int processor, const std::string& buffer);
  [[noreturn]] void refuse(const UnderWay& begun, const std::string& buffer, const char* verb,
                           ByteSet::Range range, const std::string& why);
  std::string place(int processor, const std::string& buffer, ByteSet::Range range) const;
  std::string name_of(const UnderWay& other) const;

  std::optional<ChipConfig> chip_config_;
  UninitialisedReads uninitialised_;
  ByteSet chip_;                                            // written, by address
  std::map<std::pair<int, std::string>, ByteSet> buffers_;  // written, by processor and buffer
  std::vector<UnderWay> under_way_;                         // oldest first
  std::optional<Fault> fault_;
};

/// The checks as the modules of one processor use them (SimContext::bytes).
class ProcessorBytes {
 public:
  ProcessorBytes(ByteChecks& checks, int processor) : checks_(checks), processor_(processor) {}
  void begin(const Instruction& instruction, Footprint footprint, Cycle now) {
    checks_.begin(processor_, instruction, std::move(footprint), now);
  }
  void released(std::uint64_t instruction, Cycle now) { checks_.released(processor_, instruction, now); }
  void done(std::uint64_t instruction, Cycle now) { checks_.done(processor_, instruction, now); }

 private:
  ByteChecks& checks_;
  int processor_;
};

}  // namespace tilebeat
