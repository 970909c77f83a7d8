#include "program_borders.h"

namespace tilebeat {

ProgramBorders::Border ProgramBorders::add(const Next& next) {
  const bool first = !last_, after_work = last_works_;
  last_ = next.number, last_works_ = next.works;
  if (!next.works) return Border::kNothing;
  const Borders::Next layer{next.makes, next.reads, works_apart(next.graph, next.dependencies, chip_)};
  const auto faster = [&] {
    return open_.add_if_faster(next.graph, next.dependencies, static_cast<double>(chip_.sync_cycles),
                               next.cycles);
  };
  const bool barrier = !first && (!after_work || borders_.needs_barrier(layer) || !faster());
  borders_.add(layer, barrier);
  if (first || barrier) open_.begin(next.graph, next.dependencies, next.machine, next.cycles);
  if (first) return Border::kNothing;
  return barrier ? Border::kBarrier : Border::kOpen;
}

}  // namespace tilebeat
