// The figures of SPEC CY-5 in one run on one thread: the rate of an empty ticking sc_clock, oneDNN's int8
// convolution or product, limited to AVX2, and a whole simulation in both granularities, on the same layer:
// by default the switch-array SoC. Every measurement is a process of its own; rounds are interleaved, medians
// are shown.
//
//   speed_benchmark [HARDWARE.json [WORKLOAD.json [ROUNDS]]]
#include "measurement.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

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
  tilebeat::one_thread(argv);
  const std::string root = TILEBEAT_SOURCE_DIR;
  const std::string config = argc > 1 ? argv[1] : root + "/configs/switch16.json";
  const std::string layer = argc > 2 ? argv[2] : root + "/models/vgg16_conv3_2.json";
  return tilebeat::measure(config, layer, argc > 3 ? std::max(1, std::atoi(argv[3])) : 5);
}
