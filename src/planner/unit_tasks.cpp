#include "unit_tasks.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"
#include "tilebeat/isa/address_map.h"
#include "tilebeat/mapping/moved_transfers.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "estimate.h"
#include "held_tensor.h"
#include "processors.h"
#include "resident_weights.h"
#include "result_stores.h"
#include "staging.h"
#include "unit_rows.h"

namespace tilebeat {
namespace {

constexpr std::uint64_t kVirtual = std::uint64_t{1} << 60;
constexpr int kVirtualShift = 44;

// Parts of NRAM beside the factors: of each of two buffers for operands and of each of two for results.
constexpr double kOperands = 0.3, kResults = 0.2;
constexpr int kBuffers = 2;

// One cluster's part of a unit.
class ClusterTasks {
 public:
  /// `most`: of each layer's outputs in a step, of all clusters, whose cores thus share the work in the
  /// same way. With `sram`: only the loads of kernels that are made ahead, beside so many bytes in use.
  ClusterTasks(TaskGraph& graph, const UnitWork& work, ClusterRows rows, const std::vector<MostOutputs>& most,
               PlannedUse& use, std::optional<std::int64_t> sram = {})
      : graph_(graph),
        work_(work),
        unit_(work.graph),
        chip_(*work.hardware.chip),
        cluster_(rows.cluster),
        memory_(processor_of_memory(chip_, rows.cluster)),
        rows_(std::move(rows)),
        bytes_(use.bytes),
        axes_(row_axes(work.workload, work.graph)),
        column_axes_(row_axes(work.workload, work.graph, MapAxis::kColumns)),
        copies_(graph, work.hardware),
        staging_(graph, work.hardware, cluster_, unit_.layers.front().layer->name),
        weights_(graph, work) {
    make_cores();
    if (!sram)
      hold_tensors();
    else if (*sram > 0)
      staging_.reserve(*sram, "what the layer before takes");
    weights_.split(most, {1, 1, chip_.cores_per_cluster, operand_bytes_, result_bytes_});
    make_loads(sram.has_value());
    use.sram = std::max(use.sram, staging_.used()), use.wram = std::max(use.wram, weights_.kernel_bytes());
  }

  const ResidentWeights& weights() const { return weights_; }

  // The loads of kernels and factors, and this cluster's part in one of them.
  const std::vector<ResidentWeights::Load>& loads() const { return loads_; }
  Staging::Link link(std::size_t load) {
    const Access written{loads_[load].buffer, 0, AccessKind::kWrite};
    return {&staging_, *loads_stream_, {staging_.multicast(loads_[load].transfers, {written})}};
  }

  void run() {
    for (std::size_t p = 0; p < rows_.parts.size(); ++p) {
      columns_ = &rows_.columns[p];
      for (std::size_t t = 0; t < held_.size(); ++t) {
        if (held_[t]) held_[t]->begin_strip(columns(static_cast<int>(t)).begin);
      }
      for (int step = 0; step < rows_.schedules[p].steps(); ++step)
        run_step(rows_.parts[p], rows_.schedules[p], step);
    }
  }

 private:
  struct Core {
    int number = 0, processor = 0;
    EnginePlace place;
    BufferRing operands, results;
    // Of the layer that the matrix unit works on. What the unit holds inside belongs to one layer at a time:
    // `unit` is a buffer that the layer's setup writes and all its tasks read.
    std::unique_ptr<MatrixLowering> lowering;
    std::size_t lowered = 0;
    BufferId unit = 0;
    int turns = 0;
  };
  void make_loads(bool ahead) {
    loads_ = weights_.loads(ahead);
    if (loads_.empty()) return;
    std::int64_t largest = 0;
    for (const ResidentWeights::Load& load : loads_) largest = std::max(largest, bytes_of(load.transfers));
    loads_stream_ = staging_.add_stream(std::min(largest, staging_.share(kBuffers)), kBuffers);
  }

  // ---- places ----

  std::uint64_t address_of(int tensor) const { return unit_address(unit_, work_.addresses, tensor); }

