#include "tilebeat/base/error.h"
#include "tilebeat/engines/switch_array/config.h"

#include <algorithm>

#include <fmt/format.h>

#include "conv_plan.h"

namespace tilebeat {
namespace {

class Lowering {
 public:
  Lowering(const std::vector<Segment>& segments, const HardwareConfig& hardware, const ConvTiling& tiling,
           const PackedKernels& kernels)
      : p_(segments.front().problem),
        segments_(segments),
        hardware_(hardware),
        array_(array_shape(hardware.engine<SwitchArrayConfig>())),
        tiling_(tiling),
        kernels_(kernels),
        chunks_(chunks_of(segments, hardware, tiling)) {
    for (const Segment& segment : segments)
      slot_words_ = std::max(slot_words_, slot_words(segment.problem, hardware, tiling));
  }

  std::vector<std::vector<Instruction>> emit() {
    std::vector<std::vector<Instruction>> programs(segments_.size());
    programs.front().push_back({{}, {}, {}, conv_setup(p_)});
    // Loads are placed as early as their buffer allows, those needed first in front.
    std::vector<std::vector<Instruction>> before(chunks_.size());
    find_token_owners();
    for (const Chunk& chunk : chunks_) {
      if (chunk.loads_input)
        before[static_cast<std::size_t>(chunk.load_input_before)].push_back(load_input(chunk));
      if (chunk.loads_kernels)
        before[static_cast<std::size_t>(chunk.load_kernels_before)].push_back(load_kernels(chunk));
    }
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      std::vector<Instruction>& program = programs[static_cast<std::size_t>(chunks_[i].segment)];
      program.insert(program.end(), before[i].begin(), before[i].end());
      program.push_back(run(chunks_[i]));
      if (chunks_[i].ends_store) program.push_back(store(chunks_[i]));
    }
    return programs;
  }

 private:
  // The chunks whose loads and stores are the first and the last of their map, kernels and results.
  void find_token_owners() {
    for (const Chunk& chunk : chunks_) {
      const Segment& s = segment_of(chunk);
      if (chunk.loads_input) {
        map_use_.try_emplace(s.map_load, &chunk, &chunk).first->second.second = &chunk;
      }
      if (chunk.loads_kernels)
        kernel_use_.try_emplace(s.kernel_load, &chunk, &chunk).first->second.second = &chunk;
      if (chunk.ends_store)
        store_use_.try_emplace(chunk.segment, &chunk, &chunk).first->second.second = &chunk;
      // The last segment that finds a map or kernels there says how they are given back.
      map_free_[s.map_load] = std::max(map_free_[s.map_load], s.tokens.map_free);
      kernels_free_[s.kernel_load] = std::max(kernels_free_[s.kernel_load], s.tokens.kernels_free);
    }
  }
  const Segment& segment_of(const Chunk& chunk) const {
    return segments_[static_cast<std::size_t>(chunk.segment)];
  }
  const Tile& tile_of(const Chunk& chunk) const {
    return segment_of(chunk).tiles[static_cast<std::size_t>(chunk.tile)];
  }

  Instruction load_input(const Chunk& chunk) const {
    const Segment& s = segment_of(chunk);
    const Tile& t = tile_of(chunk);
    const ChannelRange channels = loaded_channels(p_, array_.port_channels, tiling_.channels_resident, chunk);
    LoadInput load;
    load.copy = static_cast<std::uint8_t>(chunk.copy);
    load.address = s.input.at(t.image, t.in_row, t.in_column) + static_cast<std::uint64_t>(channels.begin);
    load.row_stride = static_cast<std::uint32_t>(s.input.row_stride);
    load.pixel_stride = static_cast<std::uint32_t>(s.input.pixel_stride);
    load.height = narrow(t.height, "tile height"), load.width = narrow(t.width, "tile width");
    load.channels = narrow(channels.count, "channels");
    load.stride_h = narrow(p_.conv.stride[0], "stride"), load.stride_w = narrow(p_.conv.stride[1], "stride");
    load.fill = static_cast<std::uint8_t>(p_.input.zero_point);
    Instruction instruction{
        {chunk.waits_input ? input_free(chunk.copy) : Semaphore{0}}, {}, {input_full(chunk.copy)}, load};
    const auto& [first, last] = map_use_.at(s.map_load);
    if (first == &chunk) instruction.waits[1] = s.tokens.map_full;
    if (last == &chunk) instruction.done_signals[1] = map_free_.at(s.map_load);
    return instruction;
  }

