#include "app/run_outputs.h"

#include "app/output_files.h"
#include "app/provenance.h"
#include "config/hardware_config.h"
#include "observe/waveform_writer.h"
#include "report/report.h"
#include "schema/json_file.h"
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

// Whether lines of zeros are written.
enum class Zeros : std::uint8_t { kShown, kLeftOut };

// Bytes of a memory as $readmemh reads them (IEEE 1364, 17.2.9): lines of an address and up to 32 bytes.
std::string memory_lines(std::uint64_t address, const std::uint8_t* bytes, std::size_t count, Zeros zeros) {
  constexpr std::size_t kLine = 32;
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t first = 0; first < count; first += kLine) {
    const std::size_t end = std::min(first + kLine, count);
    const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
    if (zeros == Zeros::kLeftOut && std::all_of(bytes + first, bytes + end, is_zero)) continue;
    text += fmt::format("@{:x}", address + first);
    for (std::size_t i = first; i < end; ++i) {
      text += ' ';
      text += kDigits[bytes[i] >> 4];
      text += kDigits[bytes[i] & 0xF];
    }
    text += '\n';
  }
  return text;
}

// The folder of vectors is new, empty, or holds earlier vectors, and none of the files that the run reads.
void check_vectors_folder(const RunCommand& command, const OutputPlaces& places,
                          const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  const fs::path folder = place_of(command.vectors);
  std::error_code ignored;
  for (const std::string& input : inputs) {
    if (place_of(input).parent_path() == folder)
      throw UserError(
          fmt::format("--vectors {}: {} is read by this run and lies there", command.vectors, input));
  }
  if (folder == place_of(places.out) || folder == place_of(places.outputs()))
    throw UserError(
        fmt::format("--vectors {} and --out {}: are the same folder", command.vectors, places.out));
  for (const auto& [option, file] : places.files()) {
    if (place_of(file).parent_path() == folder)
      throw UserError(fmt::format("{} {}: lies in the folder of --vectors", option, file));
  }
  if (fs::is_directory(folder, ignored) && !fs::is_empty(folder, ignored) &&
      !fs::exists(folder / "ports.json", ignored))
    throw UserError(fmt::format(
        "--vectors {}: has other files; a new or empty folder, or one of earlier vectors, is expected",
        command.vectors));
}

// The files of the ports that `ports.json` in a folder lists, and their texts; none where there is no such
// file.
std::set<std::string> files_of_vectors(const std::string& folder) {
  std::set<std::string> files;
  const std::string index = folder + "/ports.json";
  std::error_code ignored;
  if (!std::filesystem::exists(index, ignored)) return files;
  const nlohmann::json read = parse_json(read_file(index, kMaxJsonBytes), index);
  const nlohmann::json ports =
      read.is_object() ? read.value("ports", nlohmann::json::array()) : nlohmann::json();
  if (!ports.is_array()) throw UserError(index + ": is no list of ports of earlier vectors");
  for (const nlohmann::json& port : ports) {
    if (!port.is_object() || !port.contains("name") || !port["name"].is_string()) continue;
    const auto name = port["name"].get<std::string>();
    if (std::filesystem::path(name).filename() == name) files.insert({name + ".bin", name + ".txt"});
  }
  return files;
}

}  // namespace

OutputPlaces places_of(const RunCommand& command, const Plan& plan) {
  return {command.out,      plan.outputs,   command.vcd,           command.fst,
          command.timeline, command.konata, command.campaign.table};
}