  void make_cores() {
    operands_at_ = align_up(weights_.factor_bytes(), kBufferAlignment);
    const double room = static_cast<double>(chip_.core.nram.size_bytes - operands_at_);
    const auto share = [&](double part) {
      return static_cast<std::int64_t>(std::max(0.0, room * part)) / kBufferAlignment * kBufferAlignment;
    };
    operand_bytes_ = share(kOperands), result_bytes_ = share(kResults);
    for (int c = 0; c < chip_.cores_per_cluster; ++c) {
      Core core;
      core.number = cluster_ * chip_.cores_per_cluster + c;
      core.processor = processor_of_core(chip_, core.number);
      core.place = {core.processor, nram_address(core.number), wram_address(core.number)};
      core.operands = BufferRing(graph_, BufferRole::kMap, kBuffers);
      core.results = BufferRing(graph_, BufferRole::kResult, kBuffers);
      core.unit = graph_.add_buffer(BufferRole::kParameters);
      cores_.push_back(std::move(core));
    }
  }

  // Rows of the next step come in while those of this one are read, where the SRAM has room for both.
  void hold_tensors() {
    std::vector<std::int64_t> live, step;
    std::int64_t bytes = 0;
    for (std::size_t t = 0; t < unit_.tensors.size(); ++t) {
      const auto tensor = static_cast<int>(t);
      const int rows = tensor == unit_.output() ? 0 : rows_.most_live(tensor);
      const bool several = rows_.schedules.size() > 1 || rows_.schedules.front().steps() > 1;
      live.push_back(rows), step.push_back(rows > 0 && several ? rows_.most_made(tensor) : 0);
      bytes += align_up((live.back() + step.back()) * held_row(tensor).place_bytes(), kBufferAlignment);
    }
    constexpr std::int64_t kWeights = 131072;  // that pass through the SRAM
    const bool roomy = bytes + kWeights <= chip_.sram_bytes();
    for (std::size_t t = 0; t < unit_.tensors.size(); ++t) {
      held_.emplace_back();
      if (live[t] == 0) continue;
      const UnitTensor& tensor = unit_.tensors[t];
      const int rows = static_cast<int>(live[t] + (roomy ? step[t] : 0));
      const HeldRow row = held_row(static_cast<int>(t));
      const std::uint64_t address =
          staging_.reserve(rows * row.place_bytes(), fmt::format("{} rows of '{}'", rows, tensor.name));
      held_.back().emplace(graph_, address_of(static_cast<int>(t)), address, row, rows);
    }
  }
  HeldRow held_row(int tensor) const {
    const UnitTensor& of = unit_.tensors[static_cast<std::size_t>(tensor)];
    return {of.pixel_bytes(), of.row_bytes(), rows_.most_columns(tensor)};
  }

  // ---- steps ----

  void run_step(const UnitPart& part, const RowSchedule& schedule, int step) {
    for (std::size_t t = 0; t < unit_.tensors.size(); ++t) {
      if (unit_.tensors[t].producer >= 0) continue;
      for (int i = 0; i < part.images; ++i)
        fetch(static_cast<int>(t), part.image + i, schedule.made(step, static_cast<int>(t)));
    }
    for (std::size_t l = 0; l < unit_.layers.size(); ++l) {
      const Interval rows = schedule.made(step, unit_.layers[l].output);
      const bool some = !rows.empty() && !columns(unit_.layers[l].output).empty();
      for (int i = 0; i < part.images && some; ++i) run_layer(l, part.image + i, rows);
    }
  }
  // Of the rows of a tensor in the part that is worked on.
  const Interval& columns(int tensor) const { return (*columns_)[static_cast<std::size_t>(tensor)]; }

  void run_layer(std::size_t l, int image, Interval rows) {
    const int output = unit_.layers[l].output;
    if (held_[static_cast<std::size_t>(output)])
      held_[static_cast<std::size_t>(output)]->make(global(output, image, rows));
    if (work_.layers[l].matrix != nullptr)
      run_matrix(l, image, rows);
    else
      run_vector(l, image, rows);
  }
  // Rows counted over all images.
  Interval global(int tensor, int image, Interval rows) const {
    const int first = image * unit_.tensors[static_cast<std::size_t>(tensor)].height();
    return {first + rows.begin, first + rows.end};
  }

