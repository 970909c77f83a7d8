// Programs of a plan as the text of a program file.
#include "isa/operations.h"
#include "program/program_file.h"
#include "tilebeat/error.h"
#include "workload/npy.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Calls `use` with every segment of memory that is no program and no table of programs: the reader makes
// these.
template <class Use>
void for_each_data(const Plan& plan, Use use) {
  for (const MemorySegment& segment : plan.image) {
    const auto starts = [&](const auto& other) { return other.address == segment.address; };
    const bool made_by_reader = std::any_of(plan.programs.begin(), plan.programs.end(), starts) ||
                                std::any_of(plan.start_tables.begin(), plan.start_tables.end(), starts);
    if (!segment.bytes.empty() && !made_by_reader) use(segment);
  }
}

std::string data_file(const std::string& stem, const MemorySegment& segment) {
  return fmt::format("{}_{:x}.npy", stem, segment.address);
}

// Results as directives: in the layout that the planner gives to maps.
std::string tensor_text(const std::string& name, const Placement& place, const HardwareConfig& hardware) {
  const DType type = place.info.dtype;
  std::string text = fmt::format(".tensor {} {:#x} {}", name, place.address, dtype_name(type));
  for (const std::int64_t extent : place.info.shape) text += fmt::format(" {}", extent);
  if (!place.stored) return text + "\n";
  if (place.stored->has_spaced_images())
    return text + fmt::format(" apart:{}:{}\n", place.stored->images, place.stored->image_stride);
  const MapLayout layout = hardware.planner.map_layout;
  text += fmt::format(" {}", nth(kMapLayoutNames, layout));
  if (layout == MapLayout::kNchwc) text += fmt::format(":{}", place.stored->block_bytes / dtype_size(type));
  return text + "\n";
}

}  // namespace

std::string listing_text(const Plan& plan, const HardwareConfig& hardware, const std::string& stem,
                         DataLines data) {
  std::string text;
  for_each_data(plan, [&](const MemorySegment& segment) {
    text += fmt::format("# {}\n{}.data {:#x} {}\n", segment.what, data == DataLines::kComments ? "# " : "",
                        segment.address, data_file(stem, segment));
  });
  for (const std::string& name : plan.outputs) text += tensor_text(name, plan.tensors.at(name), hardware);
  for (const ProgramImage& program : plan.programs) {
    text += fmt::format(".program {} at {:#x} scene {}\n", processor_name(hardware.chip, program.processor),
                        program.address, program.label);
    std::uint64_t address = program.address;
    for (const Instruction& instruction : program.instructions) {
      text += fmt::format("  {:#010x}  {}\n", address, disassemble(instruction));
      address += kInstructionBytes;
    }
  }
  return text;
}

ExportedPrograms export_programs(const Plan& plan, const HardwareConfig& hardware, const std::string& stem) {
  ExportedPrograms made;
  made.text = listing_text(plan, hardware, stem, DataLines::kDirectives);
  if (ssize(made.text) > kMaxProgramBytes)
    throw UserError(
        fmt::format("a program of {} bytes; at most {} are read", made.text.size(), kMaxProgramBytes));
  for_each_data(plan, [&](const MemorySegment& segment) {
    Tensor data;
    data.dtype = DType::kUint8;
    data.shape = {ssize(segment.bytes)};
    data.bytes = segment.bytes;
    made.files.emplace_back(data_file(stem, segment), npy_bytes(data));
  });
  return made;
}

}  // namespace tilebeat
