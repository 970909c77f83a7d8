#include "layer_trial.h"

#include "tilebeat/mapping/mapping_file.h"
#include "tilebeat/planner/planner.h"
#include "tilebeat/system/simulation.h"

#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat {
namespace {

Workload workload_of(const Workload& whole, const Layer& layer) {
  Workload alone;
  alone.name = layer.name;
  for (const std::string& name : layer.inputs) {
    const TensorInfo& info = whole.tensor(name);
    alone.inputs[name] = info;
    alone.input_data[name] = {info.shape, info.dtype,
                              std::vector<std::uint8_t>(static_cast<std::size_t>(info.size_bytes()))};
  }
  alone.layers = {layer};
  alone.outputs = {layer.name};
  return alone;
}

std::optional<Cycle> simulate_alone(const Workload& workload, HardwareConfig hardware,
                                    const LayerMapping& mapping) {
  hardware.planner.search = 0;
  PlannedNetwork planned = plan_network(workload, hardware, {"", {request_of(mapping)}});
  const RunResult result = simulate(hardware, std::move(planned.plan), {});
  if (!result.failures.empty()) return {};
  return result.cycles;
}

}  // namespace

std::optional<Cycle> cycles_alone(const Workload& workload, const HardwareConfig& hardware,
                                  const Layer& layer, const LayerMapping& mapping) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    bool written = false;
    try {
      if (const auto cycles = simulate_alone(workload_of(workload, layer), hardware, mapping))
        written = write(ends[1], &*cycles, sizeof *cycles) == sizeof *cycles;
    } catch (const std::exception&) {  // no cycles are written: that mapping cannot be had
    }
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  Cycle cycles = 0;
  ssize_t got = 0;
  do got = child < 0 ? 0 : read(ends[0], &cycles, sizeof cycles);
  while (got < 0 && errno == EINTR);
  close(ends[0]);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (got != sizeof cycles) return {};
  return cycles;
}

}  // namespace tilebeat