  Instruction load_kernels(const Chunk& chunk) const {
    const Segment& s = segment_of(chunk);
    const auto block = static_cast<std::size_t>(s.problem.first_block);
    LoadKernels load;
    load.address =
        s.kernels + kernels_.offsets.at({chunk.kernel_block, chunk.planes.begin}) - kernels_.blocks[block];
    load.words = static_cast<std::uint32_t>(chunk.planes.size() * p_.taps());
    load.parameter_word = static_cast<std::uint32_t>(chunk.slot * slot_words_);
    load.slot = static_cast<std::uint16_t>(chunk.slot);
    if (s.post != 0 && chunk.last) {
      load.post_records = narrow(array_.columns, "columns");
      load.post_address = s.post + static_cast<std::uint64_t>(chunk.kernel_block - s.problem.first_block) *
                                       static_cast<std::uint64_t>(array_.columns * kPostParameterBytes);
    }
    Instruction instruction{{chunk.waits_kernels ? kernels_free(chunk.slot) : Semaphore{0}},
                            {},
                            {kernels_full(chunk.slot)},
                            load};
    const auto& [first, last] = kernel_use_.at(s.kernel_load);
    if (first == &chunk) instruction.waits[1] = s.tokens.kernels_full;
    if (last == &chunk) instruction.done_signals[1] = kernels_free_.at(s.kernel_load);
    return instruction;
  }

  Instruction run(const Chunk& chunk) const {
    const Tile& t = tile_of(chunk);
    const int kernels = std::min(array_.columns, p_.conv.out_channels - chunk.kernel_block * array_.columns);
    ConvRun r;
    r.copy = static_cast<std::uint8_t>(chunk.copy);
    r.first = chunk.first, r.last = chunk.last;
    r.rows = narrow(t.rows, "tile rows"), r.columns = narrow(t.columns, "tile columns");
    r.height = narrow(t.height, "tile height"), r.width = narrow(t.width, "tile width");
    r.h_offset = narrow_signed(t.h_offset), r.w_offset = narrow_signed(t.w_offset);
    r.first_plane = narrow(tiling_.channels_resident ? chunk.planes.begin : 0, "channel block");
    r.planes = narrow(chunk.planes.size(), "channel blocks");
    r.kernels = narrow(kernels, "kernels");
    r.slot = static_cast<std::uint16_t>(chunk.slot);
    r.parameter_word = static_cast<std::uint32_t>(chunk.slot * slot_words_);
    r.output_base = static_cast<std::uint32_t>(half_base(chunk) +
                                               std::int64_t{chunk.kernel_block - chunk.first_stored_block} *
                                                   array_.columns * dtype_size(p_.output.dtype));
    r.output_stride = static_cast<std::uint32_t>(stored_bytes(chunk));
    r.macs_per_pixel =
        static_cast<std::uint32_t>(macs_per_pixel(p_, array_, chunk.kernel_block, chunk.planes));
    Instruction instruction{{}, {}, {}, r};
    int waits = 0;
    if (chunk.loads_input) instruction.waits[waits++] = input_full(chunk.copy);
    if (chunk.loads_kernels) instruction.waits[waits++] = kernels_full(chunk.slot);
    if (chunk.waits_output) instruction.waits[waits++] = output_free(chunk.half);
    int releases = 0;
    if (chunk.releases_input) instruction.release_signals[releases++] = input_free(chunk.copy);
    if (chunk.releases_kernels) instruction.release_signals[releases++] = kernels_free(chunk.slot);
    if (chunk.ends_store) instruction.done_signals[0] = output_full(chunk.half);
    return instruction;
  }

