#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"
#include "tilebeat/engines/wfold/config.h"

#include <algorithm>

#include <fmt/format.h>

#include "chip_plan.h"

namespace tilebeat {
namespace {

constexpr int kMostRuns = 65535;  // of a 16-bit field

}  // namespace

int processor_of(const ChipConfig& chip, int core) {
  return core / chip.cores_per_cluster * (chip.cores_per_cluster + 1) + core % chip.cores_per_cluster;
}

Interval part_of(int extent, int parts, int index, int granule) {
  const std::int64_t units = ceil_div(extent, granule);
  const auto at = [&](int i) {
    return static_cast<int>(std::min<std::int64_t>(extent, units * i / parts * granule));
  };
  return {at(index), at(index + 1)};
}

Window window_of(Interval outs, int extent, int kernel, int stride, int dilation, int pad) {
  const int first = outs.begin * stride - pad;
  const int last = (outs.end - 1) * stride + (kernel - 1) * dilation - pad;
  const int begin = std::clamp(first, 0, extent);
  const int end = std::clamp(last + 1, begin, extent);
  return {outs.begin, outs.size(), begin, end - begin, first - begin};
}

std::vector<Instruction> copies_of(Unit unit, std::uint64_t source, std::uint64_t destination,
                                   const CopyShape& shape) {
  std::vector<Instruction> copies;
  for (std::int64_t row = 0; row < shape.rows; row += kMostRuns) {
    for (std::int64_t column = 0; column < shape.columns; column += kMostRuns) {
      Copy copy;
      copy.unit = unit;
      copy.source =
          source + static_cast<std::uint64_t>(row * shape.source_row + column * shape.source_column);
      copy.destination = destination + static_cast<std::uint64_t>(row * shape.destination_row +
                                                                  column * shape.destination_column);
      copy.run_bytes = static_cast<std::uint32_t>(shape.run);
      copy.inner_count =
          static_cast<std::uint16_t>(std::min<std::int64_t>(kMostRuns, shape.columns - column));
      copy.outer_count = static_cast<std::uint16_t>(std::min<std::int64_t>(kMostRuns, shape.rows - row));
      copy.source_inner_stride = static_cast<std::uint32_t>(shape.source_column);
      copy.source_outer_stride = static_cast<std::uint32_t>(shape.source_row);
      copy.destination_inner_stride = static_cast<std::uint32_t>(shape.destination_column);
      copy.destination_outer_stride = static_cast<std::uint32_t>(shape.destination_row);
      copies.push_back({{}, {}, {}, copy});
    }
  }
  return copies;
}

std::int64_t Movement::bytes() const {
  std::int64_t sum = 0;
  for (const Transfer& transfer : transfers) sum += transfer.shape.bytes();
  return sum;
}

std::vector<Instruction> copies_of(Unit unit, const Movement& movement) {
  std::vector<Instruction> copies;
  for (const Transfer& t : movement.transfers)
    append(copies, copies_of(unit, t.source, t.destination, t.shape));
  copies.front().waits[0] = movement.waits;
  copies.back().release_signals[0] = movement.releases;
  copies.back().done_signals[0] = movement.done;
  return copies;
}

bool memory_cores_work(const ChipConfig& chip) {
  return chip.dram_path == DramPath::kSram ||
         (chip.dram_path == DramPath::kAuto && chip.cores_per_cluster > 1);
}

void begin_chip(PlanBuilder& builder) {
  const ChipConfig& chip = *builder.hardware.chip;
  if (chip.core.nram.size_bytes > (std::int64_t{1} << 30))
    throw UserError("chip.core.nram.size_bytes is beyond 1 GiB");
}

void plan_chip_layer(PlanBuilder& builder, const Layer& layer) {
  const ChipConfig& chip = *builder.hardware.chip;
  const auto number = static_cast<std::uint32_t>(builder.plan.layers.size());
  LayerPlan made;
  made.name = layer.name, made.op = layer.op, made.scene = layer.scene;
  ChipWork work;
  if (std::holds_alternative<Conv2d>(layer.operation)) {
    const bool wfold = builder.hardware.dataflow == kWfoldDataflow;
    work = wfold ? plan_chip_wfold(builder, layer, made) : plan_chip_conv(builder, layer, made);
  } else if (!std::holds_alternative<Reshape>(layer.operation)) {
    work = plan_chip_vector(builder, layer, made);
  } else {
    made.reason = "the tensor stays where it is";
  }
  work.cores.resize(static_cast<std::size_t>(chip.cores()));
  work.memory.resize(static_cast<std::size_t>(chip.clusters));
  const bool memory = memory_cores_work(chip);
  const auto participants = static_cast<std::uint16_t>(memory ? chip.processors() : chip.cores());
  // The second holds the others back until core 0 has ended the layer: nothing of the next one is in its
  // statistics.
  const Barrier stored{static_cast<std::uint16_t>(2 * number), participants};
  const Barrier ended{static_cast<std::uint16_t>(2 * number + 1), participants};
  std::vector<ProcessorWork> parts;
  for (int cluster = 0; cluster < chip.clusters; ++cluster) {
    for (ProcessorWork& part : lower_cluster(builder.hardware, cluster, work, made))
      parts.push_back(std::move(part));
  }
  const auto add = [&](int processor) {
    std::vector<Instruction>& program = builder.program_of(layer.scene, processor);
    const ProcessorWork& part = parts[static_cast<std::size_t>(processor)];
    append(program, part.instructions);
    // Nobody reads what others have not stored.
    program.push_back({{part.stores ? kLayerStored : Semaphore{0}}, {}, {}, stored});
    if (processor == 0) program.push_back({{}, {}, {}, LayerEnd{number}});
    program.push_back({{}, {}, {}, ended});
  };
  for (int core = 0; core < chip.cores(); ++core) add(processor_of(chip, core));
  for (int cluster = 0; memory && cluster < chip.clusters; ++cluster)
    add(cluster * (chip.cores_per_cluster + 1) + chip.cores_per_cluster);
  builder.plan.layers.push_back(std::move(made));
}

}  // namespace tilebeat
