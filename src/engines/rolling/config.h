#pragma once

#include "base/types.h"
#include "engines/rolling/schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilebeat::rolling {

/// The name of the engine under `dataflow`.
constexpr const char* kDataflow = "rolling";

/// The variant that the hardware file asks for: the one with the fewest cycles for each layer (`kAuto`), or a
/// fixed one, made by `forced`.
enum class VariantChoice : std::uint8_t { kAuto };
constexpr VariantChoice forced(Variant v) {
  return static_cast<VariantChoice>(to_int(v) + 1);
}
constexpr std::optional<Variant> forced_variant(VariantChoice choice) {
  if (choice == VariantChoice::kAuto) return std::nullopt;
  return static_cast<Variant>(to_int(choice) - 1);
}
/// The names of the choices, in the order of their values.
constexpr auto kVariantChoiceNames = [] {
  std::array<std::string_view, kVariantNames.size() + 1> names{"auto"};
  for (std::size_t i = 0; i < kVariantNames.size(); ++i) names[i + 1] = kVariantNames[i];
  return names;
}();

/// The scheme for operands larger than the array; `kAuto`: the one with the fewest cycles for each layer.
enum class BlockingChoice : std::uint8_t { kAuto, kPlain, kGroupRolling, kWholeRolling };
constexpr std::array<std::string_view, 4> kBlockingChoiceNames{"auto", "plain", "group_rolling",
                                                               "whole_rolling"};

/// The stationary data: one operand while the other one rolls, or the outputs of a plain array to which both
/// operands are streamed.
enum class Stationary : std::uint8_t { kRolling, kOutput };
constexpr std::array<std::string_view, 2> kStationaryNames{"rolling", "output"};

/// The way of kernels into lines (document 002 [0052]): they lie transposed in DRAM already; each column of B
/// is loaded into a row of the array; or they come as B is, and are transposed in WRAM before they are used.
enum class TranspositionChoice : std::uint8_t { kInMemory, kWhileLoading, kStep };
constexpr std::array<std::string_view, 3> kTranspositionChoiceNames{"in_memory", "while_loading", "step"};

/// The register groups that a round gets (document 002 [0031]): the same ones as the round `groups` div
/// (stacked blocks x cuts) before it; or those that the loader assigns, the next ones that it needs.
enum class RegisterGroups : std::uint8_t { kFixed, kAssigned };
constexpr std::array<std::string_view, 2> kRegisterGroupsNames{"fixed", "assigned"};

/// Sizes of the rolling-register unit (SPEC RO-6) and its modes.
struct RollingConfig {
  int rows = 16, columns = 16;          ///< PEs
  int groups = 4;                       ///< registers per PE for each operand
  int multipliers = 1;                  ///< of a PE
  int start_row = 0, start_column = 0;  ///< the PE where matrices begin
  int port_bytes = 16;                  ///< bytes a cycle of the operands' ports
  int request_bytes = 256;              ///< bytes of the longest request for operands
  int line_queue = 64;                  ///< most lines of an operand requested ahead of the registers
  int result_blocks = 1;                ///< output blocks in each half of the result buffer
  int drain_bytes = 16;                 ///< bytes of sums that leave the result buffer a cycle
  int record_slots = 0;                 ///< columns of output blocks whose records are held; 0: groups + 2
  int write_queue = 16;                 ///< most write requests for results that wait
  int post_latency_cycles = 4;          ///< of the post-processing path
  VariantChoice variant = VariantChoice::kAuto;
  BlockingChoice blocking = BlockingChoice::kAuto;
  int stacked_blocks = 0;  ///< blocks of lines that are stacked; 0: chosen
  int stacked_cuts = 0;    ///< cuts of n that are stacked; 0: chosen
  Realignment realign = Realignment::kRolling;
  Wrap wrap = Wrap::kRegister;
  SpareLines spare_lines = SpareLines::kPerRing;
  RegisterGroups registers = RegisterGroups::kFixed;
  TranspositionChoice transposition = TranspositionChoice::kInMemory;
  Stationary stationary = Stationary::kRolling;
};

/// Whether the hardware file asks for a scheme that stacks several blocks of lines.
inline bool stacks_blocks(const RollingConfig& c) {
  return c.blocking == BlockingChoice::kGroupRolling || c.blocking == BlockingChoice::kWholeRolling;
}

/// Columns of output blocks whose records of bias and scale are held (SPEC RO-7): by default those of all
/// rounds in register groups and of the sums in both halves of the result buffer.
inline int record_slots_of(const RollingConfig& c) {
  return c.record_slots > 0 ? c.record_slots : c.groups + 2;
}

/// The most multiply-accumulates in a cycle.
std::int64_t peak_macs_per_clock(const RollingConfig& c);

/// Its sizes as the engine's schedules see them.
inline Shape shape_of(const RollingConfig& c) {
  return {c.rows, c.columns, c.groups, c.start_row, c.start_column, c.spare_lines, c.multipliers};
}

}  // namespace tilebeat::rolling
