#include "program/plan.h"

#include "base/types.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::uint64_t kAlignment = 64;

void append(std::vector<std::uint8_t>& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> 8 * i));
}

std::string layer_text(const LayerPlan& layer) {
  std::string text = fmt::format("layer {} ({}, scene {})\n", layer.name, layer.op, layer.scene);
  if (layer.on_host)
    return text + fmt::format("  on the host      {} bytes read, {} written, in no cycles of the chip\n\n",
                              layer.on_host->read, layer.on_host->written);
  for (const auto* decisions : {&layer.choices, &layer.facts}) {
    for (const auto& [name, what] : *decisions) text += fmt::format("  {:<16} {}\n", name, what);
  }
  text += fmt::format("  DRAM bytes       {} of maps, {} of kernels, {} of results, {} of instructions{}\n",
                      layer.input_bytes, layer.kernel_bytes, layer.output_bytes, layer.instruction_bytes,
                      layer.table_bytes > 0 ? fmt::format(", {} of tables", layer.table_bytes) : "");
  text += fmt::format("  useful MACs      {}\n", layer.macs);
  text += fmt::format("  lower bound      {} cycles of multiplying, {} of beats, {} of DRAM\n",
                      layer.bound.compute, layer.bound.beats, layer.bound.dram);
  return text + fmt::format("  estimate         {} cycles\n\n", layer.estimated_cycles);
}

}  // namespace

std::string layers_text(const Plan& plan) {
  std::string text;
  for (const LayerPlan& layer : plan.layers) text += layer_text(layer);
  return text;
}

std::string programs_text(const Plan& plan, const HardwareConfig& hardware) {
  std::string text;
  for (const ProgramImage& program : plan.programs) {
    text += fmt::format("program {} of {} at {:#x}: {} instructions of {} bytes\n", program.label,
                        processor_name(hardware.chip, program.processor), program.address,
                        program.instructions.size(), kInstructionBytes);
  }
  return text + fmt::format("DRAM in use: {} bytes\n", plan.dram_bytes);
}

void place_start_tables(Plan& plan, const HardwareConfig& hardware) {
  if (!hardware.chip || hardware.host.start != HostStart::kTable) return;
  std::vector<MemorySegment> tables;
  for (const ProgramImage& program : plan.programs) {
    const auto same = [&](const StartTable& t) { return t.label == program.label; };
    auto table = std::find_if(plan.start_tables.begin(), plan.start_tables.end(), same);
    if (table == plan.start_tables.end()) {
      table = plan.start_tables.insert(table, {program.label, 0, 0});
      tables.push_back({"start table " + program.label, 0, {}});
    }
    std::vector<std::uint8_t>& bytes = nth(tables, table - plan.start_tables.begin()).bytes;
    append(bytes, program.address, 8);
    append(bytes, program.instructions.size() * kInstructionBytes, 4);
    append(bytes, to_unsigned(program.processor), 4);
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i].address = plan.start_tables[i].address = align_up(plan.dram_bytes, kAlignment);
    plan.start_tables[i].bytes = tables[i].bytes.size();
    plan.dram_bytes = tables[i].address + tables[i].bytes.size();
    plan.image.push_back(std::move(tables[i]));
  }
}

}  // namespace tilebeat
