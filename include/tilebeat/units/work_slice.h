#pragma once

#include "tilebeat/isa/instruction.h"
#include "tilebeat/sim/work_counter.h"

#include <optional>

#include <systemc>

namespace tilebeat {

/// The size of a piece of work, as far as the unit knows it.
struct WorkSize {
  std::optional<std::int64_t> bytes = {};  ///< moved
  std::optional<std::int64_t> macs = {};   ///< useful multiply-accumulates
};

/// Shows in the timeline, if there is one, that `module` worked on `instruction` in the cycles [begin, end).
void show_work(const SimContext& context, const sc_core::sc_module& module, const Instruction& instruction,
               Cycle begin, Cycle end, const WorkSize& size);

}  // namespace tilebeat
