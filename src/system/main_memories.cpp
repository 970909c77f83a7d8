#include "system/main_memories.h"

#include "isa/address_map.h"

#include <utility>

namespace tilebeat {

MainMemories::MainMemories(std::vector<std::string> names, const DramConfig& dram,
                           ExternalMemory::Port* outside)
    : names_(std::move(names)),
      dram_(dram),
      outside_(outside),
      drams_(outside == nullptr ? names_.size() : 0),
      external_(outside == nullptr ? 0 : names_.size()) {
  dram_.size_bytes /= count();
}

std::vector<std::function<void()>> MainMemories::steps(const SimContext& context) {
  std::vector<std::function<void()>> steps;
  for (int i = 0; i < count(); ++i) {
    steps.emplace_back([this, &context, i] {
      const char* const name = nth(names_, i).c_str();
      if (outside_ != nullptr) {
        nth(external_, i) = std::make_unique<ExternalMemory>(name, context, *outside_, dram_.queue_depth);
        return;
      }
      const AddressSlice slice{to_unsigned(i), to_unsigned(count()), kControllerBytes};
      nth(drams_, i) = std::make_unique<DramController>(name, dram_, context, slice);
    });
  }
  return steps;
}

tlm::tlm_target_socket<>& MainMemories::socket(int number) {
  if (outside_ != nullptr) return nth(external_, number)->socket;
  return nth(drams_, number)->socket;
}

void MainMemories::collect(SnapshotVisitor& visitor, Picoseconds at) {
  for (int i = 0; i < count(); ++i) {
    if (outside_ != nullptr)
      visitor.external(nth(names_, i), *nth(external_, i));
    else
      visitor.dram(nth(names_, i), *nth(drams_, i), at);
  }
}

void MainMemories::probe(UnitProbes& probes) {
  for (int i = 0; i < count(); ++i) {
    if (outside_ != nullptr)
      probes.ledger(nth(names_, i), nth(external_, i)->ledger);
    else
      probes.dram(nth(names_, i), *nth(drams_, i));
  }
}

void MainMemories::clear() {
  for (const auto& dram : drams_) dram->clear();
}

void MainMemories::withdraw(std::uint64_t begin, std::uint64_t end) {
  for (const auto& memory : external_) memory->withdraw(begin, end);
}

}  // namespace tilebeat
