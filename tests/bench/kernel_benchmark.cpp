// Google Benchmark suite of the inner loops and of the fabric.
#include "engines/switch_array/schedule.h"
#include "kernels/mac.h"

#include <vector>

#include <benchmark/benchmark.h>

namespace tilebeat {

using switch_array::Arrangement;
using switch_array::ArrayShape;
using switch_array::ChunkGeometry;
using switch_array::SwitchSchedule;
using switch_array::take_census;

namespace {

// One beat of the 16 x 16 array with P channels.
void beat(benchmark::State& state) {
  const int p = static_cast<int>(state.range(0));
  BeatAccumulators accumulators(16, 16, p);
  std::vector<std::int16_t> x(static_cast<std::size_t>(16 * padded_channels(p)), 3), w(x.size(), 5);
  for (auto _ : state) {
    accumulators.mac(x.data(), w.data());
    benchmark::ClobberMemory();
  }
  state.counters["MAC/s"] = benchmark::Counter(256.0 * p, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(beat)->Arg(4)->Arg(8)->Arg(32);

// A chunk of tile granularity: 16 kernels 3x3 over a 28 x 28 tile.
void convolve_chunk(benchmark::State& state) {
  const int depth = static_cast<int>(state.range(0));
  TileOperands tile;
  tile.height = tile.width = 28;
  tile.depth = depth;
  tile.pixels.assign(static_cast<std::size_t>(28 * 28 * depth), 2);
  TileConvolution g;
  g.rows = g.columns = 26, g.kernel_h = g.kernel_w = 3;
  const std::vector<std::int16_t> weights(static_cast<std::size_t>(16 * 9 * depth), 1);
  std::vector<std::int16_t> packed;
  std::vector<Sum> acc(static_cast<std::size_t>(26 * 26 * accumulator_stride(16)));
  pack_weights(g, depth, weights, packed);
  for (auto _ : state) {
    convolve_tile(g, tile, packed, acc.data());
    benchmark::ClobberMemory();
  }
  state.counters["MAC/s"] =
      benchmark::Counter(26.0 * 26 * 16 * 9 * depth, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(convolve_chunk)->Arg(16)->Arg(64)->Arg(256);

// Conflicts and bank reads of a tile, as tile granularity counts them.
void census(benchmark::State& state) {
  const ArrayShape array;
  ChunkGeometry g;
  g.rows = g.columns = 56, g.height = g.width = 56, g.h_offset = g.w_offset = -1, g.kernel_h = g.kernel_w = 3;
  const SwitchSchedule schedule(array, g);
  const Arrangement arrangement(array, g.height, g.width, 1, 1);
  for (auto _ : state) benchmark::DoNotOptimize(take_census(schedule, arrangement).read_words);
}
BENCHMARK(census);

}  // namespace
}  // namespace tilebeat

BENCHMARK_MAIN();
