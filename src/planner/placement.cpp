#include "placement.h"

#include "tilebeat/base/math.h"

#include <algorithm>

namespace tilebeat {
namespace {

constexpr std::int64_t kPage =
    4096;  // tensors begin at multiples of it; address 0 stays unused: it means "none"

}  // namespace

DramPlaces::DramPlaces(const HardwareConfig& hardware, Plan& plan)
    : hardware_(hardware), plan_(plan), dram_(kPage, std::int64_t{1} << 60, kPage) {}

void DramPlaces::place_tensors(const Workload& workload) {
  const auto allocate = [&](const TensorInfo& info) {
    return dram_.allocate(std::max<std::int64_t>(info.size_bytes(), 1));
  };
  for (const auto& [name, info] : workload.inputs) {
    const std::uint64_t address = allocate(info);
    plan_.tensors[name] = {address, info};
    plan_.image.push_back({"input " + name, address, workload.input_data.at(name).bytes});
  }
  for (const Layer& layer : workload.layers) {
    // What only has another shape lies where it lay.
    const bool in_place = std::holds_alternative<Reshape>(layer.operation) && hardware_.chip;
    plan_.tensors[layer.name] = {
        in_place ? plan_.tensors.at(layer.inputs.front()).address : allocate(layer.output), layer.output};
  }
}

std::uint64_t DramPlaces::place(const std::string& what, std::vector<std::vector<std::uint8_t>> pieces) {
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  if (bytes == 0) return 0;
  const std::uint64_t address = dram_.allocate(static_cast<std::int64_t>(bytes));
  std::uint64_t at = address;
  for (auto& piece : pieces) {
    const std::uint64_t size = piece.size();
    plan_.image.push_back({what, at, std::move(piece)});
    at += size;
  }
  return address;
}

std::uint64_t DramPlaces::place(const std::string& what, std::vector<std::uint8_t> bytes) {
  std::vector<std::vector<std::uint8_t>> pieces;
  pieces.push_back(std::move(bytes));
  return place(what, std::move(pieces));
}

WeightPlace DramPlaces::place_weights(const std::string& layer, WeightImage image) {
  WeightPlace place_of;
  place_of.address = place("kernels of " + layer, std::move(image.pieces));
  place_of.post = place("post-parameters of " + layer, std::move(image.post));
  place_of.image = std::move(image);
  place_of.image.pieces.clear(), place_of.image.post.clear();
  if (hardware_.chip) {
    const MemoryConfig& wram = hardware_.chip->core.wram;
    place_of.region_bytes = wram.size_bytes / wram.banks;
  }
  return place_of;
}

void DramPlaces::place_programs() {
  for (ProgramImage& program : plan_.programs) {
    std::vector<std::uint8_t> bytes;
    bytes.reserve(program.instructions.size() * kInstructionBytes);
    for (const Instruction& instruction : program.instructions) {
      const InstructionBytes encoded = encode(instruction);
      bytes.insert(bytes.end(), encoded.begin(), encoded.end());
    }
    program.address = place("program " + program.label, std::move(bytes));
  }
}

std::uint64_t DramPlaces::used() const {
  return static_cast<std::uint64_t>(align_up(kPage + dram_.used(), kPage));
}

std::int64_t dram_bound(std::int64_t bytes, const HardwareConfig& hardware) {
  const DramConfig& d = hardware.dram;
  const int controllers = hardware.chip ? hardware.chip->memory_controllers : 1;
  // Peak: data_bits / 8 bytes a transfer and channel, two transfers a DRAM clock.
  const std::int64_t transfer = std::int64_t{controllers} * d.channels * d.data_bits / 8;
  return ceil_div(bytes, transfer * 2) * d.clock_ps / hardware.clock_ps();
}

BoundCycles bound_of(const Problem& p, const Layer& layer, std::int64_t macs,
                     const HardwareConfig& hardware) {
  const std::int64_t peak = hardware.macs_per_clock() * (hardware.chip ? hardware.chip->cores() : 1);
  const auto& c = std::get<Conv2d>(layer.operation);
  // The layer's own taps: those of the zero-inserted baseline are not needed.
  const WindowAxis h{p.height, c.kernel[0], c.stride[0], c.dilation[0], c.pads[0]};
  const WindowAxis w{p.width, c.kernel[1], c.stride[1], c.dilation[1], c.pads[1]};
  const std::int64_t pixels = h.touched(p.out_height) * w.touched(p.out_width);
  const std::int64_t bytes = p.batch * pixels * p.channels + c.weights.elements() + p.output.size_bytes();
  return {ceil_div(macs, peak), dram_bound(bytes, hardware)};
}

}  // namespace tilebeat
