#pragma once

#include "app/background_writer.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "app/step_server.h"
#include "config/hardware_config.h"
#include "observe/chrome_timeline.h"
#include "observe/fst_output.h"
#include "observe/konata_log.h"
#include "observe/vectors_output.h"
#include "observe/waveform_writer.h"
#include "program/plan.h"
#include "program/program_file.h"
#include "report/run_result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// The outputs of a run of `plan`.
OutputPlaces places_of(const RunCommand& command, const Plan& plan);

/// The observers of a run, and the files that it writes.
class RunOutputs {
 public:
  /// `inputs`: the files that the run has read. Throws UserError when the outputs cannot be written to their
  /// places.
  /// `steps`, which may be null: who steps through the run and gets its vectors as they come.
  RunOutputs(const RunCommand& command, const HardwareConfig& hardware, const Plan& plan,
             std::vector<std::string> inputs, StepServer* steps = nullptr);

  Observers observers();
  /// Takes the memory behind the run; empty where nobody asks for it.
  std::function<void(std::uint64_t, const std::vector<std::uint8_t>&)> memory_after();
  /// Takes a bank on the chip behind the run; empty where nobody asks for it.
  std::function<void(const std::string&, const std::uint8_t*, std::size_t)> bank_after();
  /// Serves between two clocks; empty where nobody steps through the run.
  std::function<Cycle(const MemoryBetweenClocks&)> step();
  /// Writes the table of a campaign's faults, if there is to be one.
  void write_fault_table(std::string_view table);
  /// Throws UserError when the files certainly cannot be made as requested.
  void check() const;
  /// Writes everything, and first sets `result.written`. `provenance` becomes a part of the report.
  void write(const HardwareConfig& hardware, const nlohmann::ordered_json& provenance, RunResult& result);
  /// The single files that are written, each with its option.
  std::vector<std::pair<const char*, std::string>> files() const { return places_.files(); }
  /// Remarks for the user on waveform and timeline, a line each: that one ends early, or is empty.
  std::vector<std::string> remarks(const RunResult& result) const;

 private:
  void open_waveform(const RunCommand& command);
  void write_waveform(const RunResult& result);
  const std::string& dump_name() const { return command_.vcd.empty() ? command_.fst : command_.vcd; }
  VectorOptions vector_options(const HardwareConfig& hardware) const;
  void open_vectors(const RunCommand& command, const HardwareConfig& hardware, const Plan& plan);
  void write_vectors(Picoseconds end);
  Picoseconds end_of(const RunResult& result) const;
  void remove_earlier_vectors() const;
  OutputFile& vector_file(const std::string& file);
  void append(const std::string& file, std::string_view bytes);
  void open_timeline(const RunCommand& command, const HardwareConfig& hardware, const Plan& plan);

  RunCommand command_;
  OutputPlaces places_;
  std::vector<std::string> inputs_;
  Picoseconds period_;
  OutputFiles files_;
  std::optional<WaveformWriter> waveform_;
  std::optional<VcdOutput> vcd_;
  std::optional<FstOutput> fst_;
  std::optional<ProgramIndex> programs_;
  std::optional<ChromeTimeline> timeline_;
  std::optional<KonataLog> konata_;
  std::optional<BackgroundWriter> writer_;  // of the vectors
  std::optional<VectorsOutput> vectors_;
  StepServer* steps_ = nullptr;         // gets them, instead of files
  std::vector<VectorMemory> memories_;  // behind the run
  std::optional<ProgramVectors> program_vectors_;
  std::map<std::string, OutputFile*> vector_files_;
  std::set<std::string> earlier_vectors_;  // names of files in the folder that an earlier run wrote
  OutputFile* view_file_ = nullptr;
  OutputFile* timeline_file_ = nullptr;
  OutputFile* konata_file_ = nullptr;
};

}  // namespace tilebeat
