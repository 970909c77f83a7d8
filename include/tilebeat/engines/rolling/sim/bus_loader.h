#pragma once

#include "tilebeat/engines/rolling/sim/operand_loader.h"
#include "tilebeat/fabric/burst_port.h"

#include <deque>
#include <vector>

namespace tilebeat::rolling {

/// A loader that reads over a bus: of a board without cores, straight from DRAM (SPEC RO-5).
///
/// Throughput: one request a cycle, of up to request_bytes neighbouring bytes that several lines may share:
/// the addresses of as many lines are generated in that cycle. A line of padding alone can enter in the cycle
/// after its turn. A request is made when there is room for as many lines as the longest one can hold, or for
/// half of the queue.
class BusLoader : public OperandLoader {
 public:
  BurstPort port;

  BusLoader(OperandName operand, const SimContext& context, const RollingConfig& config, int max_outstanding,
            sc_core::sc_event& changed);

  CycleLedger& request_ledger() override { return port.ledger; }
  void begin(Job& /*job*/, Cycle /*now*/) override {}
  void take(Cycle now) override;
  void request(Rounds& rounds, Cycle now, Activity idle) override;
  void request_ahead(Rounds& /*rounds*/) override {}
  void schedule(NextClock& next) const override;

 private:
  struct Fragment {
    std::int64_t line = 0;
    int at = 0, bytes = 0;
  };
  struct Pending {
    Fragment fragment;
    std::uint64_t address = 0;
  };
  bool prepare_next(Rounds& rounds, Cycle now);
  std::int64_t left(Cycle now);

  int batch_;                                 // lines that the longest request can hold
  std::int64_t left_ = 0;                     // lines that have entered before the present
  std::deque<Pending> pending_;               // of prepared lines, not requested
  std::deque<std::vector<Fragment>> bursts_;  // under way
  std::vector<std::vector<Fragment>> spare_;
};

}  // namespace tilebeat::rolling
