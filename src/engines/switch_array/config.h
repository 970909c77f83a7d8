#pragma once

#include "engines/switch_array/schedule.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace tilebeat::switch_array {

/// The name of the engine under `dataflow`.
constexpr const char* kSwitchArrayDataflow = "dilated";

/// The arrangement of a map in the input banks (SPEC SW-1, SW-5).
enum class ArrangementKind : std::uint8_t { kStrideAware, kTable1 };
constexpr std::array<std::string_view, 2> kArrangementNames{"stride_aware", "table1"};

/// What post-processing uses while lanes drain (SPEC SW-9): the registers of the slot and of the setup, which
/// nobody may change until then, or copies that the last beat of an operation cycle makes with the sums.
enum class RecordsKind : std::uint8_t { kHeld, kCopied };
constexpr std::array<std::string_view, 2> kRecordsNames{"held", "copied"};

/// Sizes of the switch-array engine (SPEC section 3; document 000 figure 3).
struct SwitchArrayConfig {
  int rows = 16;          ///< R: rows of PEs = input banks = sub-switches
  int columns = 16;       ///< C: columns of PEs = kernels at a time
  int groups = 2;         ///< G: row groups; R is a multiple of G
  int port_channels = 4;  ///< P: int8 channels of a bank word and of a weight word
  ArrangementKind arrangement = ArrangementKind::kStrideAware;
  int bank_depth_words = 8192;        ///< words of P bytes of each of the two copies of a bank
  int parameter_depth_words = 16384;  ///< words of P bytes a column of the parameter buffer
  int parameter_slots = 64;           ///< kernel blocks whose biases and scales the post-processor holds
  RecordsKind records = RecordsKind::kHeld;
  std::int64_t output_buffer_bytes = 262144;  ///< both halves together
  int arrangement_queue_words = 128;          ///< words that wait in front of the write port of each bank
  int drain_clocks_per_lane = 1;              ///< cycles the post-processor takes for one lane of C results
  int adder_stages = 1;                       ///< stages of a PE's adder tree, each of equal fan-in
  int post_latency_cycles = 4;                ///< fixed latency of the post-processing path
  /// Bytes of a weight stream a cycle that the decoder of a board's parameter channel takes; 0: there is
  /// none.
  int decode_bytes_per_clock = 16;
};

/// Cycles in which the lanes of an operation cycle drain.
constexpr Cycle drain_cycles(const SwitchArrayConfig& c) {
  return Cycle{c.rows / c.groups} * c.drain_clocks_per_lane;
}

/// Cycles from the first read of a chunk to its first MAC: bank read, switch, and all stages of the adder
/// tree but the last one, which adds to the accumulator.
constexpr int fill_cycles(const SwitchArrayConfig& c) {
  return 1 + c.adder_stages;
}

/// The words that one beat of a bus can have for one bank: one for each byte where words have a byte each,
/// and one without bytes, which is finished together with the word before it.
constexpr int most_words_of_beat(int bus_bytes) {
  return bus_bytes + 1;
}

constexpr int kWeightsOfByte = 2;  ///< of a weight stream
/// Weights a cycle that the decoder of a board's parameter channel makes at most: no more than the queues
/// behind it take of any kernels.
constexpr int decoded_per_clock(const SwitchArrayConfig& c) {
  return std::min(kWeightsOfByte * c.decode_bytes_per_clock, c.arrangement_queue_words - 1);
}

/// Its sizes as the engine's schedules see them.
inline ArrayShape array_shape(const SwitchArrayConfig& c) {
  return {c.rows, c.columns, c.groups, c.port_channels};
}

}  // namespace tilebeat::switch_array
