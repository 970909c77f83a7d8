#pragma once

#include "planner/language/matrix_backend.h"
#include "planner/language/task_graph.h"
#include "planner/layer/operand_transfers.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace tilebeat {

struct Shard;

/// By the int8 weights of a stream: the address of the first one, as WeightPlace::blocks counts them, and
/// run, columns, rows and the strides of their copy.
using WeightsOfStream =
    std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
using PlacedStreams = std::map<WeightsOfStream, PlacedStream>;

/// The most weights of a stream.
constexpr std::int64_t kStreamWeights = 32768;

/// The least bytes that a load of all kernel blocks of a shard moves from DRAM.
std::int64_t least_kernel_bytes(const Shard& shard);

/// The transfers of a group's weights, as weight_transfers of the shard. Weights that are decoded
/// (Problem::in_streams) come as streams of at most kStreamWeights weights, and at most `buffer` bytes: in a
/// graph for a plan these are encoded and get a place in DRAM when they are first loaded, in others their
/// bytes are expected ones (expected_stream_bytes).
std::vector<Transfer> weight_loads(TaskGraph& graph, const Shard& shard, const KernelGroup& group,
                                   std::uint64_t destination, std::int64_t buffer = INT64_MAX);

/// Gives the streams of a shard's kernels, for the unit of a board, each when it is first asked for; places
/// and bytes are those of weight_loads. Graph and shard outlive it.
StreamOf kernel_streams(TaskGraph& graph, const Shard& shard);

}  // namespace tilebeat
