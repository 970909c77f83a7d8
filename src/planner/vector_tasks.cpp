#include "vector_tasks.h"

#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"
#include "tilebeat/isa/address_map.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "processors.h"
#include "staging.h"

namespace tilebeat {
namespace {

constexpr int kMostElements = 65535;  // of a 16-bit field
constexpr int kMostSteps = 255;       // of an 8-bit field

// One step of a core: what it fetches into a buffer, computes and stores.
struct Piece {
  struct Fetch {
    std::uint64_t source = 0;
    std::int64_t offset = 0;  // in the buffer
    CopyShape shape;
  };
  std::vector<Fetch> fetches;
  std::int64_t in_bytes = 0, out_bytes = 0;
  std::optional<VectorRun> run;  // nothing: what was fetched is stored as it is
  std::int64_t b_offset = 0;     // of the second operand in the buffer
  std::uint64_t destination = 0;
  CopyShape store;
};

void append_double(double value, std::vector<std::uint8_t>& bytes) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

class VectorTasks : public VectorLayer {
 public:
  VectorTasks(const Layer& layer, const HardwareConfig& hardware, const std::vector<Placement>& inputs,
              const Placement& output)
      : hardware_(hardware),
        chip_(*hardware.chip),
        layer_(layer),
        output_(layer.output),
        inputs_(inputs),
        output_address_(output.address) {
    channels_ = static_cast<int>(output_.shape.back());
    touched_ = output_.size_bytes();
    for (const Placement& input : inputs_) touched_ += input.info.size_bytes();
    std::visit([&](const auto& operation) { prepare(operation); }, layer_.operation);
  }

  const std::vector<std::uint8_t>& parameters() const override { return parameters_; }
  std::int64_t touched_bytes() const override { return touched_; }

  int add_tasks(TaskGraph& graph, int cores, DataPath path, std::uint64_t parameters,
                const std::vector<BufferId>& stored, PlannedBytes& bytes) override {
    cores_ = cores;
    std::vector<std::vector<Piece>> pieces;
    for (int core = 0; core < cores; ++core) {
      pieces_.clear();
      std::visit([&](const auto& operation) { cut(operation, core); }, layer_.operation);
      pieces.push_back(pieces_);
    }
    bytes.results = output_.size_bytes();
    return add_pieces(graph, pieces, path, parameters, stored, bytes);
  }

 private:
  [[noreturn]] void cannot_fit(const std::string& what) const {
    throw UserError(fmt::format("layer '{}' cannot fit: {}", layer_.name, what));
  }

  [[noreturn]] void beyond_nram(const char* what) const {
    cannot_fit(
        fmt::format("{}, twice, and {} bytes of factors do not fit chip.core.nram.size_bytes, which is {}",
                    what, parameters_.size(), chip_.core.nram.size_bytes));
  }

  // ---- parameters, and what VectorRun says of the whole layer ----

