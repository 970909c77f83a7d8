#pragma once

#include "base/types.h"
#include "observe/vectors_output.h"
#include "program/plan.h"
#include "system/system.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The simulation's side of a session of the C interface (tilebeat_open): a process that the library has
/// started says over a socket which clocks are complete and what its ports carried, and does what it is asked
/// for between two clocks. The ports are those of `--vectors`. The messages are those of
/// client/step_messages.h.
class StepServer {
 public:
  /// The server that the variable TILEBEAT_STEP_FD asks for; null: nobody does.
  static std::unique_ptr<StepServer> of_environment();
  ~StepServer();
  StepServer(const StepServer&) = delete;
  StepServer& operator=(const StepServer&) = delete;

  /// Where the vectors' bytes go.
  VectorSink sink();
  /// Notes the tensors of a plan, before it is run, and the bytes of DRAM.
  void know(const Plan& plan, std::int64_t memory_bytes) {
    tensors_ = plan.tensors, memory_bytes_ = to_unsigned(memory_bytes);
  }
  /// Tells what there is before the present clock, and serves requests until one lets the simulation go on.
  /// Returns the clock before which it stops again. Throws UserError where nobody asks any more.
  Cycle ask(const MemoryBetweenClocks& memory, VectorsOutput& vectors, Picoseconds clock_ps);
  /// Tells that all clocks are complete, with whatever is left of their records.
  void end(Cycle clocks);

 private:
  explicit StepServer(int socket) : socket_(socket) {}

  void send(char kind, std::uint64_t number, std::string_view bytes);
  void send_waiting();
  void read(void* to, std::size_t count);
  void begin(VectorsOutput& vectors, Picoseconds clock_ps);
  void serve_memory(const MemoryBetweenClocks& memory, char kind, std::uint64_t address,
                    std::string_view bytes);
  void serve_tensor(const MemoryBetweenClocks& memory, char kind, const std::string& name,
                    std::string_view bytes);
  void write(const MemoryBetweenClocks& memory, std::uint64_t address, std::string_view bytes);

  int socket_ = -1;
  std::string waiting_;  // messages that are not sent yet
  bool begun_ = false, runs_out_ = false;
  std::map<std::string, std::uint64_t> numbers_;  // of the ports, by the names of their files
  std::map<std::string, Placement> tensors_;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace tilebeat
