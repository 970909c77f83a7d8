#include "planner/vector/vector_tasks.h"

#include "base/types.h"
#include "isa/address_map.h"
#include "planner/layer/core_lane.h"
#include "planner/layer/placement.h"
#include "planner/layer/staging.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>

namespace tilebeat {
namespace {

class VectorTasks {
 public:
  VectorTasks(const VectorWork& work, const std::string& name, const HardwareConfig& hardware)
      : work_(work), name_(name), hardware_(hardware), chip_(*hardware.chip) {}

  int add(TaskGraph& graph, int cores, DataPath path, std::uint64_t parameters, PlannedBytes& bytes) const {
    std::vector<std::vector<VectorPiece>> pieces;
    for (int core = 0; core < cores; ++core) pieces.push_back(work_.pieces_of({core, cores, {}, {}}));
    bytes.results = work_.result_bytes();
    return add_pieces(graph, pieces, path, parameters, bytes);
  }

 private:
  // A core with work.
  struct Core : CoreLane {
    using CoreLane::CoreLane;
    PieceRoom room;
    BufferId parameters = 0;
  };

  int add_pieces(TaskGraph& graph, const std::vector<std::vector<VectorPiece>>& pieces, DataPath path,
                 std::uint64_t parameters, PlannedBytes& bytes) const {
    CopyTasks copies(graph, hardware_);
    std::vector<Core> cores;
    std::size_t steps = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].empty()) continue;
      Core& core = cores.emplace_back(graph, copies, chip_, to_int(i));
      make_room(graph, core, pieces[i]);
      steps = std::max(steps, pieces[i].size());
    }
    std::map<int, Staging> staging;  // by cluster
    DramLanes dram;
    if (path != DataPath::kDirect) make_streams(graph, cores, staging, dram);
    for (Core& core : cores) {
      if (parameters == 0) break;
      const auto size = ssize(work_.parameters());
      dram.load(core, {{parameters, core.place.nram, one_run(size)}},
                {{core.parameters, 0, AccessKind::kWrite}});
      bytes.kernels += size;
    }
    for (std::size_t step = 0; step < steps; ++step) {
      for (Core& core : cores) {
        const auto& of_core = nth(pieces, core.number);
        if (step < of_core.size()) run_piece(core, of_core[step], dram, bytes);
      }
    }
    return count_of(cores);
  }

  void make_room(TaskGraph& graph, Core& core, const std::vector<VectorPiece>& pieces) const {
    CoreLane::PieceRoom& room = core.room;
    room.operands_at = work_.parameter_room();
    for (const VectorPiece& piece : pieces) {
      room.operand_bytes = std::max(room.operand_bytes, align_up(piece.in_bytes, kBufferAlignment));
      room.result_bytes = std::max(room.result_bytes, align_up(piece.out_bytes, kBufferAlignment));
    }
    room.results_at = room.operands_at + 2 * room.operand_bytes;
    core.operands = BufferRing(graph, BufferRole::kMap, 2);
    core.results = BufferRing(graph, BufferRole::kResult, 2);
    core.parameters = graph.add_buffer(BufferRole::kKernels);
    if (!work_.parameters().empty()) room.parameters = core.parameters;
  }

  void make_streams(TaskGraph& graph, const std::vector<Core>& cores, std::map<int, Staging>& staging,
                    DramLanes& dram) const {
    std::map<int, std::vector<int>> in_cluster;
    for (const Core& core : cores) in_cluster[core.cluster].push_back(core.number);
    for (const auto& [cluster, numbers] : in_cluster) {
      Staging& of_cluster = staging.emplace(cluster, Staging(graph, hardware_, cluster, name_)).first->second;
      const std::int64_t bytes = of_cluster.share(4 * count_of(numbers));
      for (const int number : numbers) {
        dram.load_by(number, of_cluster, of_cluster.add_stream(bytes, 2));
        dram.store_by(number, of_cluster, of_cluster.add_stream(bytes, 2));
      }
    }
  }

  void run_piece(Core& core, const VectorPiece& piece, const DramLanes& dram, PlannedBytes& bytes) const {
    core.run_piece(
        piece, core.room, piece.destination,
        [&](std::uint64_t to, const Access& written) {
          const std::vector<Transfer> loads = work_.loads_of(piece, to);
          bytes.maps += bytes_of(loads);
          if (piece.rows) bytes.maps += std::int64_t{piece.rows->count} * piece.rows->row_bytes;
          dram.load(core, loads, {written});
        },
        [&](std::uint64_t from, const Access& read) {
          dram.store(core, work_.stores_of(piece, from), read);
        });
  }

  const VectorWork& work_;
  const std::string& name_;
  const HardwareConfig& hardware_;
  const ChipConfig& chip_;
};

}  // namespace

int add_vector_tasks(TaskGraph& graph, const VectorWork& work, const std::string& name,
                     const HardwareConfig& hardware, int cores, DataPath path, std::uint64_t parameters,
                     PlannedBytes& bytes) {
  return VectorTasks(work, name, hardware).add(graph, cores, path, parameters, bytes);
}

}  // namespace tilebeat