  void prepare(const Pooling& pool) {
    base_.kind = pool.kind == Pooling::Kind::kMax ? VectorKind::kMaxPool : VectorKind::kAveragePool;
    for (const int value : {pool.stride[0], pool.stride[1], pool.dilation[0], pool.dilation[1]}) {
      if (value > kMostSteps)
        cannot_fit(fmt::format("a stride or dilation of {} is beyond {}", value, kMostSteps));
    }
    base_.kernel_h = static_cast<std::uint16_t>(pool.kernel[0]),
    base_.kernel_w = static_cast<std::uint16_t>(pool.kernel[1]);
    base_.stride_h = static_cast<std::uint8_t>(pool.stride[0]),
    base_.stride_w = static_cast<std::uint8_t>(pool.stride[1]);
    base_.dilation_h = static_cast<std::uint8_t>(pool.dilation[0]);
    base_.dilation_w = static_cast<std::uint8_t>(pool.dilation[1]);
    base_.count_padding = pool.count_include_pad;
    need_row();
    types();
    // A pooling need not touch every input.
    const auto& shape = inputs_[0].info.shape;
    const std::int64_t pixels = axis(pool, 0).touched(static_cast<int>(output_.shape[1])) *
                                axis(pool, 1).touched(static_cast<int>(output_.shape[2]));
    touched_ = output_.size_bytes() + shape[0] * pixels * channels_;
  }
  WindowAxis axis(const Pooling& pool, std::size_t number) const {
    return {static_cast<int>(inputs_[0].info.shape[1 + number]), pool.kernel[number], pool.stride[number],
            pool.dilation[number], pool.pads[number]};
  }
  void prepare(const Elementwise& operation) {
    base_.kind = operation.kind == Elementwise::Kind::kAdd   ? VectorKind::kAdd
                 : operation.kind == Elementwise::Kind::kSub ? VectorKind::kSub
                                                             : VectorKind::kMul;
    base_.relu = operation.relu;
    for (const double scale : operation.input_scales) append_double(scale, parameters_);
    append_double(operation.requant.scale, parameters_);
    types();
    if (layer_.inputs[0] == layer_.inputs[1]) touched_ = 2 * output_.size_bytes();
  }
  void prepare(const ByteTable& table) {
    base_.kind = VectorKind::kTable;
    parameters_.assign(table.table.begin(), table.table.end());
    types();
  }
  void prepare(const ChannelScale& operation) {
    base_.kind = VectorKind::kScale;
    append_double(operation.requant.scale, parameters_);
    for (std::size_t c = 0; c < operation.scale.size(); ++c) {
      append_double(operation.scale[c], parameters_);
      append_double(operation.offset[c], parameters_);
    }
    types();
  }
  void prepare(const Requantize& operation) {
    base_.kind = VectorKind::kScale;
    append_double(operation.requant.scale, parameters_);
    for (int c = 0; c < channels_; ++c) {
      append_double(operation.input_scale, parameters_);
      append_double(0, parameters_);
    }
    types();
  }
  void prepare(const Softmax& operation) {
    base_.kind = VectorKind::kSoftmax;
    for (const std::int64_t e : operation.exponentials) {
      const std::size_t at = parameters_.size();
      parameters_.resize(at + sizeof e);
      std::memcpy(parameters_.data() + at, &e, sizeof e);
    }
    append_double(operation.requant.scale, parameters_);
    need_row();
    types();
  }
  void prepare(const Concat&) {}
  void prepare(const Conv2d&) {}
  void prepare(const Reshape&) {}

  void need_row() const {
    const int longest = std::min(chip_.core.vector.row_elements, chip_.core.copy.buffer_bytes);
    if (channels_ > longest) {
      cannot_fit(
          fmt::format("{} channels, chip.core.vector.row_elements and chip.core.copy.buffer_bytes hold {}",
                      channels_, longest));
    }
  }
  void types() {
    base_.a_type = inputs_[0].info.dtype;
    base_.a_zero = static_cast<std::int16_t>(inputs_[0].info.zero_point);
    if (inputs_.size() > 1) {
      base_.b_type = inputs_[1].info.dtype;
      base_.b_zero = static_cast<std::int16_t>(inputs_[1].info.zero_point);
    }
    base_.out_type = output_.dtype;
    base_.out_zero = static_cast<std::int16_t>(output_.zero_point);
    if (static_cast<std::int64_t>(parameters_.size()) > chip_.core.vector.parameter_bytes) {
      cannot_fit(fmt::format("{} bytes of factors, chip.core.vector.parameter_bytes is {}",
                             parameters_.size(), chip_.core.vector.parameter_bytes));
    }
  }

  // ---- cutting ----

  std::int64_t parameter_room() const {
    return align_up(static_cast<std::int64_t>(parameters_.size()), kBufferAlignment);
  }
  // Bytes of fetched and computed data of one step, of which two are there at a time.
  std::int64_t step_bytes() const {
    return std::max<std::int64_t>(0,
                                  (chip_.core.nram.size_bytes - parameter_room()) / 2 - 4 * kBufferAlignment);
  }

