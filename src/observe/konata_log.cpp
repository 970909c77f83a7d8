#include "observe/konata_log.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kStageCount = 4;
constexpr char kStageNames[kStageCount + 1] = "FDWX";

}  // namespace

int KonataLog::add_processor(const std::string& name) {
  processors_.push_back(name);
  return count_of(processors_) - 1;
}

void KonataLog::begin(int processor, std::uint64_t number, ProgramStage stage, Cycle at) {
  write_before(now_());
  pending_.push_back({at, {processor, number}, stage, {}});
}

void KonataLog::name(int processor, std::uint64_t number, const std::string& text) {
  names_[{processor, number}] = text;
}

// Writes everything before `cycle`, for which no further event can come.
void KonataLog::write_before(Cycle cycle) {
  if (pending_.empty() || cycle <= written_) return;
  std::sort(pending_.begin(), pending_.end());
  auto done = pending_.begin();
  for (; done != pending_.end() && done->at < cycle; ++done) write(*done);
  pending_.erase(pending_.begin(), done);
}

void KonataLog::write(const Event& event) {
  if (!begun_) {
    sink_(fmt::format("Kanata\t0004\nC=\t{}\n", event.at));
    begun_ = true;
  } else if (event.at > written_) {
    sink_(fmt::format("C\t{}\n", event.at - written_));
  }
  written_ = event.at;
  const auto& [processor, number] = event.key;
  if (event.stage == ProgramStage::kFetch) {
    const Open& open = open_[event.key] = {next_id_++, 'F'};
    sink_(fmt::format("I\t{}\t{}\t{}\nS\t{}\t0\tF\n", open.id, number, processor, open.id));
    return;
  }
  const auto found = open_.find(event.key);
  if (found == open_.end()) return;
  Open& open = found->second;
  sink_(fmt::format("E\t{}\t0\t{}\n", open.id, open.stage));
  if (const auto name = names_.find(event.key); name != names_.end()) {
    sink_(fmt::format("L\t{}\t0\t{}: {}\n", open.id, nth(processors_, processor), name->second));
    names_.erase(name);
  }
  if (event.stage == ProgramStage::kRetire || event.stage == ProgramStage::kFlush) {
    const bool flushed = event.stage == ProgramStage::kFlush;
    sink_(fmt::format("R\t{}\t{}\t{}\n", open.id, flushed ? 0 : retired_++, flushed ? 1 : 0));
    open_.erase(found);
    return;
  }
  open.stage = nth(kStageNames, event.stage);
  sink_(fmt::format("S\t{}\t0\t{}\n", open.id, open.stage));
}

void KonataLog::finish() {
  write_before(std::numeric_limits<Cycle>::max());
  if (!begun_) sink_("Kanata\t0004\nC=\t0\n");
}

}  // namespace tilebeat