  Instruction store(const Chunk& chunk) const {
    const Segment& segment = segment_of(chunk);
    const Tile& t = tile_of(chunk);
    const int element = dtype_size(p_.output.dtype);
    StoreOutput s;
    const std::int64_t channel =
        std::int64_t{chunk.first_stored_block - segment.problem.first_block} * array_.columns;
    s.address =
        segment.output.at(t.image, t.out_row, t.out_column) + static_cast<std::uint64_t>(channel * element);
    s.pixel_stride = static_cast<std::uint32_t>(segment.output.pixel_stride);
    s.row_stride = static_cast<std::uint32_t>(segment.output.row_stride);
    s.source = static_cast<std::uint32_t>(half_base(chunk));
    s.pixel_bytes = static_cast<std::uint32_t>(stored_bytes(chunk));
    s.rows = narrow(t.rows, "tile rows"), s.columns = narrow(t.columns, "tile columns");
    Instruction instruction{
        {output_full(chunk.half)}, {chunk.output_reused ? output_free(chunk.half) : Semaphore{0}}, {}, s};
    const auto& [first, last] = store_use_.at(chunk.segment);
    if (first == &chunk) instruction.waits[1] = segment.tokens.result_free;
    if (last == &chunk) instruction.done_signals[0] = segment.tokens.result_full;
    return instruction;
  }

  std::int64_t half_base(const Chunk& chunk) const {
    return chunk.half * (hardware_.engine<SwitchArrayConfig>().output_buffer_bytes / 2);
  }
  std::int64_t stored_bytes(const Chunk& chunk) const {
    const int first = chunk.first_stored_block * array_.columns;
    return std::int64_t{std::min(p_.conv.out_channels - first, chunk.stored_blocks * array_.columns)} *
           dtype_size(p_.output.dtype);
  }
  std::uint16_t narrow(std::int64_t value, const char* what) const {
    return tilebeat::narrow(p_, value, what);
  }
  std::int16_t narrow_signed(std::int64_t value) const {
    if (value < INT16_MIN || value > INT16_MAX)
      throw UserError(fmt::format("layer '{}' cannot fit: padding of {} pixels is beyond {}", p_.name, -value,
                                  -INT16_MIN));
    return static_cast<std::int16_t>(value);
  }

  using Use = std::pair<const Chunk*, const Chunk*>;  // the first and the last

  const ConvProblem& p_;  // what all segments have in common
  const std::vector<Segment>& segments_;
  const HardwareConfig& hardware_;
  ArrayShape array_;
  const ConvTiling& tiling_;
  const PackedKernels& kernels_;
  std::vector<Chunk> chunks_;
  std::map<int, Use> map_use_, kernel_use_, store_use_;
  std::map<int, Semaphore> map_free_, kernels_free_;
  int slot_words_ = 1;
};

}  // namespace

std::uint16_t narrow(const ConvProblem& p, std::int64_t value, const char* what) {
  if (value < 0 || value > UINT16_MAX)
    throw UserError(
        fmt::format("layer '{}' cannot fit: {} {} is beyond {}", p.name, what, value, UINT16_MAX));
  return static_cast<std::uint16_t>(value);
}

ConvSetup conv_setup(const ConvProblem& p) {
  const Conv2d& c = p.conv;
  ConvSetup s;
  s.kernel_h = narrow(p, c.kernel[0], "kernel height"), s.kernel_w = narrow(p, c.kernel[1], "kernel width");
  s.stride_h = narrow(p, c.stride[0], "stride"), s.stride_w = narrow(p, c.stride[1], "stride");
  s.dilation_h = narrow(p, c.dilation[0], "dilation"), s.dilation_w = narrow(p, c.dilation[1], "dilation");
  s.input_zero_point = static_cast<std::int16_t>(p.input.zero_point);
  s.weight_zero_point = static_cast<std::int16_t>(c.weight_zero_point);
  s.input_type = p.input.dtype;
  s.output_type = p.output.dtype;
  s.requantise = c.requant.has_value();
  s.post_parameters = !c.bias.empty() || c.requant;
  s.clamp = c.activation.kind != ActivationKind::kNone;
  s.clamp_low = c.activation.kind == ActivationKind::kRelu ? 0 : c.activation.low;
  s.clamp_high = c.activation.kind == ActivationKind::kRelu ? INT32_MAX : c.activation.high;
  s.output_zero_point = c.requant ? c.requant->zero_point : 0;
  return s;
}

std::vector<std::vector<Instruction>> lower_segments(const std::vector<Segment>& segments,
                                                     const HardwareConfig& hardware, const ConvTiling& tiling,
                                                     const PackedKernels& kernels) {
  return Lowering(segments, hardware, tiling, kernels).emit();
}

}  // namespace tilebeat
