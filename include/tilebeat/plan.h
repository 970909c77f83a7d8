#pragma once

#include "tilebeat/hardware.h"
#include "tilebeat/workload.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {

/// The options of `plan`.
struct PlanOptions {
  /// The text of a mapping file (JSON, docs/planner.md), such as `NetworkPlan::mapping` returns. What it does
  /// not determine, the planner chooses. Empty: the planner chooses everything.
  std::string mapping = {};
};

/// A network lowered to programs for some hardware, with the contents of DRAM that these need: weights,
/// inputs and the programs themselves. It cannot be changed; copies share it, and neither Hardware nor
/// Network need to be kept for it.
class NetworkPlan {
 public:
  /// The planner's view of one layer, or of one fusion group: layers that run as one.
  struct Layer {
    std::string name;                   ///< the layer's; of a fusion group that of its last layer
    std::string op;                     ///< the operator as in workload files; "fused" for a fusion group
    std::vector<std::string> layers;    ///< the layers of a fusion group; empty for a single layer
    std::int64_t macs = 0;              ///< useful multiply-accumulates
    std::int64_t estimated_cycles = 0;  ///< the planner's estimate; 0: it has none
    std::int64_t bound_cycles = 0;      ///< lower bound, by peak arithmetic and peak DRAM bandwidth
    std::int64_t dram_read_bytes = 0, dram_write_bytes = 0;  ///< planned DRAM traffic in bytes
  };

  /// Layers and fusion groups in the order in which they run.
  std::vector<Layer> layers() const;
  /// Bytes of DRAM in use, counted from address 0.
  std::uint64_t dram_bytes() const;
  /// The planner's decisions with their reasons, for people: what `tilebeat plan` prints.
  std::string text() const;
  /// The text of a mapping file (JSON) that asks for exactly this mapping: see `PlanOptions::mapping`.
  std::string mapping() const;

  /// The library's own; users have no definition of it.
  struct Inner;
  explicit NetworkPlan(std::shared_ptr<const Inner> inner) : inner_(std::move(inner)) {}
  const std::shared_ptr<const Inner>& inner() const { return inner_; }

 private:
  std::shared_ptr<const Inner> inner_;
};

/// Lowers `network` to programs for `hardware`. The planner goes by its estimates; the hardware field
/// `planner.search`, which lets the command line simulate mappings, has no effect. Throws UserError that
/// names the layer and the hardware field that is too small, or the part of the mapping that cannot be
/// fulfilled.
NetworkPlan plan(const Hardware& hardware, const Network& network, const PlanOptions& options = {});

}  // namespace tilebeat
