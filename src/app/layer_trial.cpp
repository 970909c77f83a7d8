#include "layer_trial.h"

#include "tilebeat/base/error.h"
#include "tilebeat/mapping/mapping_file.h"
#include "tilebeat/planner/planner.h"
#include "tilebeat/system/simulation.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages.h"

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

constexpr int kCannotBe = 2;  // status of a trial whose mapping does not fit

Cycle simulate_alone(const Workload& workload, HardwareConfig hardware, const LayerMapping& mapping) {
  hardware.planner.search = 0;
  PlannedNetwork planned = plan_network(workload, hardware, {"", {request_of(mapping)}});
  const RunResult result = simulate(hardware, std::move(planned.plan), {});
  if (!result.failures.empty()) throw SimulationError(result.failures.front());
  return result.cycles;
}

// In a process of its own, which ends with its parent and owns none of its files.
int try_layer(const Workload& workload, const HardwareConfig& hardware, const Layer& layer,
              const LayerMapping& mapping, int to) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    const Cycle cycles = simulate_alone(workload_of(workload, layer), hardware, mapping);
    return write(to, &cycles, sizeof cycles) == sizeof cycles ? 0 : 1;
  } catch (const UserError&) {
    return kCannotBe;
  } catch (const std::exception& error) {
    print_message(fmt::format("a trial of layer '{}': {}", layer.name, error.what()));
    return 1;
  }
}

}  // namespace

std::optional<Cycle> cycles_alone(const Workload& workload, const HardwareConfig& hardware,
                                  const Layer& layer, const LayerMapping& mapping) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0)
    throw UserError(fmt::format("no pipe for a trial of layer '{}': {}", layer.name, std::strerror(errno)));
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(ends[0]), close(ends[1]);
    throw UserError(
        fmt::format("no process for a trial of layer '{}': {}", layer.name, std::strerror(error)));
  }
  if (child == 0) {
    close(ends[0]);
    _exit(try_layer(workload, hardware, layer, mapping, ends[1]));
  }
  close(ends[1]);
  Cycle cycles = 0;
  ssize_t got = 0;
  do got = read(ends[0], &cycles, sizeof cycles);
  while (got < 0 && errno == EINTR);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotBe) return {};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || got != sizeof cycles)
    throw SimulationError(fmt::format("a trial of layer '{}' was ended", layer.name));
  return cycles;
}

}  // namespace tilebeat
