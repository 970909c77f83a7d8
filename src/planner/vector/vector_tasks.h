#pragma once

#include "config/hardware_config.h"
#include "planner/language/mapping_file.h"
#include "planner/language/task_graph.h"
#include "planner/layer/matrix_tasks.h"
#include "program/plan.h"
#include "workload/workload.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tilebeat {

/// A layer on the vector units of a chip. Pure; `layer` and `hardware` outlive it.
class VectorLayer {
 public:
  virtual ~VectorLayer() = default;
  /// Tables and factors, which lie in DRAM; may be empty.
  virtual const std::vector<std::uint8_t>& parameters() const = 0;
  /// Bytes of maps that the layer touches at least once, results included.
  virtual std::int64_t touched_bytes() const = 0;
  /// Adds the tasks of `cores` cores; parameters lie at `parameters`. Returns how many have work. Throws
  /// UserError when a step does not fit NRAM.
  virtual int add_tasks(TaskGraph& graph, int cores, DataPath path, std::uint64_t parameters,
                        PlannedBytes& bytes) = 0;
};

/// `inputs` and `output` are places in DRAM. Throws UserError when the layer cannot fit.
std::unique_ptr<VectorLayer> make_vector_layer(const Layer& layer, const HardwareConfig& hardware,
                                               const std::vector<Placement>& inputs, const Placement& output);

}  // namespace tilebeat
