#pragma once

// Random convolutions and random switch-array hardware for property tests, and a fixed number of cases a
// test.

#include "config/hardware_config.h"
#include "conv_workload.h"
#include "engines/switch_array/config.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace tilebeat::testing {

using switch_array::ArrangementKind;
using switch_array::RecordsKind;
using switch_array::SwitchArrayConfig;

/// Checks `property` on exactly `cases` random cases. RapidCheck prints the seed; RC_PARAMS="seed=..." runs
/// it again. With `seed` the cases are the same in every run.
template <class Property>
void check_cases(int cases, Property property, std::optional<std::uint64_t> seed = {}) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = cases;
  if (seed) params.seed = *seed;
  const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(info->test_suite_name()) + "/" + info->name();
  metadata.description = info->name();
  const auto result = rc::detail::checkTestable(property, metadata, params);
  if (result.template is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  FAIL() << text.str();
}

/// Checks `property` on `cases` random cases, and on as many again, up to nine times, until `enough` holds:
/// for tests that count how many of their cases are of a kind. Within a budget (budget.h) all numbers may be
/// smaller.
template <class Enough, class Property>
void check_cases_until(Enough enough, int cases, Property property) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds && !enough() && !::testing::Test::HasFailure(); ++round)
    check_cases(cases, property,
                rc::detail::configuration().testParams.seed + static_cast<std::uint64_t>(round));
}

/// A number from `low` to `high`, evenly, however many cases came before.
inline int number(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}
inline bool one_in(int n) {
  return number(1, n) == n;
}

/// Few large ones: a number from 1 to `high`, small ones more often.
inline int skewed(int high) {
  return number(1, number(1, high));
}

struct LayerLimits {
  std::int64_t beats = 6000;  ///< upper bound of what a layer may take, which bounds a test's time
  int kernel = 7, stride = 4, dilation = 4, pad = 4, channels = 70;
};

inline void shrink_to(const LayerLimits& limits, const SpecArray& array, ConvShape& s) {
  while (beats_of(spec_conv(s), array) > limits.beats) {
    // Cut what is largest, keeping groups and windows whole.
    const std::array<int, 2> slack{s.out_extent(0), s.out_extent(1)};
    if (s.batch > 1) {
      s.batch = 1;
    } else if (slack[0] > 4 * array.groups || slack[1] > 2 * array.lanes()) {
      const std::size_t axis = slack[0] > slack[1] ? 0 : 1;
      int& extent = axis == 0 ? s.height : s.width;
      if (extent == 1) s.kernel[axis] = 1, s.pads[axis] = s.pads[axis + 2] = 0;  // outputs of padding alone
      extent = std::max(1, extent - (slack[axis] + 1) / 2 * s.stride[axis]);
    } else if (s.channels > s.groups) {
      s.channels = std::max(1, s.channels / s.groups / 2) * s.groups;
    } else if (s.out_channels > s.groups) {
      s.out_channels = std::max(1, s.out_channels / s.groups / 2) * s.groups;
    } else {
      s.groups = s.channels = s.out_channels = std::max(1, s.groups / 2);
      s.kernel = {std::max(1, s.kernel[0] - 1), std::max(1, s.kernel[1] - 1)};
    }
  }
}

inline std::optional<Requant> random_requant(int out_channels) {
  if (one_in(3)) return std::nullopt;
  Requant requant;
  requant.dtype = one_in(2) ? DType::kInt8 : DType::kUint8;
  requant.zero_point =
      number(static_cast<int>(dtype_min(requant.dtype)), static_cast<int>(dtype_max(requant.dtype)));
  const int scales = one_in(2) ? 1 : out_channels;
  for (int i = 0; i < scales; ++i) requant.scale.push_back(number(1, 4000) * 1e-6);
  return requant;
}