  void cut(const Pooling& pool, int core) {
    const auto& shape = inputs_[0].info.shape;
    const auto out_height = static_cast<int>(output_.shape[1]),
               out_width = static_cast<int>(output_.shape[2]);
    const Interval part = part_of(out_height, std::min(cores_, out_height), core, 1);
    if (core >= out_height || part.size() == 0) return;
    const WindowAxis h = axis(pool, 0), w = axis(pool, 1);
    const auto fits = [&](int rows, int columns) {
      return (std::int64_t{h.span(rows)} * w.span(columns) + std::int64_t{rows} * columns) * channels_ <=
             step_bytes();
    };
    int rows = std::max(1, static_cast<int>(ceil_div(part.size(), 2))), columns = out_width;
    while (rows > 1 && !fits(rows, columns)) --rows;
    while (columns > 1 && !fits(rows, columns)) columns = static_cast<int>(ceil_div(columns, 2));
    if (!fits(rows, columns)) beyond_nram("a window and its result");
    for (int n = 0; n < static_cast<int>(shape[0]); ++n) {
      for (int r = part.begin; r < part.end; r += rows) {
        for (int c = 0; c < out_width; c += columns) {
          add_pooled(n, h.window({r, std::min(part.end, r + rows)}),
                     w.window({c, std::min(out_width, c + columns)}));
        }
      }
    }
  }

  void add_pooled(int image, const Window& h, const Window& w) {
    const auto& in = inputs_[0].info.shape;
    const std::int64_t pixel = (image * in[1] + h.in) * in[2] + w.in;
    const std::int64_t result = (image * output_.shape[1] + h.out) * output_.shape[2] + w.out;
    Piece piece;
    CopyShape shape = one_run(std::int64_t{w.ins} * channels_);
    shape.rows = h.ins, shape.source_row = in[2] * channels_, shape.destination_row = shape.run;
    piece.fetches.push_back({inputs_[0].address + static_cast<std::uint64_t>(pixel * channels_), 0, shape});
    piece.in_bytes = shape.run * h.ins;
    piece.out_bytes = std::int64_t{h.outs} * w.outs * channels_;
    piece.run = base_;
    piece.run->rows = static_cast<std::uint16_t>(h.outs),
    piece.run->columns = static_cast<std::uint16_t>(w.outs);
    piece.run->channels = static_cast<std::uint16_t>(channels_);
    piece.run->height = static_cast<std::uint16_t>(h.ins),
    piece.run->width = static_cast<std::uint16_t>(w.ins);
    piece.run->h_offset = static_cast<std::int16_t>(h.offset),
    piece.run->w_offset = static_cast<std::int16_t>(w.offset);
    piece.destination = output_address_ + static_cast<std::uint64_t>(result * channels_);
    piece.store = one_run(std::int64_t{w.outs} * channels_);
    piece.store.rows = h.outs, piece.store.source_row = piece.store.run;
    piece.store.destination_row = output_.shape[2] * channels_;
    pieces_.push_back(std::move(piece));
  }

  // Elements without a channel of their own are spread one by one, others pixel by pixel.
  void cut(const Elementwise&, int core) { cut_flat(core, std::nullopt); }
  void cut(const ByteTable&, int core) { cut_flat(core, std::nullopt); }
  void cut(const ChannelScale&, int core) { cut_flat(core, channels_); }
  void cut(const Requantize&, int core) { cut_flat(core, channels_); }
  void cut(const Softmax&, int core) { cut_flat(core, channels_); }
  void cut(const Conv2d&, int) {}
  void cut(const Reshape&, int) {}

  // `pixel`: elements that stay together, one a channel; nothing: elements have no channel.
  void cut_flat(int core, std::optional<int> pixel) {
    constexpr int kGranule = 64;  // elements that a core gets at least
    const int unit = pixel.value_or(1);
    const std::int64_t units = output_.elements() / unit;
    const int granule = pixel ? 1 : kGranule;
    const Interval part = part_of(static_cast<int>(units), cores_, core, granule);
    const std::int64_t element = dtype_size(base_.a_type) +
                                 (inputs_.size() > 1 ? dtype_size(base_.b_type) : 0) +
                                 dtype_size(base_.out_type);
    const std::int64_t most =
        std::min<std::int64_t>({kMostElements, step_bytes() / (element * unit),
                                std::max<std::int64_t>(ceil_div(part.size(), 2), granule)});
    if (part.size() > 0 && most == 0) beyond_nram("a pixel and its result");
    for (int at = part.begin; at < part.end; at += static_cast<int>(most)) {
      const int count = static_cast<int>(std::min<std::int64_t>(most, part.end - at));
      add_flat(std::int64_t{at} * unit, std::int64_t{count} * unit, pixel ? count : 1, pixel.value_or(count));
    }
  }

