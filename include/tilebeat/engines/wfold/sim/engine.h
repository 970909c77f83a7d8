#pragma once

#include "tilebeat/engines/wfold/config.h"
#include "tilebeat/engines/wfold/sim/wfold_master.h"
#include "tilebeat/engines/wfold/sim/wfold_slave.h"
#include "tilebeat/engines/wfold/sim/wfold_writer.h"
#include "tilebeat/sim/build_order.h"

#include <memory>
#include <vector>

#include <systemc>

namespace tilebeat {

/// The W-fold engine of document 003 figure 5: the master's reading and writing halves and the slaves, joined
/// by sockets. Its outward sockets are those of its parts: the two ports to the first storage, the slaves'
/// ports to their regions of the second one, the matrix command and the two completions.
class WfoldEngine : public sc_core::sc_module {
 public:
  /// `nram` is the address of the first storage, `region_bytes` the size of a region of the second one.
  WfoldEngine(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config,
              int max_outstanding, std::uint64_t nram, std::int64_t region_bytes, Granularity granularity,
              BuildOrder& order);

  std::unique_ptr<WfoldMaster> master;
  std::unique_ptr<WfoldWriter> writer;
  std::vector<std::unique_ptr<WfoldSlave>> slaves;  ///< sl0..sl(Ns-1)
};

}  // namespace tilebeat