/// Channels of the map, kernels and groups, up to about `most` of each; `pick(n)` takes one of 1 to n.
template <class Pick>
void random_channels(ConvShape& s, int most, Pick pick) {
  switch (number(0, 3)) {
    case 0:  // depthwise, with one or two kernels a channel
      s.groups = s.channels = pick(most);
      s.out_channels = s.groups * (2 * s.groups <= most ? number(1, 2) : 1);
      break;
    case 1:  // a few groups
      s.groups = number(2, 5);
      s.channels = s.groups * pick(most / s.groups);
      s.out_channels = s.groups * pick(most / s.groups);
      break;
    default:
      s.channels = pick(most);
      s.out_channels = pick(most);
  }
}

/// Types, zero points and values of the operands.
inline void random_operands(ConvShape& s) {
  s.input_type = one_in(2) ? DType::kInt8 : DType::kUint8;
  s.input_zero_point = one_in(3) ? 0
                                 : number(static_cast<int>(dtype_min(s.input_type)),
                                          static_cast<int>(dtype_max(s.input_type)));
  s.weight_zero_point = one_in(2) ? 0 : number(-128, 127);
  s.bias = one_in(2);
  s.seed = static_cast<std::uint64_t>(number(0, 1 << 20));
}

/// What becomes of the sums: activation and requantisation, for the output channels that the layer has by
/// now.
inline void random_post_processing(ConvShape& s) {
  const int kind = number(0, 2);
  if (kind == 1) s.activation.kind = ActivationKind::kRelu;
  if (kind == 2) {
    s.activation.kind = ActivationKind::kClamp;
    s.activation.low = number(-50000, 1000);
    s.activation.high = s.activation.low + number(0, 100000);
  }
  s.requant = random_requant(s.out_channels);
  if (!s.requant || !one_in(4)) return;
  s.activation = {};
  s.activation.kind = ActivationKind::kFunction;
  s.activation.function = static_cast<RealFunction>(number(1, 5));
  s.activation.output_scale = number(1, 400) * 0.5;
  s.activation.slope = number(-10, 10) * 0.1;
}

/// A layer that `array` computes in at most `limits.beats` beats.
inline ConvShape random_layer(const SpecArray& array, const LayerLimits& limits = {}) {
  ConvShape s;
  s.batch = one_in(4) ? 2 : 1;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    s.kernel[axis] = skewed(limits.kernel);
    s.stride[axis] = skewed(limits.stride);
    s.dilation[axis] = skewed(limits.dilation);
    s.pads[axis] = one_in(2) ? 0 : number(0, limits.pad);
    s.pads[axis + 2] = one_in(2) ? 0 : number(0, limits.pad);
    const int window = (s.kernel[axis] - 1) * s.dilation[axis] + 1;
    const int least = std::max(1, window - s.pads[axis] - s.pads[axis + 2]);
    (axis == 0 ? s.height : s.width) = least + number(0, 20);
  }
  random_channels(s, limits.channels, [](int most) { return number(1, most); });
  random_operands(s);
  shrink_to(limits, array, s);
  random_post_processing(s);
  return s;
}

inline SpecArray spec_array(const HardwareConfig& hardware) {
  const SwitchArrayConfig& c = hardware.engine<SwitchArrayConfig>();
  return {c.rows, c.columns, c.groups, c.port_channels};
}

inline Layout layout_of(const HardwareConfig& hardware) {
  return hardware.engine<SwitchArrayConfig>().arrangement == ArrangementKind::kTable1 ? Layout::kTable1
                                                                                      : Layout::kStrideAware;
}

/// The largest numbers of a random array.
struct ArrayLimits {
  int groups = 4, lanes = 8, columns = 20, port_channels = 16;
};
inline void shape_array(SwitchArrayConfig& c, const ArrayLimits& limits) {
  c.groups = number(1, limits.groups);
  c.rows = c.groups * number(1, limits.lanes);
  c.columns = number(1, limits.columns);
  c.port_channels = number(1, limits.port_channels);
}

