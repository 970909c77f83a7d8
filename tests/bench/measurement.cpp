#include "measurement.h"

#include "base/heap.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include <systemc>

#include <dnnl.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int sc_main(int, char**) {
  return 0;
}

namespace tilebeat {
namespace {

// Processor time of this process: other work on the machine takes none of it.
double seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec at{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

double megabytes_of(const rusage& usage) {
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

[[noreturn]] void give_up(const std::string& what) {
  fmt::print(stderr, "a measurement failed: {}\n", what);
  std::exit(1);
}

/// How often `once` does `macs` multiply-accumulates in a second.
Measurement repeated(const std::function<void()>& once, std::int64_t macs) {
  once();
  constexpr int kRuns = 5;
  const double seconds = seconds_of([&] {
    for (int i = 0; i < kRuns; ++i) once();
  });
  return {seconds, static_cast<double>(kRuns * macs), 0, 0};
}

/// A product of matrices: rows of pixels times kernels.
Measurement onednn_matmul(const Workload& workload, const Layer& layer) {
  using dnnl::memory;
  const auto& conv = std::get<Conv2d>(layer.operation);
  const TensorInfo& map = workload.tensor(layer.inputs.front());
  const std::int64_t length = map.shape.back(), rows = map.elements() / length;
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc a({rows, length}, memory::data_type::u8, memory::format_tag::ab);
  const memory::desc b({length, conv.out_channels}, memory::data_type::s8, memory::format_tag::any);
  const memory::desc c({rows, conv.out_channels}, memory::data_type::s32, memory::format_tag::ab);
  const dnnl::matmul::primitive_desc primitive(dnnl::matmul::desc(a, b, c), engine);
  memory x(primitive.src_desc(), engine), w(primitive.weights_desc(), engine),
      y(primitive.dst_desc(), engine);
  const dnnl::matmul product(primitive);
  return repeated(
      [&] {
        product.execute(stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
        stream.wait();
      },
      useful_macs(workload, layer));
}

}  // namespace

Measurement in_child(const std::function<Measurement()>& measure) {
  int ends[2];
  if (pipe(ends) != 0) give_up("no pipe");
  if (fork() == 0) {
    put_heap_in_huge_pages();  // as the program does
    Measurement m = measure();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    m.megabytes = megabytes_of(usage);
    const bool written = write(ends[1], &m, sizeof m) == sizeof m;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  Measurement m;
  const bool whole = read(ends[0], &m, sizeof m) == sizeof m;
  close(ends[0]);
  int status = 0;
  wait(&status);
  if (!whole || status != 0) give_up("a child process ended early");
  return m;
}

Measurement process(const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  // No fork: a copy of this process's page tables would count as time of the child.
  if (posix_spawn(&child, words.front(), &actions, nullptr, words.data(), environ) != 0)
    give_up(arguments.front());
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child || status != 0) give_up(fmt::format("{}", arguments.front()));
  Measurement m;
  m.seconds = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
              1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  m.megabytes = megabytes_of(usage);
  return m;
}

Measurement empty_clock() {
  constexpr int kTicks = 4'000'000;
  const sc_core::sc_clock clock("clock", 1, sc_core::SC_NS);
  return {seconds_of([] { sc_core::sc_start(kTicks, sc_core::SC_NS); }), kTicks, 0, 0};
}

Measurement simulation(const HardwareConfig& hardware, const Plan& plan, Granularity granularity) {
  SimulationOptions options;
  options.granularity = granularity;
  RunResult result;
  Plan own = plan;
  const double seconds = seconds_of([&] { result = simulate(hardware, std::move(own), options); });
  if (!result.passed()) give_up(plan.name + " on " + hardware.name);
  return {seconds, static_cast<double>(result.cycles), 0,
          static_cast<double>(result.bytes.dram_read + result.bytes.dram_write)};
}

Measurement onednn(const Workload& workload, const Layer& layer) {
  // The yardstick does not depend on what else the machine can do (SPEC CY-5).
  dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
  if (std::get<Conv2d>(layer.operation).pixels == PixelAxes::kRows) return onednn_matmul(workload, layer);
  using dnnl::memory;
  const auto& conv = std::get<Conv2d>(layer.operation);
  const auto& in = workload.tensor(layer.inputs.front()).shape;
  const auto& out = layer.output.shape;
  const auto dims = [](std::initializer_list<std::int64_t> d) { return memory::dims(d); };
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto any = memory::format_tag::any;
  const memory::desc source(dims({in[0], in[3], in[1], in[2]}), memory::data_type::u8, any);
  const memory::desc weights(dims({conv.out_channels, in[3], conv.kernel[0], conv.kernel[1]}),
                             memory::data_type::s8, any);
  const memory::desc target(dims({out[0], out[3], out[1], out[2]}), memory::data_type::s32, any);
  const dnnl::convolution_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source, weights, target,
      dims({conv.stride[0], conv.stride[1]}), dims({conv.dilation[0] - 1, conv.dilation[1] - 1}),
      dims({conv.pads[0], conv.pads[1]}), dims({conv.pads[2], conv.pads[3]}));
  const dnnl::convolution_forward::primitive_desc primitive(description, engine);
  memory x(primitive.src_desc(), engine), w(primitive.weights_desc(), engine),
      y(primitive.dst_desc(), engine);
  const dnnl::convolution_forward forward(primitive);
  return repeated(
      [&] {
        forward.execute(stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
        stream.wait();
      },
      useful_macs(workload, layer));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void one_thread(char** arguments) {
  if (const char* threads = std::getenv("OMP_NUM_THREADS");
      threads == nullptr || std::string(threads) != "1") {
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", arguments);
  }
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
}

}  // namespace tilebeat