  // Rows of an input come into the SRAM, some at a time: cores begin with the first ones.
  void fetch(int number, int image, Interval rows) {
    if (rows.empty() || columns(number).empty()) return;
    constexpr std::int64_t kAtATime = 16384;  // bytes
    const UnitTensor& tensor = unit_.tensors[static_cast<std::size_t>(number)];
    HeldTensor& held = *held_[static_cast<std::size_t>(number)];
    const Interval all = global(number, image, rows);
    held.make(all);
    const std::int64_t row_bytes = tensor.pixel_bytes() * columns(number).size();
    const auto some = static_cast<int>(std::max<std::int64_t>(1, kAtATime / row_bytes));
    for (int row = all.begin; row < all.end; row += some)
      fetch(held, number, {row, std::min(all.end, row + some)});
  }
  void fetch(const HeldTensor& held, int number, Interval rows) {
    const UnitTensor& tensor = unit_.tensors[static_cast<std::size_t>(number)];
    const std::int64_t row = tensor.row_bytes(), pixel = tensor.pixel_bytes();
    const Interval across = columns(number);
    Transfer transfer;
    const std::int64_t offset = rows.begin * row + across.begin * pixel;
    transfer.source = work_.addresses[static_cast<std::size_t>(number)] + static_cast<std::uint64_t>(offset);
    transfer.destination = held.origin() + static_cast<std::uint64_t>(offset);
    if (across.size() == tensor.map.width) {
      transfer.shape = one_run(rows.size() * row);
    } else {
      transfer.shape = one_run(across.size() * pixel);
      transfer.shape.rows = rows.size();
      transfer.shape.source_row = transfer.shape.destination_row = row;
    }
    bytes_.maps += transfer.shape.bytes();
    copies_.add(memory_, Unit::kGdma,
                moved(work_.stored[static_cast<std::size_t>(number)],
                      held.placed(transfer, TransferEnd::kDestination), TransferEnd::kSource),
                held.accesses(rows, AccessKind::kWrite));
  }

  // `outs`: rows of the layer's output.
  void run_matrix(std::size_t l, int image, Interval outs) {
    const UnitLayerWork& layer = work_.layers[l];
    const Problem& p = layer.matrix->problem();
    const LayerMapping& m = weights_.mapping(l);
    const Grain grain = layer.matrix->grain();
    const Interval rows = axes_[l].front().outputs_of(outs);
    const Interval across = column_axes_[l].front().outputs_of(columns(unit_.layers[l].output));
    for (int c = 0; c < m.cores(); ++c) {
      Interval of_rows = part_of(rows.size(), m.row_parts, c / (m.column_parts * m.kernel_parts), grain.rows);
      of_rows = {rows.begin + of_rows.begin, rows.begin + of_rows.end};
      Interval of_columns =
          part_of(across.size(), m.column_parts, c / m.kernel_parts % m.column_parts, grain.columns);
      of_columns = {across.begin + of_columns.begin, across.begin + of_columns.end};
      for (int r = of_rows.begin; r < of_rows.end; r += m.tile_rows) {
        for (int x = of_columns.begin; x < of_columns.end; x += m.tile_columns) {
          const OutputTile tile{image, p.axis_h().window({r, std::min(of_rows.end, r + m.tile_rows)}),
                                p.axis_w().window({x, std::min(of_columns.end, x + m.tile_columns)})};
          run_tile(l, cores_[static_cast<std::size_t>(c)], c % m.kernel_parts, tile, outs);
        }
      }
    }
  }

