#include "planner/vector/vector_tasks.h"

#include "base/math.h"
#include "isa/address_map.h"
#include "planner/layer/placement.h"
#include "planner/layer/staging.h"
#include "planner/vector/vector_work.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>

namespace tilebeat {
namespace {

class VectorTasks : public VectorLayer {
 public:
  VectorTasks(const Layer& layer, const HardwareConfig& hardware, const std::vector<Placement>& inputs,
              const Placement& output)
      : hardware_(hardware),
        chip_(*hardware.chip),
        layer_(layer),
        work_(make_vector_work(layer, hardware, inputs, output)) {}

  const std::vector<std::uint8_t>& parameters() const override { return work_->parameters(); }
  std::int64_t touched_bytes() const override { return work_->touched_bytes(); }

  int add_tasks(TaskGraph& graph, int cores, DataPath path, std::uint64_t parameters,
                PlannedBytes& bytes) override {
    std::vector<std::vector<VectorPiece>> pieces;
    for (int core = 0; core < cores; ++core) pieces.push_back(work_->pieces_of({core, cores, {}, {}}));
    bytes.results = work_->result_bytes();
    return add_pieces(graph, pieces, path, parameters, bytes);
  }

 private:
  // A core with work: its places in NRAM.
  struct Core {
    int number = 0, processor = 0;
    std::int64_t in = 0, out = 0;  // bytes of a buffer
    BufferRing inputs, results;
    BufferId factors = 0;
  };

  int add_pieces(TaskGraph& graph, const std::vector<std::vector<VectorPiece>>& pieces, DataPath path,
                 std::uint64_t parameters, PlannedBytes& bytes) {
    std::vector<Core> cores;
    std::size_t steps = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].empty()) continue;
      cores.push_back(make_core(graph, static_cast<int>(i), pieces[i]));
      steps = std::max(steps, pieces[i].size());
    }
    Way way(graph, hardware_, path, cores, layer_.name);
    for (Core& core : cores) {
      if (parameters == 0) break;
      const auto size = static_cast<std::int64_t>(work_->parameters().size());
      way.load(core, {{parameters, nram_address(core.number), one_run(size)}},
               {core.factors, 0, AccessKind::kWrite});
      bytes.kernels += size;
    }
    for (std::size_t step = 0; step < steps; ++step) {
      for (Core& core : cores) {
        const auto& of_core = pieces[static_cast<std::size_t>(core.number)];
        if (step < of_core.size()) add_piece(graph, way, core, of_core[step], bytes);
      }
    }
    return static_cast<int>(cores.size());
  }

  Core make_core(TaskGraph& graph, int number, const std::vector<VectorPiece>& pieces) const {
    Core core;
    core.number = number, core.processor = processor_of_core(chip_, number);
    for (const VectorPiece& piece : pieces) {
      core.in = std::max(core.in, align_up(piece.in_bytes, kBufferAlignment));
      core.out = std::max(core.out, align_up(piece.out_bytes, kBufferAlignment));
    }
    core.inputs = BufferRing(graph, BufferRole::kMap, 2);
    core.results = BufferRing(graph, BufferRole::kResult, 2);
    core.factors = graph.add_buffer(BufferRole::kKernels);
    return core;
  }

  // How data goes between DRAM and the cores.
  class Way {
   public:
    Way(TaskGraph& graph, const HardwareConfig& hardware, DataPath path, const std::vector<Core>& cores,
        const std::string& layer)
        : chip_(*hardware.chip), copies_(graph, hardware) {
      if (path == DataPath::kDirect) return;
      std::map<int, std::vector<int>> in_cluster;
      for (const Core& core : cores) in_cluster[core.number / chip_.cores_per_cluster].push_back(core.number);
      for (const auto& [cluster, numbers] : in_cluster) {
        Staging& staging = staging_.emplace(cluster, Staging(graph, hardware, cluster, layer)).first->second;
        const std::int64_t bytes = staging.share(4 * static_cast<int>(numbers.size()));
        for (const int number : numbers)
          streams_[number] = {staging.add_stream(bytes, 2), staging.add_stream(bytes, 2)};
      }
    }
    void fill(const Core& core, std::uint64_t to, const VectorPiece& piece, const Access& written) {
      copies_.add(core.processor, fill_copy(piece, piece.destination, to), {written});
    }
    void load(const Core& core, const std::vector<Transfer>& transfers, const Access& written) {
      if (staging_.empty()) {
        copies_.add(core.processor, Unit::kIodma, transfers, {written});
      } else {
        staging_of(core).load(streams_.at(core.number).first, {{core.processor, transfers, {written}}});
      }
    }
    void store(const Core& core, const std::vector<Transfer>& transfers, const Access& read) {
      if (staging_.empty()) {
        copies_.add(core.processor, Unit::kIodma, transfers, {read});
      } else {
        staging_of(core).store(streams_.at(core.number).second, core.processor, transfers, read);
      }
    }

   private:
    Staging& staging_of(const Core& core) { return staging_.at(core.number / chip_.cores_per_cluster); }

    const ChipConfig& chip_;
    CopyTasks copies_;
    std::map<int, Staging> staging_;              // by cluster
    std::map<int, std::pair<int, int>> streams_;  // by core: of what it loads, and of what it stores
  };

  void add_piece(TaskGraph& graph, Way& way, Core& core, const VectorPiece& piece,
                 PlannedBytes& bytes) const {
    const BufferRing::Filling input = core.inputs.next();
    const std::int64_t from = work_->parameter_room() + input.place * core.in;
    const auto nram = [&](std::int64_t offset) {
      return nram_address(core.number) + static_cast<std::uint64_t>(offset);
    };
    const std::vector<Transfer> fetches = work_->loads_of(piece, nram(from));
    bytes.maps += bytes_of(fetches);
    if (piece.fill) way.fill(core, nram(from), piece, input.write());
    const Access written{input.buffer, input.version,
                         piece.fill ? AccessKind::kAccumulate : AccessKind::kWrite};
    if (!fetches.empty()) way.load(core, fetches, written);
    if (!piece.run) {
      way.store(core, work_->stores_of(piece, nram(from)), input.read());
      return;
    }
    if (piece.result_place == VectorPiece::ResultPlace::kParameters) {
      Task task = vector_task(piece, from, 0, 0, chip_);
      task.processor = core.processor;
      task.accesses = {input.read(), {core.factors, 0, AccessKind::kAccumulate}};
      graph.add(std::move(task));
      return;
    }
    const BufferRing::Filling result = core.results.next();
    const std::int64_t to = work_->parameter_room() + 2 * core.in + result.place * core.out;
    Task task = vector_task(piece, from, to, 0, chip_);
    task.processor = core.processor;
    task.accesses = {input.read(), result.write()};
    if (!work_->parameters().empty()) task.accesses.push_back({core.factors, 0, AccessKind::kRead});
    graph.add(std::move(task));
    way.store(core, work_->stores_of(piece, nram(to)), result.read());
  }

  const HardwareConfig& hardware_;
  const ChipConfig& chip_;
  const Layer& layer_;
  std::unique_ptr<VectorWork> work_;
};

}  // namespace

std::unique_ptr<VectorLayer> make_vector_layer(const Layer& layer, const HardwareConfig& hardware,
                                               const std::vector<Placement>& inputs,
                                               const Placement& output) {
  return std::make_unique<VectorTasks>(layer, hardware, inputs, output);
}

}  // namespace tilebeat