RunOutputs::RunOutputs(const RunCommand& command, const HardwareConfig& hardware, const Plan& plan,
                       std::vector<std::string> inputs, StepServer* steps)
    : command_(command),
      places_(places_of(command, plan)),
      inputs_(std::move(inputs)),
      period_(hardware.clock_ps()),
      steps_(steps) {
  note_inputs(inputs_);
  check_places(places_);
  files_.make_folder(places_.out);
  files_.lock_folder(places_.out);
  files_.make_folder(places_.outputs());
  files_.begin_set(places_.out);
  if (command.has_waveform()) open_waveform(command);
  if (!command.vectors.empty()) open_vectors(command, hardware, plan);
  if (steps_ != nullptr) {
    steps_->know(plan, hardware.dram.size_bytes);
    vectors_.emplace(vector_options(hardware), steps_->sink());
  }
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

VectorOptions RunOutputs::vector_options(const HardwareConfig& hardware) const {
  VectorOptions options;
  options.patterns = command_.vectors_ports;
  options.text = command_.vectors_text;
  options.clock_ps = period_;
  options.dram_clock_ps = hardware.dram.clock_ps;
  options.now = now_ps;
  return options;
}

// The folder is new, empty, or has earlier vectors: nothing else is overwritten.
void RunOutputs::open_vectors(const RunCommand& command, const HardwareConfig& hardware, const Plan& plan) {
  check_vectors_folder(command, places_, inputs_);
  files_.make_folder(command.vectors);
  earlier_vectors_ = files_of_vectors(command.vectors);
  writer_.emplace();
  vectors_.emplace(vector_options(hardware),
                   [this](const std::string& file, std::vector<char>& buffer, std::size_t count) {
                     writer_->append(vector_file(file), buffer, count);
                   });
  append("ports.json", "");  // the folder can be written
  std::vector<const MemorySegment*> segments;
  for (const MemorySegment& segment : plan.image) segments.push_back(&segment);
  std::sort(segments.begin(), segments.end(),
            [](const auto* a, const auto* b) { return a->address < b->address; });
  for (const MemorySegment* segment : segments)
    append("dram.before.hex",
           memory_lines(segment->address, segment->bytes.data(), segment->bytes.size(), Zeros::kShown));
}

OutputFile& RunOutputs::vector_file(const std::string& file) {
  OutputFile*& place = vector_files_[file];
  if (place == nullptr) place = &files_.open(command_.vectors + "/" + file);
  return *place;
}

// Appends to a file of the vectors that the thread does not write: images of memory, `ports.json` at first.
void RunOutputs::append(const std::string& file, std::string_view bytes) {
  vector_file(file).append(bytes);
}

std::function<Cycle(const MemoryBetweenClocks&)> RunOutputs::step() {
  if (steps_ == nullptr) return {};
  return [this](const MemoryBetweenClocks& memory) { return steps_->ask(memory, *vectors_, period_); };
}

std::function<void(std::uint64_t, const std::vector<std::uint8_t>&)> RunOutputs::memory_after() {
  if (command_.vectors.empty()) return {};
  return [this](std::uint64_t address, const std::vector<std::uint8_t>& bytes) {
    append("dram.after.hex", memory_lines(address, bytes.data(), bytes.size(), Zeros::kLeftOut));
  };
}

// A bank is empty before the run.
std::function<void(const std::string&, const std::uint8_t*, std::size_t)> RunOutputs::bank_after() {
  if (command_.vectors.empty()) return {};
  return [this](const std::string& name, const std::uint8_t* bytes, std::size_t count) {
    const std::string lines = memory_lines(0, bytes, count, Zeros::kLeftOut);
    const std::string file = lines.empty() ? "" : name + ".after.hex";
    if (!lines.empty()) append(file, lines);
    memories_.push_back({name, file, to_signed(count)});
  };
}

// The end of what observers show: the programs', which may end behind the last layer.
Picoseconds RunOutputs::end_of(const RunResult& result) const {
  return (std::max(result.cycles, now_ps() / period_) + 1) * period_;
}

void RunOutputs::write_vectors(Picoseconds end) {
  vectors_->finish(end, *program_vectors_, memories_);
  if (steps_ != nullptr) return steps_->end(end / period_);
  writer_->finish();
  if (const auto unmatched = vectors_->unmatched_patterns(); !unmatched.empty())
    throw UserError(fmt::format("--vectors-ports {}: no port is called like that", unmatched.front()));
}

// Vectors of ports that this run does not have would be taken for its own.
void RunOutputs::remove_earlier_vectors() const {
  for (const std::string& file : earlier_vectors_) {
    std::error_code ignored;
    if (vector_files_.count(file) == 0) std::filesystem::remove(place_of(command_.vectors) / file, ignored);
  }
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
  ProgramLog* programs = konata_ ? &*konata_ : nullptr;
  if (vectors_) programs = &program_vectors_.emplace(programs);
  Trace* trace = waveform_ ? &*waveform_ : nullptr;
  if (vectors_) trace = &*vectors_;
  return {trace, timeline_ ? &*timeline_ : nullptr, programs};
}

void RunOutputs::write_fault_table(std::string_view table) {
  if (!places_.fault_table.empty()) files_.write(places_.fault_table, table);
}

void RunOutputs::check() const {
  files_.check();
  if (!waveform_ || waveform_->unmatched_patterns().empty()) return;
  throw UserError(fmt::format("--vcd-signals {}: no signal is called like that",
                              waveform_->unmatched_patterns().front()));
}

void RunOutputs::write_waveform(const RunResult& result) {
  const Picoseconds end = end_of(result);
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
  if (vectors_) {
    write_vectors(end_of(result));
  } else if (waveform_) {
    write_waveform(result);
  }
  if (konata_) konata_->finish();
  if (timeline_)
    timeline_->write(result.cycles, [this](std::string_view text) { timeline_file_->write(text); });
  OutputHashes hashes;
  for (const std::string& name : places_.names) {
    const auto output = result.outputs.find(name);
    if (output == result.outputs.end()) continue;  // never computed: `failures` says why
    const auto bytes = npy_bytes(output->second);
    hashes[name] = sha256_of_bytes(bytes);
    files_.write(places_.tensor(name), bytes);
    result.written.push_back(name);
  }
  OutputFile& report = files_.open(places_.report());
  DigestedText text([&report](std::string_view part) { report.write(part); });
  write_report(result, hardware_to_json(hardware), with_outputs(provenance, hashes),
               [&text](std::string_view part) { text.write(part); });
  text.end();
  files_.commit(obsolete_outputs(places_));
  remove_earlier_vectors();
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
