#include "tilebeat/units/work_slice.h"

namespace tilebeat {

void show_work(const SimContext& context, const sc_core::sc_module& module, const Instruction& instruction,
               Cycle begin, Cycle end, const WorkSize& size) {
  Timeline* timeline = context.timeline();
  if (timeline == nullptr) return;
  Slice slice{summary(instruction), context.clock.at(begin), context.clock.at(end)};
  slice.instruction = instruction.address;
  slice.bytes = size.bytes, slice.macs = size.macs;
  timeline->slice(report_name(module), slice);
}

}  // namespace tilebeat
