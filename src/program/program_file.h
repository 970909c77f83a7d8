#pragma once

#include "config/hardware_config.h"
#include "program/plan.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// Reads programs written by hand (docs/isa.md): a text file of instructions as `tilebeat plan --disassemble`
/// prints them (with or without the addresses in front), and of directives:
///
///     .program core 0.1            the instructions that follow are for core 1 of cluster 0; `memory 0`: its
///     memory
///                                  core; `soc`: the system on chip's command processor; `at 0x8000` and
///                                  `scene b` may follow: its place in DRAM, else behind everything else; its
///                                  scene, of which a processor has one program each, else `main`
///     .data 0x10000 x.npy          the elements of a file, written to DRAM before the run
///     .bytes 0x20000 00 7f ff      bytes
///     .tensor y 0x30000 int8 1 4 4 8   a result: written to outputs/y.npy after the run; `nchw`, `cnhw` or
///                                  `nchwc:BLOCK` may follow: the order in which it is stored, else C order
///     # text                       a comment
///
/// Relative paths start at the program file. Throws UserError that names file and line, also for a file of
/// more than kMaxProgramBytes.
struct HandPrograms {
  Plan plan;
  std::vector<std::string> files;  ///< files read: the program file and those of .data
};
HandPrograms load_programs(const std::string& path, const HardwareConfig& hardware);

/// What `load_programs` makes the same programs, memory and results of as `plan` has: the text of a program
/// file, and the .npy files that it names, which begin with `stem`, by their names.
/// Throws UserError where the text would be larger than one that is read.
struct ExportedPrograms {
  std::string text;
  std::vector<std::pair<std::string, std::string>> files;
};
ExportedPrograms export_programs(const Plan& plan, const HardwareConfig& hardware, const std::string& stem);

/// The largest program file that is read, in bytes.
constexpr std::int64_t kMaxProgramBytes = std::int64_t{64} << 20;

/// The places of the instructions of a plan's programs in its layers.
class ProgramIndex {
 public:
  /// An instruction as a part of its layer.
  struct Place {
    std::uint32_t layer = 0;  ///< its number: an index of `layers()`
    /// Number of earlier instructions of the same operation in the layer and this processor's program.
    int number = 0;
  };

  explicit ProgramIndex(const Plan& plan);

  /// The place of the instruction at an address; none: no program has one there, or no layer ends after it.
  std::optional<Place> find(std::uint64_t address) const;
  const std::vector<std::string>& layers() const { return layers_; }

 private:
  std::vector<std::string> layers_;
  std::map<std::uint64_t, std::vector<Place>> programs_;  // by the address of their first instruction
};

}  // namespace tilebeat
