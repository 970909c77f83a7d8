#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/program/plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat {

/// Reads programs written by hand (docs/isa.md): a text file of instructions as `tilebeat plan --disassemble`
/// prints them (with or without the addresses in front), and of directives:
///
///     .program core 0.1            the instructions that follow are for core 1 of cluster 0; `memory 0`: its
///     memory
///                                  core; `soc`: the system on chip's command processor
///     .data 0x10000 x.npy          the elements of a file, written to DRAM before the run
///     .bytes 0x20000 00 7f ff      bytes
///     .tensor y 0x30000 int8 1 4 4 8   a result: written to outputs/y.npy after the run
///     # text                       a comment
///
/// Relative paths start at the program file. Throws UserError that names file and line, also for a file of
/// more than kMaxProgramBytes.
struct HandPrograms {
  Plan plan;
  std::vector<std::string> files;  ///< that were read: the program file and those of .data
};
HandPrograms load_programs(const std::string& path, const HardwareConfig& hardware);

/// The largest program file that is read, in bytes.
constexpr std::int64_t kMaxProgramBytes = std::int64_t{64} << 20;

}  // namespace tilebeat
