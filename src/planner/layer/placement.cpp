#include "planner/layer/placement.h"

#include "base/types.h"
#include "isa/address_map.h"
#include "planner/fusion/group_graph.h"
#include "planner/language/relayout.h"
#include "planner/layer/appended_tensors.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Alignment of tensors; address 0 stays unused because it means "none".
constexpr auto kPage = to_signed(kControllerBytes);

// Bytes left free before each part of the kernels. Without them, parts of equal size would often lie a
// multiple of all banks apart, and streams that read them side by side would conflict in one bank of one
// controller throughout. So every part begins at a phase of its own, the nearest free one. Parts that are too
// short to pass many banks begin at different controllers, equally many at each.
std::vector<std::int64_t> gaps_before(const WeightLayout& layout, const std::vector<int>& parts,
                                      const HardwareConfig& hardware) {
  std::vector<std::int64_t> gaps(parts.size(), 0);
  const auto count = ssize(parts);
  const auto bytes = to_signed(layout.blocks.back());
  constexpr std::int64_t kLong = 4;  // shares of all banks; a part that is shorter than one is short
  if (count < 2) return gaps;
  std::int64_t round = dram_bank_round(hardware);
  const bool is_short = bytes / count < round / kLong;
  if (is_short)
    round = kPage * hardware.dram.channels * (hardware.chip ? hardware.chip->memory_controllers : 1);
  std::vector<std::int64_t> phases;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t page = is_short ? i : round / kPage * i / count + i;
    phases.push_back(page * kPage % round);
  }
  std::int64_t shift = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto begin = to_signed(nth(layout.blocks, parts[part])) + shift;
    const auto gap_to = [&](std::int64_t phase) { return ((phase - begin) % round + round) % round; };
    const auto nearest = std::min_element(
        phases.begin(), phases.end(), [&](std::int64_t a, std::int64_t b) { return gap_to(a) < gap_to(b); });
    gaps[part] = gap_to(*nearest);
    shift += gaps[part];
    phases.erase(nearest);
  }
  return gaps;
}

}  // namespace

KernelBytes kernels_of(const MatrixLayer& layer) {
  KernelBytes made{layer.weight_layout(), {}, layer.pack_post_parameters(), layer.problem().weights.name()};
  // Streams of weights get their places one by one (weight_streams.h).
  if (!layer.problem().kernel_tensor && !layer.problem().in_streams) {
    const auto blocks = to_size(layer.problem().kernel_blocks());
    made.block = [&layer, blocks, weights = layer.problem().weights.int8()](std::size_t number) {
      return layer.pack_block(*weights, to_int(number / blocks), to_int(number % blocks));
    };
  }
  return made;
}

WeightPlace unplaced(const WeightLayout& layout, const HardwareConfig& hardware) {
  WeightPlace made;
  for (std::size_t block = 0; block + 1 < layout.blocks.size(); ++block)
    made.blocks.push_back(kUnplaced + layout.blocks[block]);
  made.post = layout.post_bytes == 0 ? 0 : kUnplaced;
  made.layout = layout;
  if (hardware.chip) {
    const MemoryConfig& wram = hardware.chip->core.wram;
    made.region_bytes = wram.size_bytes / wram.banks;
    made.transposed_bytes = transposed_bytes(*hardware.chip);
  }
  return made;
}

DramPlaces::DramPlaces(const HardwareConfig& hardware, Plan& plan)
    : hardware_(hardware), plan_(plan), dram_(kPage, std::int64_t{1} << 60, kPage) {}

void DramPlaces::place_tensors(const Workload& workload, const std::set<std::string>& on_chip) {
  const std::map<std::string, AppendedPlace> appended = appended_tensors(workload, hardware_, on_chip);
  const auto place = [&](const std::string& name, const TensorInfo& info) {
    const auto shared = appended.find(name);
    if (shared != appended.end()) {
      const AppendedPlace& of = shared->second;
      Placement placed{0, info};
      placed.address =
          of.first == name ? dram_.allocate(of.size_bytes()) : plan_.tensors.at(of.first).address;
      placed.stored =
          spaced_map(placed.address, info.size_bytes(), of.images, of.pixel_bytes, of.image_stride);
      return placed;
    }
    Placement placed{0, info, map_in_dram(workload, hardware_.planner, name, info, 0)};
    placed.address = dram_.allocate(std::max<std::int64_t>(placed.size_bytes(), 1));
    placed.stored = map_in_dram(workload, hardware_.planner, name, info, placed.address);
    return placed;
  };
  for (const auto& [name, info] : workload.inputs) {
    const Placement& placed = plan_.tensors[name] = place(name, info);
    const std::vector<std::uint8_t>& bytes = workload.input_data.at(name).bytes;
    plan_.image.push_back(
        {"input " + name, placed.address, placed.stored ? bytes_to_store(*placed.stored, bytes) : bytes});
  }
  for (const Layer& layer : workload.layers) {
    if (on_chip.count(layer.name) > 0) continue;
    // A reshape does not move bytes: its result lies in the place of its input.
    const bool in_place = std::holds_alternative<Reshape>(layer.operation) && hardware_.chip;
    if (!in_place) {
      plan_.tensors[layer.name] = place(layer.name, layer.output);
      continue;
    }
    const Placement& input = plan_.tensors.at(layer.inputs.front());
    plan_.tensors[layer.name] = {input.address, layer.output, input.stored};
  }
}

