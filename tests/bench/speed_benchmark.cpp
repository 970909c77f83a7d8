// The figures of SPEC CY-5 in one run on one thread: the rate of an empty ticking sc_clock, oneDNN's int8
// convolution or product, limited to AVX2, and a whole simulation in both granularities, on the same layer:
// by default the switch-array SoC. Every measurement is a process of its own; rounds are interleaved, medians
// are shown.
//
//   speed_benchmark [HARDWARE.json [WORKLOAD.json [ROUNDS]]]
#include "tilebeat/config/hardware_file.h"
#include "tilebeat/planner/planner.h"
#include "tilebeat/program/plan.h"
#include "tilebeat/system/simulation.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include <systemc>

#include <dnnl.hpp>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int sc_main(int, char**) {
  return 0;
}

namespace tilebeat {
namespace {

struct Measurement {
  double seconds = 0;
  double amount = 0;  ///< cycles or multiply-accumulates
  double megabytes = 0;
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Runs `measure` in a child process.
Measurement in_child(const std::function<Measurement()>& measure) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  if (fork() == 0) {
    Measurement m = measure();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    m.megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
    const bool written = write(ends[1], &m, sizeof m) == sizeof m;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  Measurement m;
  const bool whole = read(ends[0], &m, sizeof m) == sizeof m;
  close(ends[0]);
  int status = 0;
  wait(&status);
  if (!whole || status != 0) {
    fmt::print(stderr, "a measurement failed\n");
    std::exit(1);
  }
  return m;
}

Measurement empty_clock() {
  constexpr int kTicks = 4'000'000;
  const sc_core::sc_clock clock("clock", 1, sc_core::SC_NS);
  return {seconds_of([] { sc_core::sc_start(kTicks, sc_core::SC_NS); }), kTicks, 0};
}

Measurement simulation(const HardwareConfig& hardware, const Plan& plan, Granularity granularity) {
  SimulationOptions options;
  options.granularity = granularity;
  RunResult result;
  const double seconds = seconds_of([&] { result = simulate(hardware, plan, options); });
  if (!result.passed()) std::exit(1);
  return {seconds, static_cast<double>(result.cycles), 0};
}

/// How often `once` does `macs` multiply-accumulates in a second.
Measurement repeated(const std::function<void()>& once, std::int64_t macs) {
  once();
  constexpr int kRuns = 5;
  const double seconds = seconds_of([&] {
    for (int i = 0; i < kRuns; ++i) once();
  });
  return {seconds, static_cast<double>(kRuns * macs), 0};
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

int measure(const std::string& config, const std::string& layer_file, int rounds) {
  const HardwareConfig hardware = load_hardware(config);
  const Workload workload = load_workload(layer_file);
  const Plan plan = make_plan(workload, hardware);
  const Layer& layer = workload.layers.front();
  double macs = 0, cycles = 0;
  for (const LayerPlan& l : plan.layers) macs += static_cast<double>(l.macs);

  std::vector<double> tick_rate, clock_rate, tile_rate, dnn_rate, clock_share, tile_ticks, tile_share,
      tile_mb, clock_mb;
  for (int round = 0; round < rounds; ++round) {
    const Measurement tick = in_child(empty_clock);
    const Measurement clock = in_child([&] { return simulation(hardware, plan, Granularity::kClock); });
    const Measurement tile = in_child([&] { return simulation(hardware, plan, Granularity::kTile); });
    const Measurement dnn = in_child([&] { return onednn(workload, layer); });
    tick_rate.push_back(tick.amount / tick.seconds);
    clock_rate.push_back(clock.amount / clock.seconds);
    tile_rate.push_back(tile.amount / tile.seconds);
    dnn_rate.push_back(dnn.amount / dnn.seconds);
    clock_share.push_back(clock_rate.back() / tick_rate.back());
    tile_ticks.push_back(tile_rate.back() / (tick_rate.back() / 6));
    tile_share.push_back(macs / tile.seconds / dnn_rate.back());
    tile_mb.push_back(tile.megabytes);
    clock_mb.push_back(clock.megabytes);
    cycles = tile.amount;
  }
  const double share = median(clock_share), ticks = median(tile_ticks), dnn_share = median(tile_share);
  fmt::print("{} on {}, {} rounds, medians\n\n", workload.name, hardware.name, rounds);
  fmt::print("  empty sc_clock              {:8.2f} M clocks/s\n", median(tick_rate) / 1e6);
  fmt::print("  oneDNN int8, AVX2           {:8.2f} G MAC/s\n", median(dnn_rate) / 1e9);
  const auto show = [&](const char* what, const std::vector<double>& rate,
                        const std::vector<double>& megabytes) {
    fmt::print("  {:<26}  {:8.2f} M clocks/s  {:8.2f} G MAC/s  peak {:.0f} MB\n", what, median(rate) / 1e6,
               median(rate) / cycles * macs / 1e9, median(megabytes));
  };
  show("clock granularity", clock_rate, clock_mb);
  show("tile granularity", tile_rate, tile_mb);
  fmt::print("\n");
  fmt::print("  ratio                                        measured   required\n");
  fmt::print("  clock granularity / empty sc_clock           {:8.3f}   {:8.3f}  {}\n", share, 1.0 / 6,
             share >= 1.0 / 6 ? "met" : "MISSED");
  fmt::print("  tile granularity / required clock rate       {:8.2f}   {:8.2f}  {}\n", ticks, 20.0,
             ticks >= 20 ? "met" : "MISSED");
  fmt::print("  tile granularity MAC rate / oneDNN           {:8.3f}   {:8.3f}  {}\n", dnn_share, 0.05,
             dnn_share >= 0.05 ? "met" : "MISSED");
  return share >= 1.0 / 6 && ticks >= 20 && dnn_share >= 0.05 ? 0 : 1;
}

}  // namespace
}  // namespace tilebeat

int main(int argc, char** argv) {
  // OpenMP reads it when the program is loaded.
  if (const char* threads = std::getenv("OMP_NUM_THREADS");
      threads == nullptr || std::string(threads) != "1") {
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  const std::string root = TILEBEAT_SOURCE_DIR;
  const std::string config = argc > 1 ? argv[1] : root + "/configs/switch16.json";
  const std::string layer = argc > 2 ? argv[2] : root + "/models/vgg16_conv3_2.json";
  return tilebeat::measure(config, layer, argc > 3 ? std::max(1, std::atoi(argv[3])) : 5);
}
