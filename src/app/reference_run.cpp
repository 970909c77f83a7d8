#include "app/reference_run.h"

#include "app/signals_blocked.h"
#include "base/types.h"
#include "reference/reference.h"
#include "tilebeat/error.h"

#include <chrono>
#include <system_error>

#include <fmt/format.h>

namespace tilebeat {
ReferenceRun::ReferenceRun(const Workload& workload) : workload_(workload) {
  std::int64_t sum = 0;
  for (const Layer& layer : workload.layers) {
    macs_.push_back(sum += useful_macs(workload, layer) + 1);
    workload.tensor(layer.name);  // remembers the places of all layers before two threads ask
  }
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { make(); });
  } catch (const std::system_error&) {
    // The machine has no further thread: `take` makes the outputs.
  }
}

void ReferenceRun::make() {
  try {
    made_.set_value(compute());
  } catch (...) {
    made_.set_exception(std::current_exception());
  }
}

ReferenceRun::~ReferenceRun() {
  given_up_ = true;
  if (thread_.joinable()) thread_.join();
}

std::map<std::string, Tensor> ReferenceRun::compute() {
  return run_reference(workload_, [this](std::size_t done) {
    done_ = done;
    if (given_up_) throw SimulationError("the outputs of the reference are not needed any more");
  });
}

std::map<std::string, Tensor> ReferenceRun::take(Progress& progress) {
  constexpr std::chrono::milliseconds kLook{100};
  progress.begin();
  if (!thread_.joinable()) make();
  while (outputs_.wait_for(kLook) != std::future_status::ready) {
    const std::size_t done = done_;
    progress.tell(fmt::format("checking outputs, {} of {} layers", done, macs_.size()), share(done));
  }
  progress.clear();
  return outputs_.get();
}

// The fraction of the work in the first `layers` layers.
double ReferenceRun::share(std::size_t layers) const {
  return layers == 0 ? 0 : ratio_of(macs_[layers - 1], macs_.back());
}

}  // namespace tilebeat
