#pragma once

#include "tilebeat/engines/rolling/sim/line_flow.h"
#include "tilebeat/engines/rolling/sim/operand_image.h"
#include "tilebeat/engines/rolling/sim/operand_loader.h"
#include "tilebeat/engines/rolling/sim/scratchpad_port.h"
#include "tilebeat/sim/granularity.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilebeat::rolling {

/// A loader with a port of its own at a scratchpad: of a core, A from NRAM, B from WRAM (SPEC RO-5, RO-6).
///
/// Throughput: one address generator that makes one access a cycle, of up to port_bytes neighbouring bytes of
/// one line; a line of padding alone takes a cycle, too. A line can enter in the cycle after its last byte
/// arrived, 1 + latency_cycles of the memory after its last access. A line is requested in the cycle in which
/// the one line_queue lines before it is in place, or later.
///
/// Nobody else uses the port, so that the cycle of every access is known as soon as the cycle is known in
/// which lines before have entered. In tile granularity the operands of a run are read at once, through
/// direct memory access; what is left for each line is its cycle.
class ScratchpadLoader : public OperandLoader {
 public:
  ScratchpadPort port;

  ScratchpadLoader(OperandName operand, const SimContext& context, const RollingConfig& config,
                   const MemoryConfig& memory, Granularity granularity);

  /// Every line is read when it has its turn, also in tile granularity: registers flip bits.
  void read_every_line() { reads_images_ = false; }

  CycleLedger& request_ledger() override { return requests_; }
  void begin(Job& job, Cycle now) override;
  void take(Cycle /*now*/) override {}
  /// Tile granularity: all lines of a round enter, whose groups are free from cycle `free` on; `release` is
  /// what they wait for until then. Appends the records that come with them; returns the cycle in which the
  /// last line is in place.
  Cycle load_round(Round& round, Cycle free, Activity release, std::vector<PostParameter>& records);
  /// Tile granularity: the operand of the run that a round belongs to, which began last.
  const OperandImage& image_of(const Round& round);
  void request(Rounds& rounds, Cycle now, Activity idle) override;
  void request_ahead(Rounds& rounds) override;
  void schedule(NextClock& /*next*/) const override {}

 private:
  using KernelsKey = std::array<std::int64_t, 8>;
  struct Kernels {
    KernelsKey key{};
    OperandImage image;
  };
  static constexpr std::size_t kKernels = 4;  // of how many runs they are kept

  static KernelsKey key_of(const Job& job);
  ImageSource source_of(const Job& job) const {
    return {job.schedule, job.lines, job.conv, job.setup, job.run, port};
  }
  void begin_kernels(const Job& job, bool unchanged);
  void request_until(Rounds& rounds, Cycle last);
  void pass_lines(const Round& round, LineFlow& flow, OperandImage::Sum& read);
  void pass_others(const Round& round, LineFlow& flow, OperandImage::Sum& read,
                   std::vector<PostParameter>& records);
  void settle(const LineFlow& flow, Activity release);
  int access(Round& round, Line& made);

  Granularity granularity_;
  bool reads_images_;  // a run's operands are read at once
  CycleLedger requests_;
  Cycle next_turn_ = 0;  // the address generator is free from it on

  // Tile granularity.
  Departures departures_;
  std::array<Kernels, kKernels> kernels_;  // of B
  std::size_t current_ = 0, oldest_ = 0;   // of them
  std::vector<std::int16_t> elements_;     // of the map
  std::vector<OperandImage> maps_;         // of A, for each group of a convolution from the run's first on
};

}  // namespace tilebeat::rolling
