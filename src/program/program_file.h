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

/// Reads programs written by hand (docs/isa.md): a text file as `tilebeat plan --disassemble` prints it, of
/// instructions (with or without the addresses in front), and of directives:
///
///     .program core 0.1            the instructions that follow are for core 1 of cluster 0; `memory 0`: its
///     memory
///                                  core; `soc`: the system on chip's command processor; `at 0x8000` and
///                                  `scene b` may follow: its place in DRAM, else behind everything else; its
///                                  scene, of which a processor has one program each, else `main`
///     .data 0x10000 x.npy          the elements of a file, written to DRAM before the run
///     .bytes 0x20000 00 7f ff      bytes
///     .int32 0x20000 -1 0x7f       numbers of 4 bytes, little-endian, put there like .data
///     .double 0x20000 0.5 1e-3     numbers of 8 bytes
///     .label rows 0x20000          a name for a number or for a semaphore; behind it `@rows`, or `@rows+64`,
///                                  may stand in place of a number or semaphore
///     .tensor y 0x30000 int8 1 4 4 8   a result: written to outputs/y.npy after the run; `nchw`, `cnhw` or
///                                  `nchwc:BLOCK` may follow: the order in which it is stored, else C order;
///                                  or `apart:PARTS:BYTES`: C order in equal parts, which begin so many
///                                  bytes apart
///     .expect y e.npy              the run fails unless the result y has these elements
///     # text                       a comment
///
/// Relative paths start at the program file. Throws UserError that names file and line, also for a file of
/// more than kMaxProgramBytes.
struct HandPrograms {
  /// What `.expect` says of a result.
  struct Expected {
    std::string file;
    Tensor elements;
  };
  Plan plan;
  std::vector<std::string> files;                 ///< files read: the program file and those that it names
  std::map<std::string, Expected> expected = {};  ///< by result
};
HandPrograms load_programs(const std::string& path, const HardwareConfig& hardware);

/// The programs of a plan as the text of a program file, every instruction behind its address; `.data` names
/// files that begin with `stem`, or stands in comments, where nobody writes these files.
enum class DataLines : std::uint8_t { kDirectives, kComments };
std::string listing_text(const Plan& plan, const HardwareConfig& hardware, const std::string& stem,
                         DataLines data);

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