  void run_tile(std::size_t l, Core& core, int kernel_part, const OutputTile& tile, Interval outs) {
    const UnitLayerWork& layer = work_.layers[l];
    const Problem& p = layer.matrix->problem();
    std::optional<BufferRing::Filling> map;
    std::uint64_t map_at = core.place.nram;
    if (!tile.padding_only()) {
      map = core.operands.next();
      map_at += static_cast<std::uint64_t>(operands_at_ + map->place * operand_bytes_);
      load_map(l, core, tile, *map, map_at);
    }
    for (const ResidentWeights::Group& resident : weights_.groups(l)) {
      if (resident.part != kernel_part) continue;
      const KernelGroup& group = resident.group;
      const BufferRing::Filling result = core.results.next();
      const std::uint64_t result_at = result_address(core, result);
      MatrixJob job;
      job.tile = tile, job.tile.image = 0;
      job.blocks = group.blocks;
      job.reduction = group.reduction;
      const std::int64_t row = layer.matrix->ifm_row_bytes(tile.w);
      job.ifm = {map_at, row * tile.h.ins, row, p.channels};
      const std::uint64_t offset = resident.offset;
      job.weights = core.place.wram + offset;
      if (layer.weights->post != 0) {
        const auto transfers = weight_transfers(*layer.matrix, *layer.weights, group, offset);
        job.post = job.weights + (transfers.back().destination - offset);
      }
      job.ofm = TensorLayout::dense(result_at, tile.h.outs, tile.w.outs,
                                    std::int64_t{p.kernels_of(group.blocks)} * p.element_bytes());
      if (map) job.ifm_reads = {map->read()};
      job.weights_read = Access{resident.buffer, 0, AccessKind::kRead};
      job.ofm_write = result.write();
      add_job(core, l, job);
      store_tile(l, core, {tile, group, outs}, result, result_at);
    }
  }

  void add_job(Core& core, std::size_t l, const MatrixJob& job) {
    if (!core.lowering || core.lowered != l) {
      graph_.also(Access{core.unit, core.turns++, AccessKind::kWrite});
      core.lowering = work_.layers[l].matrix->lower(graph_, core.place);
      core.lowered = l;
    }
    graph_.also(Access{core.unit, core.turns - 1, AccessKind::kRead});
    core.lowering->add(job);
    graph_.also({});
  }

  void load_map(std::size_t l, const Core& core, const OutputTile& tile, const BufferRing::Filling& map,
                std::uint64_t map_at) {
    const MatrixLayer& layer = *work_.layers[l].matrix;
    const int input = unit_.layers[l].inputs.front();
    const HeldTensor& held = *held_[static_cast<std::size_t>(input)];
    const Access into{map.buffer, map.version, AccessKind::kAccumulate};
    const MapLoad load = layer.load_map(tile, layer.problem().map_layout(held.origin()), map_at);
    if (load.before) copies_.add(core.processor, *load.before, {map.write()});
    std::vector<Access> accesses =
        held.accesses(global(input, tile.image, {tile.h.in, tile.h.in + tile.h.ins}), AccessKind::kRead);
    accesses.push_back(load.before ? into : map.write());
    for (const Transfer& transfer : load.transfers)
      copies_.add(core.processor, Unit::kMvdma, held.placed(transfer, TransferEnd::kSource), accesses);
    if (load.after) copies_.add(core.processor, *load.after, {into});
  }

  std::uint64_t result_address(const Core& core, const BufferRing::Filling& result) const {
    return core.place.nram + static_cast<std::uint64_t>(operands_at_ + kBuffers * operand_bytes_ +
                                                        result.place * result_bytes_);
  }

  // What a core has computed: a tile, kernels of it, and the rows of the layer's output that the step makes.
  struct Made {
    const OutputTile& tile;
    const KernelGroup& group;
    Interval outs;
  };
  void store_tile(std::size_t l, const Core& core, const Made& made, const BufferRing::Filling& result,
                  std::uint64_t result_at) {
    const Problem& p = work_.layers[l].matrix->problem();
    const int output = unit_.layers[l].output;
    const UnitTensor& tensor = unit_.tensors[static_cast<std::size_t>(output)];
    const TensorLayout layout = TensorLayout::dense(address_of(output), tensor.map.height, tensor.map.width,
                                                    std::int64_t{tensor.map.channels} * p.element_bytes());
    Interval rows{made.tile.h.out, made.tile.h.out + made.tile.h.outs};
    if (const SubpixelRows* subpixel = axes_[l].front().subpixel()) {
      rows = subpixel->rows_of(rows, tensor.height());
      rows = {std::max(rows.begin, made.outs.begin), std::min(rows.end, made.outs.end)};
    }
    for (const Transfer& transfer : store_transfers(p, layout, made.tile, made.group.blocks, result_at,
                                                    MapPart{made.outs, columns(output)}))
      store(core, output, transfer, global(output, made.tile.image, rows), result.read());
  }