  void add_flat(std::int64_t first, std::int64_t elements, int columns, int channels) {
    Piece piece;
    for (const Placement& input : inputs_) {
      const int size = dtype_size(input.info.dtype);
      piece.b_offset = piece.in_bytes;  // that of the last operand
      piece.fetches.push_back({input.address + static_cast<std::uint64_t>(first * size), piece.in_bytes,
                               one_run(elements * size)});
      piece.in_bytes = align_up(piece.in_bytes + elements * size, kBufferAlignment);
    }
    const int size = dtype_size(output_.dtype);
    piece.out_bytes = elements * size;
    piece.run = base_;
    piece.run->rows = 1;
    piece.run->columns = static_cast<std::uint16_t>(columns);
    piece.run->channels = static_cast<std::uint16_t>(channels);
    piece.destination = output_address_ + static_cast<std::uint64_t>(first * size);
    piece.store = one_run(piece.out_bytes);
    pieces_.push_back(std::move(piece));
  }

  void cut(const Concat&, int core) {
    const std::int64_t pixels = output_.elements() / channels_;
    const Interval part = part_of(static_cast<int>(pixels), cores_, core, 1);
    std::int64_t channel = 0;
    for (const Placement& input : inputs_) {
      const std::int64_t depth = input.info.shape.back();
      const std::int64_t most = std::min<std::int64_t>(kMostElements, step_bytes() / depth);
      if (most == 0) beyond_nram("a pixel");
      for (std::int64_t at = part.begin; at < part.end; at += most) {
        const std::int64_t count = std::min<std::int64_t>(most, part.end - at);
        Piece piece;
        piece.in_bytes = count * depth;
        piece.fetches.push_back(
            {input.address + static_cast<std::uint64_t>(at * depth), 0, one_run(piece.in_bytes)});
        piece.destination = output_address_ + static_cast<std::uint64_t>(at * channels_ + channel);
        piece.store.run = depth, piece.store.columns = count;
        piece.store.source_column = depth, piece.store.destination_column = channels_;
        pieces_.push_back(std::move(piece));
      }
      channel += depth;
    }
  }

  // ---- tasks ----

  // A core with work: its places in NRAM.
  struct Core {
    int number = 0, processor = 0;
    std::int64_t in = 0, out = 0;  // bytes of a buffer
    BufferRing inputs, results;
    BufferId factors = 0;
  };

  int add_pieces(TaskGraph& graph, const std::vector<std::vector<Piece>>& pieces, DataPath path,
                 std::uint64_t parameters, const std::vector<BufferId>& stored, PlannedBytes& bytes) {
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
      const auto size = static_cast<std::int64_t>(parameters_.size());
      way.load(core, {{parameters, nram_address(core.number), one_run(size)}},
               {core.factors, 0, AccessKind::kWrite});
      bytes.kernels += size;
    }
    for (std::size_t step = 0; step < steps; ++step) {
      for (Core& core : cores) {
        const auto& of_core = pieces[static_cast<std::size_t>(core.number)];
        if (step < of_core.size()) add_piece(graph, way, core, of_core[step], stored, bytes);
      }
    }
    return static_cast<int>(cores.size());
  }

