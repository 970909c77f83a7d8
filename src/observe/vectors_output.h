#pragma once

#include "base/types.h"
#include "observe/timeline.h"
#include "observe/trace.h"
#include "observe/waveform_output.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tilebeat {

/// The bytes of a file of vectors come piece by piece.
using VectorSink = std::function<void(const std::string& file, std::string_view bytes)>;

/// What is written of vectors.
struct VectorOptions {
  std::vector<std::string> patterns;  ///< shell patterns for names of ports; none: all ports
  bool text = false;                  ///< a text beside each binary file
  Picoseconds clock_ps = 0;           ///< period of the NPU's clock
  Picoseconds dram_clock_ps = 0;      ///< period in which the ports of DRAM channels count
};

/// Instructions of all processors as vectors: a record when one begins a stage. `next`, which may be null,
/// gets everything as well.
class ProgramVectors : public ProgramLog {
 public:
  explicit ProgramVectors(ProgramLog* next) : next_(next) {}
  int add_processor(const std::string& name) override;
  void begin(int processor, std::uint64_t number, ProgramStage stage, Cycle at) override;
  void name(int processor, std::uint64_t number, const std::string& text) override;

 private:
  friend class VectorsOutput;
  ProgramLog* next_;
  std::vector<std::string> processors_;
  std::vector<std::tuple<Cycle, int, std::uint64_t, int>> stages_;
  std::vector<std::tuple<int, std::uint64_t, std::string>> texts_;
};

/// Writes what went over each port, clock by clock, as golden vectors for hardware (SPEC CY-8). A signal that
/// is high while a port carries something makes a port, whose fields are the signals that belong to it;
/// what no such signal governs is in the port `registers` of its scope, a record for each change. A file has
/// the records of one port: the clock in eight bytes, then each field in as many bytes as its bits take, the
/// lowest byte first. `ports.json` names the ports.
class VectorsOutput : public WaveformOutput {
 public:
  VectorsOutput(VectorOptions options, VectorSink sink)
      : options_(std::move(options)), sink_(std::move(sink)) {}
  void open(const std::vector<SignalInfo>& signals, Picoseconds begin, Picoseconds end) override;
  void opened() override { opened_ = true; }
  void value(Picoseconds at, int rank, const std::uint64_t* words) override;
  void text(Picoseconds at, int rank, std::string_view text) override;
  void close(Picoseconds end, const std::string& remark) override;
  /// Writes the port of the instructions and `ports.json`; to be called once, behind `close`.
  void finish(ProgramVectors& programs);
  /// The patterns that no port matches. Complete behind `finish`.
  std::vector<std::string> unmatched_patterns() const;

 private:
  struct Field {
    std::string name;
    int bits = 0;
    int rank = -1;  // of its signal; none for fields that a port has besides
    std::size_t bytes() const { return (to_size(bits) + 7) / 8; }
  };
  // kStrobed: a record in each clock in which the strobe is high. kChanges: one for each change of a signal.
  enum class Kind : std::uint8_t { kStrobed, kChanges };
  struct Port {
    std::string name, stage;
    Kind kind = Kind::kStrobed;
    Picoseconds clock_ps = 0;
    std::vector<Field> fields;
    std::vector<std::string> members;  // kChanges: the signals, by the number in a record
    std::vector<std::string> texts;    // the texts that a signal may have, by their numbers
    bool high = false;
    Cycle next = 0;  // the first clock that has no record yet
    std::int64_t records = 0;
    std::string waiting, text;
  };
  // Where a signal belongs.
  struct Place {
    int port = -1;
    int member = 0;
    bool strobe = false;
  };
  class Grouping;

  int add_port(const std::string& name, Kind kind, const std::string& scope);
  void complete_ports();
  void emit_before(Port& port, Picoseconds at);
  void emit_fields(Port& port, Cycle clock);
  void add_record(Port& port, Cycle clock, std::string_view fields);
  void pass_on(Port& port, std::size_t limit);
  std::string description(const Port& port) const;

  VectorOptions options_;
  VectorSink sink_;
  bool opened_ = false;
  std::vector<bool> matched_;
  std::vector<Port> ports_;
  std::vector<Place> places_;        // by rank
  std::vector<SignalInfo> signals_;  // by rank
  std::vector<std::string> values_;  // by rank: the bytes
  std::vector<bool> known_;          // by rank
  std::string record_;
};

}  // namespace tilebeat