  // Results to the SRAM; those of the last layer to DRAM.
  void store(const Core& core, int output, const Transfer& transfer, Interval rows, const Access& read) {
    const std::optional<HeldTensor>& held = held_[static_cast<std::size_t>(output)];
    if (!held) {
      copies_.add(
          core.processor, Unit::kIodma,
          moved(work_.stored[static_cast<std::size_t>(output)], {transfer}, TransferEnd::kDestination),
          {read});
      return;
    }
    std::vector<Access> accesses = held->accesses(rows, AccessKind::kWrite);
    accesses.push_back(read);
    copies_.add(core.processor, Unit::kMvdma, held->placed(transfer, TransferEnd::kDestination), accesses);
  }

  void run_vector(std::size_t l, int image, Interval rows) {
    VectorWork& work = *work_.layers[l].vector;
    // Two operands, each of which begins at a multiple of the alignment.
    const std::int64_t most =
        std::max<std::int64_t>(0, std::min(operand_bytes_ - 2 * kBufferAlignment, result_bytes_));
    for (int c = 0; c < chip_.cores_per_cluster; ++c) {
      for (const VectorPiece& piece :
           work.pieces_of({c, chip_.cores_per_cluster,
                           VectorShare::Rows{image, rows, columns(unit_.layers[l].output)}, most}))
        run_piece(l, cores_[static_cast<std::size_t>(c)], piece);
    }
  }

  void run_piece(std::size_t l, Core& core, const VectorPiece& piece) {
    const BufferRing::Filling input = core.operands.next();
    const std::int64_t from = operands_at_ + input.place * operand_bytes_;
    if (piece.fill)
      copies_.add(core.processor,
                  fill_copy(piece, work_.addresses[static_cast<std::size_t>(unit_.output())],
                            core.place.nram + static_cast<std::uint64_t>(from)),
                  {input.write()});
    const Access filled{input.buffer, input.version,
                        piece.fill ? AccessKind::kAccumulate : AccessKind::kWrite};
    for (const VectorPiece::Fetch& fetch : piece.fetches) {
      const HeldTensor& held = *held_[static_cast<std::size_t>(tensor_at(fetch.source))];
      const Transfer transfer{fetch.source, core.place.nram + static_cast<std::uint64_t>(from + fetch.offset),
                              fetch.shape};
      const CopyShape& s = fetch.shape;
      const std::int64_t bytes = (s.rows - 1) * s.source_row + (s.columns - 1) * s.source_column + s.run;
      std::vector<Access> accesses = held.accesses(held.rows_of(fetch.source, bytes), AccessKind::kRead);
      accesses.push_back(filled);
      copies_.add(core.processor, Unit::kMvdma, held.placed(transfer, TransferEnd::kSource), accesses);
    }
    Transfer result{core.place.nram + static_cast<std::uint64_t>(from), piece.destination, piece.store};
    Access read = input.read();
    if (piece.run) {
      const BufferRing::Filling made = core.results.next();
      const std::uint64_t to = result_address(core, made);
      Task task = vector_task(piece, from, static_cast<std::int64_t>(to - core.place.nram),
                              weights_.factors_at(l), chip_);
      task.processor = core.processor;
      task.accesses = {input.read(), made.write()};
      if (!work_.layers[l].vector->parameters().empty())
        task.accesses.push_back({weights_.factors(l), 0, AccessKind::kRead});
      graph_.add(std::move(task));
      result.source = to, read = made.read();
    }
    const int output = unit_.layers[l].output;
    const CopyShape& s = piece.store;
    const std::int64_t bytes =
        (s.rows - 1) * s.destination_row + (s.columns - 1) * s.destination_column + s.run;
    const std::optional<HeldTensor>& held = held_[static_cast<std::size_t>(output)];
    store(core, output, result, held ? held->rows_of(piece.destination, bytes) : Interval{}, read);
  }
  int tensor_at(std::uint64_t address) const {
    return static_cast<int>((address - kVirtual) >> kVirtualShift);
  }

