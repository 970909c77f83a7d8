#pragma once

#include "base/types.h"
#include "observe/timeline.h"
#include "observe/vector_ports.h"
#include "observe/vector_records.h"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace tilebeat {

/// Instructions of all processors as vectors: a record when one begins a stage. `next`, which may be null,
/// gets everything as well.
class ProgramVectors : public ProgramLog {
 public:
  explicit ProgramVectors(ProgramLog* next) : next_(next) {}
  int add_processor(const std::string& name) override;
  void begin(int processor, std::uint64_t number, ProgramStage stage, Cycle at) override;
  void name(int processor, std::uint64_t number, const std::string& text) override;
  /// Describes the port of the instructions in `port`, and writes its files and `programs.txt`.
  VectorRecords write(VectorPort& port, bool text, const VectorSink& sink);

 private:
  ProgramLog* next_;
  std::vector<std::string> processors_;
  std::vector<std::tuple<Cycle, int, std::uint64_t, int>> stages_;
  std::vector<std::tuple<int, std::uint64_t, std::string>> texts_;
};

}  // namespace tilebeat
