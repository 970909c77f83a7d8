#include "app/run_outputs.h"

#include "app/output_files.h"
#include "config/hardware_config.h"
#include "observe/waveform_writer.h"
#include "report/report.h"
#include "system/simulation.h"
#include "tilebeat/error.h"
#include "workload/npy.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

TraceFilter filter_of(const RunCommand& command, Picoseconds period) {
  TraceFilter filter;
  filter.patterns = command.vcd_signals;
  filter.begin = command.vcd_from * period;
  if (command.vcd_to) filter.end = *command.vcd_to * period;
  filter.max_bytes = command.vcd_max_mb << 20;
  if (command.vcd.empty()) filter.counted = TraceSize::kChanges;
  return filter;
}

}  // namespace

OutputPlaces places_of(const RunCommand& command, const Plan& plan) {
  return {command.out, plan.outputs, command.vcd, command.fst, command.timeline, command.konata};
}

RunOutputs::RunOutputs(const RunCommand& command, const HardwareConfig& hardware, const Plan& plan,
                       std::vector<std::string> inputs)
    : command_(command),
      places_(places_of(command, plan)),
      inputs_(std::move(inputs)),
      period_(hardware.clock_ps()) {
  check_places(places_, inputs_);
  files_.make_folder(places_.out);
  files_.lock_folder(places_.out);
  files_.make_folder(places_.outputs());
  files_.begin_set(places_.out);
  if (command.has_waveform()) open_waveform(command);
  if (!command.timeline.empty()) open_timeline(command, hardware, plan);
  if (!command.konata.empty()) {
    konata_file_ = &files_.open(command.konata);
    konata_.emplace([this] { return now_ps() / period_; },
                    [this](std::string_view text) { konata_file_->write(text); });
  }
}

void RunOutputs::open_waveform(const RunCommand& command) {
  const TraceFilter filter = filter_of(command, period_);
  if (!command.vcd.empty()) {
    OutputFile& file = files_.open(command.vcd);
    vcd_.emplace(filter.max_bytes, [&file](std::string_view text) { file.write(text); });
  }
  if (const std::string view = places_.view(); !view.empty()) view_file_ = &files_.open(view);
  if (!command.fst.empty()) {
    OutputFile& file = files_.open(command.fst);
    fst_.emplace([&file](std::string_view bytes) { file.write(bytes); },
                 [&file](std::string_view bytes) { file.rewrite(bytes); });
  }
  waveform_.emplace(filter, period_, now_ps);
}

void RunOutputs::open_timeline(const RunCommand& command, const HardwareConfig& hardware, const Plan& plan) {
  timeline_file_ = &files_.open(command.timeline);
  programs_.emplace(plan);
  TimelineOptions options;
  options.system = hardware.chip ? "chip" : "soc";
  options.clock_period = period_;
  options.peak_macs = hardware.macs_per_clock();
  options.max_bytes = command.timeline_max_mb << 20;
  options.now = now_ps;
  options.place_of = [this](std::uint64_t address) -> std::optional<WorkPlace> {
    const std::optional<ProgramIndex::Place> place = programs_->find(address);
    if (!place) return std::nullopt;
    return WorkPlace{programs_->layers()[place->layer], place->number};
  };
  timeline_.emplace(std::move(options));
}

Observers RunOutputs::observers() {
  return {waveform_ ? &*waveform_ : nullptr, timeline_ ? &*timeline_ : nullptr,
          konata_ ? &*konata_ : nullptr};
}

void RunOutputs::check() const {
  files_.check();
  if (!waveform_ || waveform_->unmatched_patterns().empty()) return;
  throw UserError(fmt::format("--vcd-signals {}: no signal is called like that",
                              waveform_->unmatched_patterns().front()));
}

void RunOutputs::write_waveform(const RunResult& result) {
  const Picoseconds end = (result.cycles + 1) * period_;
  std::vector<WaveformOutput*> outputs;
  if (vcd_) outputs.push_back(&*vcd_);
  if (fst_) outputs.push_back(&*fst_);
  waveform_->finish(end, outputs);
  if (view_file_ != nullptr) {
    const std::string dump = std::filesystem::path(dump_name()).filename().string();
    const Picoseconds begin = waveform_->window_begin();
    const Picoseconds shown = command_.vcd_to ? std::min(end, *command_.vcd_to * period_) : end;
    view_file_->write(gtkwave_view(waveform_->signals(), waveform_->activity(), dump, begin, shown));
  }
}

void RunOutputs::write(const HardwareConfig& hardware, const nlohmann::ordered_json& provenance,
                       RunResult& result) {
  if (waveform_) write_waveform(result);
  if (konata_) konata_->finish();
  if (timeline_)
    timeline_->write(result.cycles, [this](std::string_view text) { timeline_file_->write(text); });
  for (const std::string& name : places_.names) {
    const auto output = result.outputs.find(name);
    if (output == result.outputs.end()) continue;  // never computed: `failures` says why
    files_.write(places_.tensor(name), npy_bytes(output->second));
    result.written.push_back(name);
  }
  OutputFile& report = files_.open(places_.report());
  write_report(result, hardware_to_json(hardware), provenance,
               [&report](std::string_view text) { report.write(text); });
  files_.commit(obsolete_outputs(places_, inputs_));
}

std::vector<std::string> RunOutputs::remarks(const RunResult& result) const {
  std::vector<std::string> remarks;
  const bool truncated = (waveform_ && waveform_->truncated()) || (vcd_ && vcd_->truncated());
  if (truncated)
    remarks.push_back(fmt::format("{} ends early: it reached the cap of {} MB (--vcd-max-mb)", dump_name(),
                                  command_.vcd_max_mb));
  if (waveform_ && !truncated && command_.vcd_from > result.cycles)
    remarks.push_back(fmt::format("{} shows nothing: the run ended at clock {}, --vcd-from is {}",
                                  dump_name(), result.cycles, command_.vcd_from));
  if (timeline_ && timeline_->ended_at())
    remarks.push_back(fmt::format("{} ends at clock {}: it reached the limit of {} MB (--timeline-max-mb)",
                                  command_.timeline, *timeline_->ended_at(), command_.timeline_max_mb));
  return remarks;
}

}  // namespace tilebeat