StoredMapPointer map_in_dram(const Workload& workload, const PlannerConfig& config, const std::string& name,
                             const TensorInfo& info, std::uint64_t address) {
  if (config.map_layout == MapLayout::kNhwc || info.shape.size() != 4) return nullptr;
  const bool map_alone = std::all_of(workload.layers.begin(), workload.layers.end(), [&](const Layer& layer) {
    const bool made = layer.name == name;
    if (!made && std::count(layer.inputs.begin(), layer.inputs.end(), name) == 0) return true;
    if (std::holds_alternative<Reshape>(layer.operation) || reads_other_rows(workload, layer)) return false;
    const auto* conv = std::get_if<Conv2d>(&layer.operation);
    return conv == nullptr || (conv->pixels == PixelAxes::kMap && conv->kernels == KernelSource::kWeights);
  });
  return map_alone ? stored_map(address, info, config.map_layout, config.map_block_channels) : nullptr;
}

std::string orders_in_dram(const Layer& layer, const std::map<std::string, Placement>& tensors,
                           const PlannerConfig& planner) {
  std::string text;
  std::set<std::string> names(layer.inputs.begin(), layer.inputs.end());
  names.insert(layer.name);
  for (const std::string& name : names) {
    const auto placed = tensors.find(name);
    if (placed == tensors.end()) continue;
    const StoredMapPointer& stored = placed->second.stored;
    const MapLayout order = stored && !stored->has_spaced_images() ? planner.map_layout : MapLayout::kNhwc;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, nth(kMapLayoutNames, order));
    if (order == MapLayout::kNchwc) text += fmt::format(" by {}", planner.map_block_channels);
  }
  return text;
}

std::uint64_t DramPlaces::place(const std::string& what, std::vector<std::uint8_t> bytes) {
  if (bytes.empty()) return 0;
  const std::uint64_t address = dram_.allocate(ssize(bytes));
  plan_.image.push_back({what, address, std::move(bytes)});
  return address;
}

std::uint64_t DramPlaces::place_constant(const std::string& what, std::vector<std::uint8_t> bytes) {
  const std::vector<MemorySegment>& image = plan_.image;
  const std::size_t hash =
      std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto [first, last] = constants_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    if (image[known->second].bytes == bytes) return image[known->second].address;
  }
  const std::uint64_t address = place(what, std::move(bytes));
  if (address != 0) constants_.emplace(hash, image.size() - 1);
  return address;
}

// The placed kernels that have all bytes of `kernels`.
const DramPlaces::PlacedKernels* DramPlaces::same_kernels(const KernelBytes& kernels,
                                                          const std::vector<int>& parts) const {
  const auto known = kernels_.find({kernels.name, parts});
  if (kernels.name.empty() || known == kernels_.end()) return nullptr;
  for (const PlacedKernels& placed : known->second) {
    const std::size_t blocks = kernels.layout.blocks.size() - 1;
    bool same = placed.blocks.size() == blocks;
    for (std::size_t block = 0; same && block < blocks; ++block)
      same = plan_.image[placed.segment + block].bytes == kernels.block(block);
    if (same) return &placed;
  }
  return nullptr;
}

