#include "tilebeat/planner/plan.h"

#include "tilebeat/base/math.h"

#include <algorithm>

#include <fmt/format.h>

#include "conv_plan.h"

namespace tilebeat {
namespace {

constexpr std::uint64_t kAlignment = 4096;

// Rows (columns) of the input that any tap of any output touches.
std::int64_t touched(int extent, int outs, int kernel, int stride, int dilation, int pad) {
  std::vector<bool> used(static_cast<std::size_t>(extent), false);
  for (int o = 0; o < outs; ++o) {
    for (int k = 0; k < kernel; ++k) {
      const int at = o * stride + k * dilation - pad;
      if (at >= 0 && at < extent) used[static_cast<std::size_t>(at)] = true;
    }
  }
  return std::count(used.begin(), used.end(), true);
}

BoundCycles bound_of(const ConvProblem& p, std::int64_t macs, const Conv2d& original,
                     const HardwareConfig& hardware) {
  const SwitchArrayConfig& array = hardware.switch_array;
  const std::int64_t peak = std::int64_t{array.rows} * array.columns * array.port_channels;
  const auto& c = original;
  const std::int64_t pixels =
      touched(p.height, p.out_height, c.kernel[0], c.stride[0], c.dilation[0], c.pads[0]) *
      touched(p.width, p.out_width, c.kernel[1], c.stride[1], c.dilation[1], c.pads[1]);
  const std::int64_t bytes = p.batch * pixels * p.channels + c.weights.elements() + p.output.size_bytes();
  const DramConfig& d = hardware.dram;
  // Peak: channels * data_bits / 8 bytes a transfer, two transfers a DRAM clock.
  const std::int64_t transfer = std::int64_t{d.channels} * d.data_bits / 8;
  const std::int64_t dram_clocks = ceil_div(bytes, transfer * 2);
  return {ceil_div(macs, peak), dram_clocks * d.clock_ps / hardware.clock_ps()};
}

// The switch array computes convolutions and nothing else.
void need_convolution(const Layer& layer) {
  if (std::holds_alternative<Conv2d>(layer.operation)) return;
  throw UserError(fmt::format("layer '{}': op {} needs a vector unit, which this hardware does not have",
                              layer.name, layer.op));
}

class Builder {
 public:
  Builder(const Workload& workload, const HardwareConfig& hardware)
      : workload_(workload), hardware_(hardware) {}

  Plan build() {
    for (const Layer& layer : workload_.layers) need_convolution(layer);
    for (const auto& [name, info] : workload_.inputs) {
      const std::uint64_t address = allocate(static_cast<std::uint64_t>(info.size_bytes()));
      plan_.tensors[name] = {address, info};
      plan_.image.push_back({"input " + name, address, workload_.input_data.at(name).bytes});
    }
    for (const Layer& layer : workload_.layers) {
      plan_.tensors[layer.name] = {allocate(static_cast<std::uint64_t>(layer.output.size_bytes())),
                                   layer.output};
    }
    for (const Layer& layer : workload_.layers) {
      try {
        add_layer(layer);
      } catch (const UserError& error) {
        throw PlanError(layer.name, error.what());
      }
    }
    for (ProgramImage& program : plan_.programs) finish(program);
    plan_.dram_bytes = next_;
    const auto size = static_cast<std::uint64_t>(hardware_.dram.size_bytes);
    if (next_ > size) {
      throw PlanError(
          "",
          fmt::format(
              "workload '{}' cannot fit: tensors, kernels and programs take {} bytes, dram.size_bytes is {}",
              workload_.name, next_, size));
    }
    return std::move(plan_);
  }

 private:
  std::uint64_t allocate(std::uint64_t bytes) {
    const std::uint64_t address = next_;
    next_ = align_up(next_ + std::max<std::uint64_t>(bytes, 1), kAlignment);
    return address;
  }

  ProgramImage& program_of(const std::string& scene) {
    const auto found = std::find_if(plan_.programs.begin(), plan_.programs.end(),
                                    [&](const ProgramImage& p) { return p.label == scene; });
    if (found != plan_.programs.end()) return *found;
    plan_.programs.push_back({scene, 0, 0, {}});
    return plan_.programs.back();
  }

  void add_layer(const Layer& layer) {
    const ConvProblem p = make_problem(workload_, layer, hardware_.planner);
    const ArrayShape array = array_shape(hardware_.switch_array);
    LayerPlan layer_plan;
    layer_plan.name = layer.name, layer_plan.op = layer.op, layer_plan.scene = layer.scene;
    layer_plan.tiling = choose_tiling(p, hardware_, layer_plan.reason);
    const std::vector<Tile> tiles = tiles_of(p, layer_plan.tiling);
    const std::vector<Chunk> chunks = chunks_of(p, hardware_, layer_plan.tiling, tiles);
    const Traffic traffic = traffic_of(p, hardware_, layer_plan.tiling, tiles, chunks);
    layer_plan.chunks = static_cast<std::int64_t>(chunks.size());
    layer_plan.input_bytes = traffic.input, layer_plan.kernel_bytes = traffic.kernels,
    layer_plan.output_bytes = traffic.output;
    layer_plan.macs = useful_macs(workload_, layer);
    layer_plan.bound = bound_of(p, layer_plan.macs, std::get<Conv2d>(layer.operation), hardware_);

    PackedKernels kernels = pack_kernels(p, array, layer_plan.tiling);
    std::vector<std::uint8_t> post = pack_post_parameters(p, array);
    ConvAddresses addresses;
    addresses.input = plan_.tensors.at(layer.inputs.front()).address;
    addresses.output = plan_.tensors.at(layer.name).address;
    addresses.kernels = allocate(kernels.bytes.size());
    addresses.post = post.empty() ? 0 : allocate(post.size());
    lower_conv(p, hardware_, layer_plan.tiling, kernels, addresses,
               static_cast<std::uint32_t>(plan_.layers.size()), program_of(layer.scene).instructions);
    plan_.image.push_back({"kernels of " + layer.name, addresses.kernels, std::move(kernels.bytes)});
    if (!post.empty())
      plan_.image.push_back({"post-parameters of " + layer.name, addresses.post, std::move(post)});
    plan_.layers.push_back(std::move(layer_plan));
  }

  void finish(ProgramImage& program) {
    program.instructions.push_back({{}, {}, {}, Halt{}});
    std::vector<std::uint8_t> bytes;
    for (const Instruction& instruction : program.instructions) {
      const InstructionBytes encoded = encode(instruction);
      bytes.insert(bytes.end(), encoded.begin(), encoded.end());
    }
    program.address = allocate(bytes.size());
    plan_.image.push_back({"program " + program.label, program.address, std::move(bytes)});
  }

  const Workload& workload_;
  const HardwareConfig& hardware_;
  Plan plan_;
  std::uint64_t next_ = kAlignment;  // address 0 stays unused: it means "none"
};

}  // namespace

Plan make_plan(const Workload& workload, const HardwareConfig& hardware) {
  return Builder(workload, hardware).build();
}

}  // namespace tilebeat