  TaskGraph& graph_;
  const UnitWork& work_;
  const UnitGraph& unit_;
  const ChipConfig& chip_;
  int cluster_, memory_;
  ClusterRows rows_;
  PlannedBytes& bytes_;
  UnitAxes axes_, column_axes_;                     // by layer and input
  const std::vector<Interval>* columns_ = nullptr;  // by tensor: of the part that is worked on
  CopyTasks copies_;
  Staging staging_;
  ResidentWeights weights_;
  std::vector<ResidentWeights::Load> loads_;
  std::optional<int> loads_stream_;  // of the SRAM
  std::vector<Core> cores_;
  std::vector<std::optional<HeldTensor>> held_;  // by tensor
  std::int64_t operands_at_ = 0, operand_bytes_ = 0, result_bytes_ = 0;
};

using Clusters = std::vector<std::unique_ptr<ClusterTasks>>;

Clusters clusters_of(TaskGraph& graph, const UnitWork& work, PlannedUse& use,
                     std::optional<std::int64_t> sram = {}) {
  std::vector<ClusterRows> rows = rows_of_clusters(work);
  std::vector<MostOutputs> most(work.graph.layers.size());
  const UnitAxes down = row_axes(work.workload, work.graph),
                 across = row_axes(work.workload, work.graph, MapAxis::kColumns);
  for (std::size_t l = 0; l < most.size(); ++l) {
    const int output = work.graph.layers[l].output;
    for (const ClusterRows& of : rows) {
      most[l].rows = std::max(most[l].rows, of.most_computed(output, down[l].front()));
      most[l].columns = std::max(most[l].columns, of.most_computed_columns(output, across[l].front()));
    }
  }
  Clusters clusters;
  for (ClusterRows& of : rows)
    clusters.push_back(std::make_unique<ClusterTasks>(graph, work, std::move(of), most, use, sram));
  return clusters;
}

// Kernels and factors, once for the chip where that can be.
void load_weights(const Clusters& clusters, const UnitWork& work, PlannedUse& use) {
  const std::vector<ResidentWeights::Load>& first = clusters.front()->loads();
  const auto count = static_cast<int>(clusters.size());
  const bool chain = kernel_fetches(work.hardware, count) < count;
  for (std::size_t i = 0; chain && i < first.size(); ++i) {
    std::vector<Staging::Link> links;
    for (const auto& cluster : clusters) links.push_back(cluster->link(i));
    use.bytes.kernels += Staging::load(std::move(links), i) * bytes_of(first[i].transfers);
  }
  for (std::size_t c = 0; !chain && c < clusters.size(); ++c) {
    for (std::size_t i = 0; i < clusters[c]->loads().size(); ++i) {
      Staging::load({clusters[c]->link(i)}, 0);
      use.bytes.kernels += bytes_of(clusters[c]->loads()[i].transfers);
    }
  }
}

}  // namespace

int kernel_fetches(const HardwareConfig& hardware, int clusters) {
  const double links = static_cast<double>(hardware.chip->cluster_link.bytes_per_clock) * clusters;
  if (links < machine_of(hardware, {}).dram_bytes_per_clock) return clusters;
  return ceil_div(clusters, static_cast<int>(Staging::kMostLinks));
}

std::uint64_t unit_address(const UnitGraph& graph, const std::vector<std::uint64_t>& addresses, int tensor) {
  if (tensor == graph.output()) return addresses[static_cast<std::size_t>(tensor)];
  return kVirtual + (static_cast<std::uint64_t>(tensor) << kVirtualShift);
}

PlannedUse add_unit_tasks(TaskGraph& graph, const UnitWork& work) {
  PlannedUse use;
  const Clusters clusters = clusters_of(graph, work, use);
  load_weights(clusters, work, use);
  for (const auto& cluster : clusters) cluster->run();
  const UnitTensor& output = work.graph.tensors[static_cast<std::size_t>(work.graph.output())];
  use.bytes.results = output.info.size_bytes();
  return use;
}

PlannedUse add_unit_kernels_ahead(TaskGraph& graph, const UnitWork& work, std::int64_t sram) {
  PlannedUse use;
  load_weights(clusters_of(graph, work, use, sram), work, use);
  use.sram = std::max(use.sram, sram);
  return use;
}

std::vector<std::int64_t> wram_of_unit_loads(const UnitWork& work) {
  TaskGraph graph;
  PlannedUse use;
  return clusters_of(graph, work, use, 0).front()->weights().wram_of_loads();
}

}  // namespace tilebeat
