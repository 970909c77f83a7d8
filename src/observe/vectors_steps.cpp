// Vectors while the run goes on: what a program sees that steps through the clocks.
#include "observe/vectors_output.h"

#include <climits>

namespace tilebeat {

std::string VectorsOutput::describe_ports() {
  if (!opened_) open();
  std::string index;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (!ports_[i].wanted || descriptions_[i].has_texts) continue;
    index +=
        (index.empty() ? "\n" : ",\n") + description_of(descriptions_[i], 0, ports_[i].clocks->period_ps());
  }
  return index;
}

void VectorsOutput::pass_on_before(Picoseconds limit) {
  if (!opened_) open();
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    Port& port = ports_[i];
    if (!port.wanted) continue;
    look(port, limit);
    const bool strobed = descriptions_[i].kind == PortRecordKind::kStrobed;
    if (strobed && port.way != Port::Way::kAtOnce) emit_before(port, limit);
    port.records.pass_on(strobed ? port.clocks->from(limit) : INT64_MAX, sink_);
  }
}

}  // namespace tilebeat