  Core make_core(TaskGraph& graph, int number, const std::vector<Piece>& pieces) const {
    Core core;
    core.number = number, core.processor = processor_of_core(chip_, number);
    for (const Piece& piece : pieces) {
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
    void load(const Core& core, const std::vector<Transfer>& transfers, const Access& written) {
      if (staging_.empty()) {
        copies_.add(core.processor, Unit::kIodma, transfers, {written});
      } else {
        staging_of(core).load(streams_.at(core.number).first, {{core.processor, transfers, {written}}});
      }
    }
    void store(const Core& core, const Transfer& transfer, const Access& read,
               const std::vector<BufferId>& stored) {
      if (staging_.empty()) {
        copies_.add(core.processor, Unit::kIodma, {transfer}, {read, done(stored, core.processor)});
      } else {
        const int memory = processor_of_memory(chip_, core.number / chip_.cores_per_cluster);
        staging_of(core).store(streams_.at(core.number).second, core.processor, {transfer}, read,
                               done(stored, memory));
      }
    }

   private:
    static Access done(const std::vector<BufferId>& stored, int processor) {
      return {stored[static_cast<std::size_t>(processor)], 0, AccessKind::kWrite};
    }
    Staging& staging_of(const Core& core) { return staging_.at(core.number / chip_.cores_per_cluster); }

    const ChipConfig& chip_;
    CopyTasks copies_;
    std::map<int, Staging> staging_;              // by cluster
    std::map<int, std::pair<int, int>> streams_;  // by core: of what it loads, and of what it stores
  };

  void add_piece(TaskGraph& graph, Way& way, Core& core, const Piece& piece,
                 const std::vector<BufferId>& stored, PlannedBytes& bytes) const {
    const BufferRing::Filling input = core.inputs.next();
    const std::int64_t from = parameter_room() + input.place * core.in;
    std::vector<Transfer> fetches;
    for (const typename Piece::Fetch& fetch : piece.fetches)
      fetches.push_back({fetch.source,
                         nram_address(core.number) + static_cast<std::uint64_t>(from + fetch.offset),
                         fetch.shape});
    bytes.maps += bytes_of(fetches);
    way.load(core, fetches, input.write());
    Transfer store{nram_address(core.number) + static_cast<std::uint64_t>(from), piece.destination,
                   piece.store};
    if (!piece.run) {
      way.store(core, store, input.read(), stored);
      return;
    }
    const BufferRing::Filling result = core.results.next();
    const std::int64_t to = parameter_room() + 2 * core.in + result.place * core.out;
    Task task;
    task.processor = core.processor;
    VectorRun run = *piece.run;
    run.a = static_cast<std::uint32_t>(from);
    run.b = static_cast<std::uint32_t>(from + piece.b_offset);
    run.destination = static_cast<std::uint32_t>(to);
    task.instruction.operation = run;
    task.accesses = {input.read(), result.write()};
    if (!parameters_.empty()) task.accesses.push_back({core.factors, 0, AccessKind::kRead});
    task.cost = run_cost(run, piece);
    graph.add(std::move(task));
    store.source = nram_address(core.number) + static_cast<std::uint64_t>(to);
    way.store(core, store, result.read(), stored);
  }

  // A clock for `lanes` elements, for every tap of a pooling and every pass of a softmax; and the bytes
  // through the ports.
  TaskCost run_cost(const VectorRun& run, const Piece& piece) const {
    const double pixels = static_cast<double>(run.rows) * run.columns;
    const double steps = static_cast<double>(ceil_div<int>(run.channels, chip_.core.vector.lanes));
    const bool pooling = run.kind == VectorKind::kMaxPool || run.kind == VectorKind::kAveragePool;
    const double passes = pooling ? static_cast<double>(run.kernel_h) * run.kernel_w : 1;
    const double width = chip_.core.bus.bytes_per_clock;
    const double read = pooling ? pixels * passes * run.channels : static_cast<double>(piece.in_bytes);
    TaskCost cost;
    constexpr double kStart = 16;
    cost.cycles = kStart + std::max({pixels * steps * passes, read / width,
                                     static_cast<double>(piece.out_bytes) / width});
    cost.latency = kStart + chip_.core.vector.latency_cycles;
    return cost;
  }

  const HardwareConfig& hardware_;
  const ChipConfig& chip_;
  const Layer& layer_;
  TensorInfo output_;
  std::vector<Placement> inputs_;
  std::uint64_t output_address_;
  int channels_ = 0, cores_ = 1;
  std::int64_t touched_ = 0;
  VectorRun base_;
  std::vector<std::uint8_t> parameters_;
  std::vector<Piece> pieces_;  // of the core that is being cut
};

}  // namespace

std::unique_ptr<VectorLayer> make_vector_layer(const Layer& layer, const HardwareConfig& hardware,
                                               const std::vector<Placement>& inputs,
                                               const Placement& output) {
  return std::make_unique<VectorTasks>(layer, hardware, inputs, output);
}

}  // namespace tilebeat
