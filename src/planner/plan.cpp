#include "tilebeat/program/plan.h"

#include "tilebeat/base/math.h"
#include "tilebeat/engines/switch_array/config.h"
#include "tilebeat/planner/planner.h"

#include <algorithm>

#include <fmt/format.h>

#include "plan_builder.h"

namespace tilebeat {
namespace {

constexpr std::uint64_t kAlignment = 4096;

// The switch array computes convolutions and nothing else.
void need_convolution(const Layer& layer) {
  if (std::holds_alternative<Conv2d>(layer.operation)) return;
  throw UserError(fmt::format("layer '{}': op {} needs a vector unit, which this hardware does not have",
                              layer.name, layer.op));
}

}  // namespace

void PlanBuilder::place_tensors() {
  for (const auto& [name, info] : workload.inputs) {
    const std::uint64_t address = allocate(static_cast<std::uint64_t>(info.size_bytes()));
    plan.tensors[name] = {address, info};
    plan.image.push_back({"input " + name, address, workload.input_data.at(name).bytes});
  }
  for (const Layer& layer : workload.layers) {
    // What only has another shape lies where it lay.
    const bool in_place = std::holds_alternative<Reshape>(layer.operation) && hardware.chip;
    const std::uint64_t address = in_place ? plan.tensors.at(layer.inputs.front()).address
                                           : allocate(static_cast<std::uint64_t>(layer.output.size_bytes()));
    plan.tensors[layer.name] = {address, layer.output};
  }
}

std::uint64_t PlanBuilder::allocate(std::uint64_t bytes) {
  const std::uint64_t address = next_;
  next_ = align_up(next_ + std::max<std::uint64_t>(bytes, 1), kAlignment);
  return address;
}

std::uint64_t PlanBuilder::place(const std::string& what, std::vector<std::uint8_t> bytes) {
  if (bytes.empty()) return 0;
  std::vector<std::vector<std::uint8_t>> pieces;
  pieces.push_back(std::move(bytes));
  return place(what, std::move(pieces));
}

std::uint64_t PlanBuilder::place(const std::string& what, std::vector<std::vector<std::uint8_t>> pieces) {
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  const std::uint64_t address = allocate(bytes);
  std::uint64_t at = address;
  for (auto& piece : pieces) {
    const std::uint64_t size = piece.size();
    plan.image.push_back({what, at, std::move(piece)});
    at += size;
  }
  return address;
}

std::vector<Instruction>& PlanBuilder::program_of(const std::string& scene, int processor) {
  const auto found = std::find_if(plan.programs.begin(), plan.programs.end(), [&](const ProgramImage& p) {
    return p.label == scene && p.processor == processor;
  });
  if (found != plan.programs.end()) return found->instructions;
  plan.programs.push_back({scene, processor, 0, {}});
  return plan.programs.back().instructions;
}

void PlanBuilder::finish() {
  for (ProgramImage& program : plan.programs) {
    program.instructions.push_back({{}, {}, {}, Halt{}});
    std::vector<std::uint8_t> bytes;
    for (const Instruction& instruction : program.instructions) {
      const InstructionBytes encoded = encode(instruction);
      bytes.insert(bytes.end(), encoded.begin(), encoded.end());
    }
    program.address = place("program " + program.label, std::move(bytes));
  }
  plan.dram_bytes = next_;
  const auto size = static_cast<std::uint64_t>(hardware.dram.size_bytes);
  if (next_ > size) {
    throw PlanError(
        "",
        fmt::format(
            "workload '{}' cannot fit: tensors, kernels and programs take {} bytes, dram.size_bytes is {}",
            workload.name, next_, size));
  }
}

PlacedKernels place_kernels(PlanBuilder& builder, const ConvProblem& p, const ConvTiling& tiling) {
  const ArrayShape array = array_shape(builder.hardware.engine<SwitchArrayConfig>());
  PlacedKernels placed;
  placed.packed = pack_kernels(p, array, tiling);
  placed.address = builder.place("kernels of " + p.name, std::move(placed.packed.bytes));
  placed.post = builder.place("post-parameters of " + p.name, pack_post_parameters(p, array));
  return placed;
}

std::int64_t dram_bound(std::int64_t bytes, const HardwareConfig& hardware) {
  const DramConfig& d = hardware.dram;
  const int controllers = hardware.chip ? hardware.chip->memory_controllers : 1;
  // Peak: data_bits / 8 bytes a transfer and channel, two transfers a DRAM clock.
  const std::int64_t transfer = std::int64_t{controllers} * d.channels * d.data_bits / 8;
  return ceil_div(bytes, transfer * 2) * d.clock_ps / hardware.clock_ps();
}

std::int64_t touched_pixels(int extent, int outs, int kernel, int stride, int dilation, int pad) {
  std::vector<bool> used(static_cast<std::size_t>(extent), false);
  for (int o = 0; o < outs; ++o) {
    for (int k = 0; k < kernel; ++k) {
      const int at = o * stride + k * dilation - pad;
      if (at >= 0 && at < extent) used[static_cast<std::size_t>(at)] = true;
    }
  }
  return std::count(used.begin(), used.end(), true);
}

BoundCycles bound_of(const ConvProblem& p, const Layer& layer, std::int64_t macs,
                     const HardwareConfig& hardware) {
  const std::int64_t peak = hardware.macs_per_clock() * (hardware.chip ? hardware.chip->cores() : 1);
  const auto& c = std::get<Conv2d>(layer.operation);
  const std::int64_t pixels =
      touched_pixels(p.height, p.out_height, c.kernel[0], c.stride[0], c.dilation[0], c.pads[0]) *
      touched_pixels(p.width, p.out_width, c.kernel[1], c.stride[1], c.dilation[1], c.pads[1]);
  const std::int64_t bytes = p.batch * pixels * p.channels + c.weights.elements() + p.output.size_bytes();
  return {ceil_div(macs, peak), dram_bound(bytes, hardware)};
}

MapPlace dense_place(std::uint64_t address, std::int64_t height, std::int64_t width,
                     std::int64_t pixel_bytes) {
  return {address, height * width * pixel_bytes, width * pixel_bytes, pixel_bytes};
}

void plan_soc_layer(PlanBuilder& builder, const Layer& layer) {
  need_convolution(layer);
  const HardwareConfig& hardware = builder.hardware;
  const ConvProblem p =
      make_problem(builder.workload, layer, hardware.planner, hardware.engine<SwitchArrayConfig>().columns);
  LayerPlan made;
  made.name = layer.name, made.op = layer.op, made.scene = layer.scene;
  made.tiling = choose_tiling(p, hardware, dram_path(hardware), made.reason);
  made.macs = useful_macs(builder.workload, layer);
  made.bound = bound_of(p, layer, made.macs, hardware);

  const PlacedKernels kernels = place_kernels(builder, p, made.tiling);
  std::vector<Segment> segments(1);
  Segment& segment = segments.front();
  segment.problem = p;
  segment.tiles = tiles_of(p, made.tiling);
  segment.input =
      dense_place(builder.plan.tensors.at(layer.inputs.front()).address, p.height, p.width, p.channels);
  segment.output = dense_place(builder.plan.tensors.at(layer.name).address, p.out_height, p.out_width,
                               std::int64_t{p.conv.out_channels} * dtype_size(p.output.dtype));
  segment.kernels = kernels.address, segment.post = kernels.post;
  const std::vector<Chunk> chunks = chunks_of(segments, hardware, made.tiling);
  const Traffic traffic = traffic_of(segments, hardware, made.tiling, chunks);
  made.chunks = static_cast<std::int64_t>(chunks.size());
  made.input_bytes = traffic.input, made.kernel_bytes = traffic.kernels, made.output_bytes = traffic.output;

  std::vector<Instruction>& program = builder.program_of(layer.scene, 0);
  for (const std::vector<Instruction>& part : lower_segments(segments, hardware, made.tiling, kernels.packed))
    program.insert(program.end(), part.begin(), part.end());
  program.push_back({{}, {}, {}, LayerEnd{static_cast<std::uint32_t>(builder.plan.layers.size())}});
  builder.plan.layers.push_back(std::move(made));
}

Plan make_plan(const Workload& workload, const HardwareConfig& hardware) {
  PlanBuilder builder(workload, hardware);
  builder.plan.name = workload.name;
  builder.plan.outputs = workload.outputs;
  builder.place_tensors();
  if (hardware.chip) begin_chip(builder);
  for (const Layer& layer : workload.layers) {
    try {
      hardware.chip ? plan_chip_layer(builder, layer) : plan_soc_layer(builder, layer);
    } catch (const UserError& error) {
      throw PlanError(layer.name, error.what());
    }
  }
  builder.finish();
  return std::move(builder.plan);
}

}  // namespace tilebeat