WeightPlace DramPlaces::place_weights(const std::string& layer, const KernelBytes& kernels,
                                      const std::vector<int>& parts) {
  const std::vector<std::uint64_t>& begins = kernels.layout.blocks;
  WeightPlace made = unplaced(kernels.layout, hardware_);
  const PlacedKernels* placed = kernels.block ? same_kernels(kernels, parts) : nullptr;
  if (placed != nullptr) {
    made.blocks = placed->blocks;
  } else if (kernels.block) {
    const std::vector<std::int64_t> gaps = gaps_before(kernels.layout, parts, hardware_);
    auto bytes = to_signed(begins.back());
    for (const std::int64_t gap : gaps) bytes += gap;
    const std::uint64_t address = dram_.allocate(bytes);
    const std::size_t segment = plan_.image.size();
    std::uint64_t shift = 0;
    std::size_t part = 0;
    for (std::size_t block = 0; block < made.blocks.size(); ++block) {
      for (; part < parts.size() && to_size(parts[part]) == block; ++part) shift += to_unsigned(gaps[part]);
      made.blocks[block] = address + begins[block] + shift;
      std::vector<std::uint8_t> packed = kernels.block(block);
      if (packed.size() != begins[block + 1] - begins[block])
        throw std::logic_error(fmt::format("layer '{}': kernel block {} has {} bytes, its layout says {}",
                                           layer, block, packed.size(), begins[block + 1] - begins[block]));
      plan_.image.push_back({"kernels of " + layer, made.blocks[block], std::move(packed)});
    }
    if (!kernels.name.empty()) kernels_[{kernels.name, parts}].push_back({segment, made.blocks});
  }
  made.post = place("post-parameters of " + layer, kernels.post);
  return made;
}

namespace {

// A number for the order in which an engine packs the kernels of a layer, and for the records among them: a
// hash of what it makes of weights that tell where they were.
std::size_t order_of_packing(const MatrixLayer& layer) {
  const Problem& p = layer.problem();
  Tensor probe{p.weights.shape(), DType::kInt8, {}};
  probe.bytes.resize(to_size(p.weights.elements()));
  constexpr std::uint32_t kMix = 2654435761U;  // 2^32 by the golden ratio
  for (std::size_t i = 0; i < probe.bytes.size(); ++i) {
    const std::uint32_t mixed = static_cast<std::uint32_t>(i) * kMix;
    probe.bytes[i] = static_cast<std::uint8_t>(mixed >> 24 ^ mixed >> 13);
  }
  std::size_t made = 0;
  for (int set = 0; set < p.sets; ++set) {
    for (int block = 0; block < p.kernel_blocks(); ++block) {
      const std::vector<std::uint8_t> packed = layer.pack_block(probe, set, block);
      const std::string_view bytes(reinterpret_cast<const char*>(packed.data()), packed.size());
      made = made * kMix + std::hash<std::string_view>{}(bytes);
    }
  }
  return made;
}

}  // namespace

std::shared_ptr<PlacedStreams> DramPlaces::streams_of(const MatrixLayer& layer) {
  const Weights& weights = layer.problem().weights;
  if (!layer.problem().in_streams || weights.name().empty()) return std::make_shared<PlacedStreams>();
  std::shared_ptr<PlacedStreams>& streams =
      streams_[{weights.name(), order_of_packing(layer), layer.weight_layout().blocks}];
  if (streams == nullptr) streams = std::make_shared<PlacedStreams>();
  return streams;
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
  return to_unsigned(align_up(kPage + dram_.used(), kPage));
}

std::int64_t dram_bound(std::int64_t bytes, const HardwareConfig& hardware) {
  const DramConfig& d = hardware.dram;
  const int controllers = hardware.chip ? hardware.chip->memory_controllers : 1;
  const std::int64_t peak = std::int64_t{controllers} * d.channels * peak_bytes_per_clock(d);
  return ceil_div(bytes, peak) * d.clock_ps / hardware.clock_ps();
}

BoundCycles bound_of(const Problem& p, const Layer& layer, std::int64_t macs,
                     const HardwareConfig& hardware) {
  const std::int64_t peak = hardware.macs_per_clock() * (hardware.chip ? hardware.chip->cores() : 1);
  const auto& c = std::get<Conv2d>(layer.operation);
  const bool transposed = c.form == ConvForm::kTransposed;
  // Taps of the layer itself: inserted zeros are not needed.
  const WindowAxis h{p.height, c.kernel[0], c.stride[0], c.dilation[0], c.pads[0]};
  const WindowAxis w{p.width, c.kernel[1], c.stride[1], c.dilation[1], c.pads[1]};
  const std::int64_t pixels = transposed ? p.axis_h().touched(p.out_height) * p.axis_w().touched(p.out_width)
                                         : h.touched(p.out_height) * w.touched(p.out_width);
  const std::int64_t maps =
      c.pixels == PixelAxes::kMatrices ? p.input.size_bytes() : p.batch * pixels * p.channels;
  const std::int64_t kernels = p.kernel_tensor ? p.kernel_tensor->info.size_bytes() : c.weights.least_bytes();
  const std::int64_t bytes = maps + kernels + p.output.size_bytes();
  BoundCycles bound;
  bound.compute = ceil_div(macs, peak), bound.dram = dram_bound(bytes, hardware);
  return bound;
}

}  // namespace tilebeat
