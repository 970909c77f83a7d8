#pragma once

#include "tilebeat/engines/rolling/schedule.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat::rolling {

/// The name of the engine under `dataflow`.
constexpr const char* kDataflow = "rolling";

/// A variant, or the one that takes the fewest clocks, a layer.
enum class VariantChoice : std::uint8_t {
  kAuto,
  kRightBUp,
  kRightBDown,
  kRightAUp,
  kRightADown,
  kLeftALeft,
  kLeftARight,
  kLeftBLeft,
  kLeftBRight
};
constexpr std::array<std::string_view, 9> kVariantChoiceNames{"auto",         "right_b_up",   "right_b_down",
                                                              "right_a_up",   "right_a_down", "left_a_left",
                                                              "left_a_right", "left_b_left",  "left_b_right"};

/// How operands larger than the array are stored, or what takes the fewest clocks, a layer.
enum class BlockingChoice : std::uint8_t { kAuto, kPlain, kGroupRolling, kWholeRolling };
constexpr std::array<std::string_view, 4> kBlockingChoiceNames{"auto", "plain", "group_rolling",
                                                               "whole_rolling"};

/// What stays where it is: one operand while the other one rolls, or the outputs of a plain array to which
/// both operands are streamed.
enum class Stationary : std::uint8_t { kRolling, kOutput };
constexpr std::array<std::string_view, 2> kStationaryNames{"rolling", "output"};

/// Sizes of the rolling-register unit (SPEC RO-6), and how it is used.
struct RollingConfig {
  int rows = 16, columns = 16;          ///< PEs
  int groups = 4;                       ///< registers of each operand a PE
  int start_row = 0, start_column = 0;  ///< the PE where matrices begin
  int port_bytes = 16;                  ///< of the operands' ports, a clock
  int request_bytes = 256;              ///< of the longest request for operands
  int line_queue = 64;                  ///< lines of an operand that are requested ahead of the registers
  int result_blocks = 4;                ///< output blocks of one half of the result buffer
  int drain_bytes = 16;                 ///< of sums that leave the result buffer a clock
  int write_queue = 16;                 ///< requests to write results that wait
  int post_latency_cycles = 4;          ///< of the post-processing path
  VariantChoice variant = VariantChoice::kAuto;
  BlockingChoice blocking = BlockingChoice::kAuto;
  int stacked_cuts = 0;  ///< cuts of n that are stacked; 0: chosen
  Realignment realign = Realignment::kRolling;
  Wrap wrap = Wrap::kRegister;
  Transposition transposition = Transposition::kInMemory;
  Stationary stationary = Stationary::kRolling;
};

/// Its sizes as the engine's schedules see them.
inline Shape shape_of(const RollingConfig& c) {
  return {c.rows, c.columns, c.groups, c.start_row, c.start_column};
}

}  // namespace tilebeat::rolling
