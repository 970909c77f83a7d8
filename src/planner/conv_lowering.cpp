#include "tilebeat/base/error.h"

#include <algorithm>

#include <fmt/format.h>

#include "conv_plan.h"

namespace tilebeat {
namespace {

class Lowering {
 public:
  Lowering(const ConvProblem& p, const HardwareConfig& hardware, const ConvTiling& tiling,
           const PackedKernels& kernels, const ConvAddresses& addresses)
      : p_(p),
        hardware_(hardware),
        array_(array_shape(hardware.switch_array)),
        tiling_(tiling),
        kernels_(kernels),
        addresses_(addresses),
        tiles_(tiles_of(p, tiling)),
        chunks_(chunks_of(p, hardware, tiling, tiles_)),
        slot_words_(slot_words(p, hardware, tiling)) {}

  void emit(std::vector<Instruction>& program) const {
    program.push_back({{}, {}, {}, setup()});
    // Loads are placed as early as their buffer allows, those needed first in front.
    std::vector<std::vector<Instruction>> before(chunks_.size());
    for (const Chunk& chunk : chunks_) {
      if (chunk.loads_input)
        before[static_cast<std::size_t>(chunk.load_input_before)].push_back(load_input(chunk));
      if (chunk.loads_kernels)
        before[static_cast<std::size_t>(chunk.load_kernels_before)].push_back(load_kernels(chunk));
    }
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      program.insert(program.end(), before[i].begin(), before[i].end());
      program.push_back(run(chunks_[i]));
      if (chunks_[i].ends_store) program.push_back(store(chunks_[i]));
    }
  }

 private:
  ConvSetup setup() const {
    const Conv2d& c = p_.conv;
    ConvSetup s;
    s.kernel_h = narrow(c.kernel[0], "kernel height"), s.kernel_w = narrow(c.kernel[1], "kernel width");
    s.stride_h = narrow(c.stride[0], "stride"), s.stride_w = narrow(c.stride[1], "stride");
    s.dilation_h = narrow(c.dilation[0], "dilation"), s.dilation_w = narrow(c.dilation[1], "dilation");
    s.input_zero_point = static_cast<std::int16_t>(p_.input.zero_point);
    s.weight_zero_point = static_cast<std::int16_t>(c.weight_zero_point);
    s.input_type = p_.input.dtype;
    s.output_type = p_.output.dtype;
    s.requantise = c.requant.has_value();
    s.post_parameters = !c.bias.empty() || c.requant;
    s.clamp = c.activation.kind != ActivationKind::kNone;
    s.clamp_low = c.activation.kind == ActivationKind::kRelu ? 0 : c.activation.low;
    s.clamp_high = c.activation.kind == ActivationKind::kRelu ? INT32_MAX : c.activation.high;
    s.output_zero_point = c.requant ? c.requant->zero_point : 0;
    return s;
  }

  Instruction load_input(const Chunk& chunk) const {
    const Tile& t = tiles_[static_cast<std::size_t>(chunk.tile)];
    const ChannelRange channels = loaded_channels(p_, array_.port_channels, tiling_.channels_resident, chunk);
    LoadInput load;
    load.copy = static_cast<std::uint8_t>(chunk.copy);
    const std::int64_t pixel = (std::int64_t{t.image} * p_.height + t.in_row) * p_.width + t.in_column;
    load.address = addresses_.input + static_cast<std::uint64_t>(pixel * p_.channels + channels.begin);
    load.row_stride = static_cast<std::uint32_t>(std::int64_t{p_.width} * p_.channels);
    load.pixel_stride = static_cast<std::uint32_t>(p_.channels);
    load.height = narrow(t.height, "tile height"), load.width = narrow(t.width, "tile width");
    load.channels = narrow(channels.count, "channels");
    load.stride_h = narrow(p_.conv.stride[0], "stride"), load.stride_w = narrow(p_.conv.stride[1], "stride");
    load.fill = static_cast<std::uint8_t>(p_.input.zero_point);
    const bool waits = chunk.load_input_before > 0;
    return {{waits ? input_free(chunk.copy) : Semaphore{0}}, {}, {input_full(chunk.copy)}, load};
  }

