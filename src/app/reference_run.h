#pragma once

#include "app/progress.h"
#include "workload/workload.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace tilebeat {

/// The reference's outputs of all layers, computed on a thread of its own while a run is planned and
/// simulated. They depend on the workload alone.
class ReferenceRun {
 public:
  /// Begins. `workload` must exist unchanged until the outputs are taken or this object ends.
  explicit ReferenceRun(const Workload& workload);
  /// Stops after the layer in progress.
  ~ReferenceRun();
  ReferenceRun(const ReferenceRun&) = delete;
  ReferenceRun& operator=(const ReferenceRun&) = delete;

  /// Waits for the outputs, by layer name, and shows their progress meanwhile; to be called once. Throws what
  /// the reference threw.
  std::map<std::string, Tensor> take(Progress& progress);

 private:
  std::map<std::string, Tensor> compute();
  double share(std::size_t layers) const;

  const Workload& workload_;
  std::vector<std::int64_t> macs_;  // up to the end of each layer; a layer counts one more than it has
  std::atomic<std::size_t> done_ = 0;
  std::atomic<bool> given_up_ = false;
  std::promise<std::map<std::string, Tensor>> made_;
  std::future<std::map<std::string, Tensor>> outputs_ = made_.get_future();
  void make();

  std::thread thread_;
};

}  // namespace tilebeat
