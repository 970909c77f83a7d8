#include "engines/dot/config.h"

#include "config/engine_config_of.h"
#include "config/hardware_config.h"

#include <fmt/format.h>

namespace tilebeat::dot {

template <class V>
void describe(V& v, DotConfig& c) {
  v.integer("lanes", c.lanes, {1, 64}, "channels that are multiplied a cycle");
  v.integer("kernel_bytes", c.kernel_bytes, {16, 1 << 20},
            "bytes of the kernel register, a multiple of lanes; it holds one kernel");
}

void check_engine(const DotConfig& c, const HardwareConfig& hardware, const Place& root) {
  need(c.kernel_bytes % c.lanes == 0, root.key("dot").key("kernel_bytes"), c.kernel_bytes,
       fmt::format("a multiple of lanes ({})", c.lanes));
  need(hardware.dataflow != kDataflow || hardware.chip.has_value(), root.key("dataflow"), hardware.dataflow,
       "a file with `chip`: the engine reads NRAM and WRAM");
}

std::int64_t peak_macs_per_clock(const DotConfig& c) {
  return c.lanes;
}

std::int64_t results_per_clock(const DotConfig&) {
  return 1;
}

// NRAM: the engine's own registers hold nothing for longer than a step.
FaultSpace fault_space(const DotConfig&, const HardwareConfig& hardware) {
  if (!hardware.chip) return {};
  const MemoryConfig& nram = hardware.chip->core.nram;
  return {nram.banks, nram.size_bytes / nram.banks, FaultSpace::Cells::kNram};
}

EngineDescription description() {
  return {kDataflow, "dot", "sizes of the dot-product engine", make_engine_config<DotConfig>};
}

}  // namespace tilebeat::dot
