#include "planner/program/planned_part.h"

#include "planner/layer/estimate.h"

#include <set>

#include <fmt/format.h>

namespace tilebeat {

// ---- boards ----

BoardPart::BoardPart(std::unique_ptr<MatrixLayer> layer, const OperandLayouts& layouts,
                     const HardwareConfig& hardware, Explanation& choices)
    : layouts_(layouts) {
  check_board(layer->problem(), hardware);
  layer_.layer = std::move(layer);
  layer_.weights = unplaced(layer_.layer->weight_layout(), hardware);
  cut_ = cut_board_jobs(layer_, jobs(), hardware, choices);
  for (auto& choice : layer_.layer->explain(cut_)) choices.push_back(std::move(choice));
}

void BoardPart::place(DramPlaces& places) {
  const MatrixLayer& layer = *layer_.layer;
  layer_.weights = places.place_weights(layer.problem().name, kernels_of(layer), {0});
  layer_.streams = places.streams_of(layer);
}

PlannedUse BoardPart::build(TaskGraph& graph, const Prefetch&) const {
  const MatrixLowering::ReadBytes read = add_board_tasks(graph, layer_, jobs(), cut_);
  return {{read.maps, read.kernels, 0}, 0, 0};
}

// ---- layers on matrix units ----

MatrixPart::MatrixPart(ChosenLayer chosen, const TensorLayout& output, const HardwareConfig& hardware)
    : chosen_(std::move(chosen)),
      output_(output),
      hardware_(hardware),
      cuts_(job_cuts(chosen_.layer, chosen_.mapping, hardware)) {}

void MatrixPart::place(DramPlaces& places) {
  const LayerMapping& mapping = chosen_.mapping;
  std::vector<int> parts;  // first kernel block of each kernel part of each shard
  int first = 0;
  for (const Shard& shard : chosen_.layer.shards) {
    const int blocks = shard.layer->problem().kernel_blocks();
    for (int part = 0; part < mapping.kernel_parts; ++part)
      parts.push_back(first + part_of(blocks, mapping.kernel_parts, part, 1).begin);
    first += count_of(shard.weights.blocks);
  }
  place_kernels(chosen_.layer, parts, places);
}

std::vector<int> MatrixPart::processors() const {
  return processors_of(*hardware_.chip, chosen_.mapping);
}

PlannedUse MatrixPart::build(TaskGraph& graph, const Prefetch& prefetch) const {
  return with_work(prefetch, [&](const MatrixWork& work) {
    return add_matrix_tasks(graph, work, [&](TaskGraph& g, const EnginePlace& place, int shard) {
      const auto number = to_size(shard);
      return chosen_.layer.shards[number].layer->lower(g, place, cuts_[number]);
    });
  });
}

PlannedUse MatrixPart::build_roughly(TaskGraph& graph, const Prefetch& prefetch) const {
  return with_work(prefetch, [&](const MatrixWork& work) { return add_estimated_tasks(graph, work); });
}

std::vector<std::int64_t> MatrixPart::wram_of_loads() const {
  return with_work({}, [](const MatrixWork& work) { return tilebeat::wram_of_loads(work); });
}

PlannedUse MatrixPart::build_prefetch(TaskGraph& graph, const Prefetch& prefetch, std::int64_t sram) const {
  return with_work(prefetch, [&](const MatrixWork& work) { return add_prefetch(graph, work, sram); });
}

std::int64_t MatrixPart::wram_bytes(const Prefetch& prefetch) const {
  return with_work(prefetch, [](const MatrixWork& work) { return footprint_of(work).wram; });
}

Explanation MatrixPart::explain() const {
  const ShardedLayer& layer = chosen_.layer;
  Explanation made{{"cores", in_words(chosen_.mapping, *hardware_.chip)}};
  if (layer.adds_sums()) made.emplace_back("sums", in_words(layer));
  made.emplace_back("chosen", chosen_.reason);
  const std::size_t largest = layer.largest_number();
  for (auto& choice : layer.shards[largest].layer->explain(cuts_[largest])) made.push_back(std::move(choice));
  return made;
}

// ---- layers on vector units ----

VectorPart::VectorPart(std::unique_ptr<VectorWork> work, std::string name, bool started,
                       const HardwareConfig& hardware)
    : work_(std::move(work)),
      name_(std::move(name)),
      started_(started),
      hardware_(hardware),
      path_(hardware.chip->dram_path == DramPath::kSram ? DataPath::kSram : DataPath::kDirect) {}

void VectorPart::place(DramPlaces& places) {
  parameters_ = places.place("factors of " + name_, work_->parameters());
  double best = 0;
  for (int cores = 1; cores <= hardware_.chip->cores(); cores *= 2) {
    TaskGraph graph;
    PlannedBytes bytes;
    if (build_on(cores, graph, bytes) < cores && cores > 1) break;
    const std::vector<int> started = started_ ? processors_of_cores(cores) : std::vector<int>{};
    const double cycles = schedule(graph, dependencies_of(graph), machine_of(hardware_, started)).cycles;
    if (best == 0 || cycles < kClearlyFaster * best) best = cycles, cores_ = cores;
  }
}

std::vector<int> VectorPart::processors_of_cores(int cores) const {
  LayerMapping mapping;
  mapping.kernel_parts = cores, mapping.results = path_;
  return processors_of(*hardware_.chip, mapping);
}

std::vector<int> VectorPart::processors() const {
  return processors_of_cores(cores_);
}

int VectorPart::build_on(int cores, TaskGraph& graph, PlannedBytes& bytes) const {
  return add_vector_tasks(graph, *work_, name_, hardware_, cores, path_, parameters_, bytes);
}

PlannedUse VectorPart::build(TaskGraph& graph, const Prefetch&) const {
  PlannedUse use;
  build_on(cores_, graph, use.bytes);
  use.sram = path_ == DataPath::kSram ? hardware_.chip->sram_bytes() : 0;
  return use;
}

void add_host_layer(const Workload& workload, const Layer& layer, LayerPlan made, Plan& plan) {
  HostBytes bytes{0, layer.output.size_bytes()};
  for (const std::string& input : layer.inputs) bytes.read += workload.tensor(input).size_bytes();
  made.on_host = bytes, made.ends = 0;
  std::set<std::string> labels;
  for (const ProgramImage& program : plan.programs) labels.insert(program.label);
  plan.host_layers.push_back({static_cast<std::uint32_t>(plan.layers.size()), labels.size(),
                              std::get<HostOperation>(layer.operation), layer.inputs});
  plan.layers.push_back(std::move(made));
}

}  // namespace tilebeat