  Instruction load_kernels(const Chunk& chunk) const {
    LoadKernels load;
    load.address = addresses_.kernels + kernels_.offsets.at({chunk.kernel_block, chunk.planes.begin});
    load.words = static_cast<std::uint32_t>(chunk.planes.size() * p_.taps());
    load.parameter_word = static_cast<std::uint32_t>(chunk.slot * slot_words_);
    load.slot = static_cast<std::uint16_t>(chunk.slot);
    if (addresses_.post != 0 && chunk.last) {
      load.post_records = narrow(array_.columns, "columns");
      load.post_address =
          addresses_.post + static_cast<std::uint64_t>(chunk.kernel_block) *
                                static_cast<std::uint64_t>(array_.columns * kPostParameterBytes);
    }
    return {{chunk.waits_kernels ? kernels_free(chunk.slot) : Semaphore{0}},
            {},
            {kernels_full(chunk.slot)},
            load};
  }

  Instruction run(const Chunk& chunk) const {
    const Tile& t = tiles_[static_cast<std::size_t>(chunk.tile)];
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
    const Tile& t = tiles_[static_cast<std::size_t>(chunk.tile)];
    const int element = dtype_size(p_.output.dtype);
    StoreOutput s;
    const std::int64_t pixel =
        (std::int64_t{t.image} * p_.out_height + t.out_row) * p_.out_width + t.out_column;
    const std::int64_t channel = std::int64_t{chunk.first_stored_block} * array_.columns;
    s.address =
        addresses_.output + static_cast<std::uint64_t>((pixel * p_.conv.out_channels + channel) * element);
    s.pixel_stride = static_cast<std::uint32_t>(p_.conv.out_channels * element);
    s.row_stride = static_cast<std::uint32_t>(std::int64_t{p_.out_width} * p_.conv.out_channels * element);
    s.source = static_cast<std::uint32_t>(half_base(chunk));
    s.pixel_bytes = static_cast<std::uint32_t>(stored_bytes(chunk));
    s.rows = narrow(t.rows, "tile rows"), s.columns = narrow(t.columns, "tile columns");
    return {{output_full(chunk.half)}, {chunk.output_reused ? output_free(chunk.half) : Semaphore{0}}, {}, s};
  }

  std::int64_t half_base(const Chunk& chunk) const {
    return chunk.half * (hardware_.switch_array.output_buffer_bytes / 2);
  }
  std::int64_t stored_bytes(const Chunk& chunk) const {
    const int first = chunk.first_stored_block * array_.columns;
    return std::int64_t{std::min(p_.conv.out_channels - first, chunk.stored_blocks * array_.columns)} *
           dtype_size(p_.output.dtype);
  }
  std::uint16_t narrow(std::int64_t value, const char* what) const {
    if (value < 0 || value > UINT16_MAX)
      throw UserError(
          fmt::format("layer '{}' cannot fit: {} {} is beyond {}", p_.name, what, value, UINT16_MAX));
    return static_cast<std::uint16_t>(value);
  }
  std::int16_t narrow_signed(std::int64_t value) const {
    if (value < INT16_MIN || value > INT16_MAX)
      throw UserError(fmt::format("layer '{}' cannot fit: padding of {} pixels is beyond {}", p_.name, -value,
                                  -INT16_MIN));
    return static_cast<std::int16_t>(value);
  }

  const ConvProblem& p_;
  const HardwareConfig& hardware_;
  ArrayShape array_;
  const ConvTiling& tiling_;
  const PackedKernels& kernels_;
  ConvAddresses addresses_;
  std::vector<Tile> tiles_;
  std::vector<Chunk> chunks_;
  int slot_words_;
};

}  // namespace

void lower_conv(const ConvProblem& problem, const HardwareConfig& hardware, const ConvTiling& tiling,
                const PackedKernels& kernels, const ConvAddresses& addresses, std::uint32_t layer,
                std::vector<Instruction>& program) {
  Lowering(problem, hardware, tiling, kernels, addresses).emit(program);
  program.push_back({{}, {}, {}, LayerEnd{layer}});
}

}  // namespace tilebeat