/// An array of any shape, its memories as in the default configuration.
inline HardwareConfig random_array_shape() {
  HardwareConfig hardware;
  SwitchArrayConfig& c = hardware.engine<SwitchArrayConfig>();
  shape_array(c, {});
  c.arrangement = one_in(2) ? ArrangementKind::kTable1 : ArrangementKind::kStrideAware;
  c.adder_stages = one_in(3) ? number(1, 5) : 1;
  c.records = one_in(2) ? RecordsKind::kCopied : RecordsKind::kHeld;
  return hardware;
}

/// The shortest queue in front of a bank that takes any beat of a bus: a word of each byte, and one without.
inline int least_queue_words(int bytes_per_clock) {
  return bytes_per_clock + 1;
}

/// An output buffer that holds little more than the results of one operation cycle.
inline void tighten_output_buffer(SwitchArrayConfig& c) {
  c.output_buffer_bytes = 2 * (std::int64_t{4} * c.rows * c.columns + number(0, 4000));
}

/// Buffers so small that most layers need tiles, several loads of their kernels or channels in pieces.
inline void tighten_buffers(HardwareConfig& hardware) {
  SwitchArrayConfig& c = hardware.engine<SwitchArrayConfig>();
  c.bank_depth_words = number(16, 400);
  c.parameter_depth_words = number(50, 600);
  c.parameter_slots = number(1, 6);
  tighten_output_buffer(c);
  c.arrangement_queue_words =
      least_queue_words(hardware.interconnect.bytes_per_clock) + one_in(2) * number(0, 30);
  hardware.planner.loop_order = static_cast<LoopOrder>(number(0, 2));
  if (one_in(3)) hardware.planner.max_tile_rows = number(1, 9);
  if (one_in(3)) hardware.planner.max_tile_columns = number(1, 20);
}

/// Any preset, at times with another data rate or division of addresses.
inline DramConfig random_dram_config() {
  DramConfig dram = dram_preset(static_cast<DramPreset>(number(0, to_int(kDramPresetNames.size()) - 1)));
  if (one_in(4)) dram.transfers_per_clock = 1 << number(0, 3);
  if (one_in(4))
    dram.mapping = static_cast<AddressMapping>(number(0, to_int(kAddressMappingNames.size()) - 1));
  return dram;
}

/// A decoder of weights of four bits of any speed in front of the parameter buffer.
inline void vary_decoder(HardwareConfig& hardware) {
  hardware.engine<SwitchArrayConfig>().decode_bytes_per_clock = number(1, 40);
}

/// Another memory system: DRAM preset, bursts, buses, cycles.
inline void vary_memory(HardwareConfig& hardware) {
  hardware.clock_mhz = number(1, 20) * 100;
  hardware.dram = random_dram_config();
  hardware.interconnect.bytes_per_clock = 1 << number(2, 6);
  hardware.interconnect.request_cycles = number(1, 5);
  hardware.interconnect.response_cycles = number(1, 5);
  hardware.interconnect.max_outstanding = number(1, 16);
  hardware.dma.burst_bytes = hardware.interconnect.bytes_per_clock << number(0, 3);
  hardware.dma.buffer_bytes = hardware.dma.burst_bytes * number(1, 4) + number(0, 50);
  hardware.dma.max_outstanding = number(1, 8);
  hardware.dma.command_queue = number(1, 8);
  hardware.host.instruction_buffer_bytes = 64 * number(1, 16);
  SwitchArrayConfig& c = hardware.engine<SwitchArrayConfig>();
  c.arrangement_queue_words =
      std::max(c.arrangement_queue_words, least_queue_words(hardware.interconnect.bytes_per_clock));
  c.drain_clocks_per_lane = one_in(6) ? number(1, 200) : number(1, 3);
  c.post_latency_cycles = number(0, 8);
}

}  // namespace tilebeat::testing
