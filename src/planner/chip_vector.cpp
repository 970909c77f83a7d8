#include "tilebeat/base/error.h"
#include "tilebeat/base/math.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "chip_plan.h"

namespace tilebeat {
namespace {

constexpr int kMostElements = 65535;  // of a 16-bit field
constexpr int kMostSteps = 255;       // of an 8-bit field
constexpr int kParameterBuffer = kMemoryBuffers - 1;

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

class ChipVector {
 public:
  ChipVector(PlanBuilder& builder, const Layer& layer, LayerPlan& made)
      : builder_(builder), chip_(*builder.hardware.chip), layer_(layer), made_(made), output_(layer.output) {
    for (const std::string& name : layer.inputs) inputs_.push_back(builder.plan.tensors.at(name));
    channels_ = static_cast<int>(output_.shape.back());
  }

  ChipWork run() {
    std::int64_t bytes = output_.size_bytes();
    for (const Placement& input : inputs_) bytes += input.info.size_bytes();
    made_.bound.dram = dram_bound(bytes, builder_.hardware);
    ChipWork work;
    const bool sram = chip_.dram_path == DramPath::kSram;
    work.ways = {sram, sram, sram};
    std::visit([&](const auto& operation) { prepare(operation); }, layer_.operation);
    parameters_address_ = builder_.place("factors of " + layer_.name, parameters_);
    for (int core = 0; core < chip_.cores(); ++core) {
      pieces_.clear();
      std::visit([&](const auto& operation) { cut(operation, core); }, layer_.operation);
      cores_ += pieces_.empty() ? 0 : 1;
      work.cores.push_back(pieces_.empty() ? CoreWork{} : core_work(core));
    }
    made_.output_bytes = output_.size_bytes();
    made_.mapping = fmt::format("{} of {} cores", cores_, chip_.cores());
    made_.reason = "vector unit";
    return work;
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
    const std::int64_t pixels =
        touched_pixels(static_cast<int>(shape[1]), static_cast<int>(output_.shape[1]), pool.kernel[0],
                       pool.stride[0], pool.dilation[0], pool.pads[0]) *
        touched_pixels(static_cast<int>(shape[2]), static_cast<int>(output_.shape[2]), pool.kernel[1],
                       pool.stride[1], pool.dilation[1], pool.pads[1]);
    made_.bound.dram = dram_bound(output_.size_bytes() + shape[0] * pixels * channels_, builder_.hardware);
  }
  void prepare(const Elementwise& operation) {
    base_.kind = operation.kind == Elementwise::Kind::kAdd   ? VectorKind::kAdd
                 : operation.kind == Elementwise::Kind::kSub ? VectorKind::kSub
                                                             : VectorKind::kMul;
    base_.relu = operation.relu;
    for (const double scale : operation.input_scales) append_double(scale, parameters_);
    append_double(operation.requant.scale, parameters_);
    types();
    if (layer_.inputs[0] == layer_.inputs[1])
      made_.bound.dram = dram_bound(2 * output_.size_bytes(), builder_.hardware);
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
    const auto height = static_cast<int>(shape[1]), width = static_cast<int>(shape[2]);
    const auto out_height = static_cast<int>(output_.shape[1]),
               out_width = static_cast<int>(output_.shape[2]);
    const Interval part = part_of(out_height, std::min(chip_.cores(), out_height), core, 1);
    if (core >= out_height || part.size() == 0) return;
    const auto fits = [&](int rows, int columns) {
      const std::int64_t h =
          std::min(height, (rows - 1) * pool.stride[0] + (pool.kernel[0] - 1) * pool.dilation[0] + 1);
      const std::int64_t w =
          std::min(width, (columns - 1) * pool.stride[1] + (pool.kernel[1] - 1) * pool.dilation[1] + 1);
      return (h * w + std::int64_t{rows} * columns) * channels_ <= step_bytes();
    };
    int rows = std::max(1, static_cast<int>(ceil_div(part.size(), 2))), columns = out_width;
    while (rows > 1 && !fits(rows, columns)) --rows;
    while (columns > 1 && !fits(rows, columns)) columns = static_cast<int>(ceil_div(columns, 2));
    if (!fits(rows, columns)) beyond_nram("a window and its result");
    for (int n = 0; n < static_cast<int>(shape[0]); ++n) {
      for (int r = part.begin; r < part.end; r += rows) {
        for (int c = 0; c < out_width; c += columns) {
          add_pooled(pool, n,
                     window_of({r, std::min(part.end, r + rows)}, height, pool.kernel[0], pool.stride[0],
                               pool.dilation[0], pool.pads[0]),
                     window_of({c, std::min(out_width, c + columns)}, width, pool.kernel[1], pool.stride[1],
                               pool.dilation[1], pool.pads[1]));
        }
      }
    }
  }

  void add_pooled(const Pooling&, int image, const Window& h, const Window& w) {
    const auto& in = inputs_[0].info.shape;
    const std::int64_t pixel = (image * in[1] + h.in) * in[2] + w.in;
    const std::int64_t result = (image * output_.shape[1] + h.out) * output_.shape[2] + w.out;
    Piece piece;
    CopyShape shape = plain(std::int64_t{w.ins} * channels_);
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
    piece.destination =
        builder_.plan.tensors.at(layer_.name).address + static_cast<std::uint64_t>(result * channels_);
    piece.store = plain(std::int64_t{w.outs} * channels_);
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
    const Interval part = part_of(static_cast<int>(units), chip_.cores(), core, granule);
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
      piece.fetches.push_back(
          {input.address + static_cast<std::uint64_t>(first * size), piece.in_bytes, plain(elements * size)});
      piece.in_bytes = align_up(piece.in_bytes + elements * size, kBufferAlignment);
    }
    const int size = dtype_size(output_.dtype);
    piece.out_bytes = elements * size;
    piece.run = base_;
    piece.run->rows = 1;
    piece.run->columns = static_cast<std::uint16_t>(columns);
    piece.run->channels = static_cast<std::uint16_t>(channels);
    piece.destination =
        builder_.plan.tensors.at(layer_.name).address + static_cast<std::uint64_t>(first * size);
    piece.store = plain(piece.out_bytes);
    pieces_.push_back(std::move(piece));
  }

  void cut(const Concat&, int core) {
    const std::int64_t pixels = output_.elements() / channels_;
    const Interval part = part_of(static_cast<int>(pixels), chip_.cores(), core, 1);
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
            {input.address + static_cast<std::uint64_t>(at * depth), 0, plain(piece.in_bytes)});
        piece.destination = builder_.plan.tensors.at(layer_.name).address +
                            static_cast<std::uint64_t>(at * channels_ + channel);
        piece.store.run = depth, piece.store.columns = count;
        piece.store.source_column = depth, piece.store.destination_column = channels_;
        pieces_.push_back(std::move(piece));
      }
      channel += depth;
    }
  }

  // ---- instructions ----

  CoreWork core_work(int core) {
    std::int64_t in = 0, out = 0;
    for (const Piece& piece : pieces_) {
      in = std::max(in, align_up(piece.in_bytes, kBufferAlignment));
      out = std::max(out, align_up(piece.out_bytes, kBufferAlignment));
    }
    CoreWork work;
    if (!pieces_.front().run)
      work.ahead = 0;  // a buffer is free when it is stored: fetching ahead would wait in front
    const int count = static_cast<int>(pieces_.size());
    for (int i = 0; i < count; ++i) {
      const int buffer = i % 2;
      const bool reused = i + 2 < count;
      const std::int64_t from = parameter_room() + buffer * in, to = parameter_room() + 2 * in + buffer * out;
      if (i == 0 && parameters_address_ != 0)
        work.loads.push_back({load_parameters(core), i, CoreWork::Operand::kKernels});
      work.loads.push_back({load(core, i, from), i, CoreWork::Operand::kMap});
      work.steps.push_back(compute(i, from, to, reused));
      const Piece& piece = pieces_[static_cast<std::size_t>(i)];
      const std::uint64_t source = nram_address(core) + static_cast<std::uint64_t>(piece.run ? to : from);
      Movement store{{{source, piece.destination, piece.store}}, 0, 0, 0};
      store.waits = piece.run ? result_full(buffer) : map_full(buffer);
      if (reused) store.releases = piece.run ? result_free(buffer) : map_free(buffer);
      work.stores.push_back(std::move(store));
    }
    return work;
  }

  Movement load(int core, int step, std::int64_t from) {
    Movement movement;
    for (const Piece::Fetch& fetch : pieces_[static_cast<std::size_t>(step)].fetches) {
      const std::uint64_t destination = nram_address(core) + static_cast<std::uint64_t>(from + fetch.offset);
      movement.transfers.push_back({fetch.source, destination, fetch.shape});
    }
    if (step >= 2) movement.waits = map_free(step % 2);
    movement.done = map_full(step % 2);
    return movement;
  }

  Movement load_parameters(int core) {
    const auto bytes = static_cast<std::int64_t>(parameters_.size());
    return {{{parameters_address_, nram_address(core), plain(bytes)}}, 0, 0, map_full(kParameterBuffer)};
  }

  std::vector<Instruction> compute(int step, std::int64_t from, std::int64_t to, bool reused) const {
    const Piece& piece = pieces_[static_cast<std::size_t>(step)];
    if (!piece.run) return {};
    VectorRun run = *piece.run;
    run.a = static_cast<std::uint32_t>(from);
    run.b = static_cast<std::uint32_t>(from + piece.b_offset);
    run.destination = static_cast<std::uint32_t>(to);
    Instruction instruction{{map_full(step % 2)}, {}, {result_full(step % 2)}, run};
    if (step >= 2) instruction.waits[1] = result_free(step % 2);
    if (step == 0 && parameters_address_ != 0) instruction.waits[2] = map_full(kParameterBuffer);
    if (reused) instruction.release_signals[0] = map_free(step % 2);
    return {instruction};
  }

  PlanBuilder& builder_;
  const ChipConfig& chip_;
  const Layer& layer_;
  LayerPlan& made_;
  TensorInfo output_;
  std::vector<Placement> inputs_;
  int channels_ = 0, cores_ = 0;
  VectorRun base_;
  std::vector<std::uint8_t> parameters_;
  std::uint64_t parameters_address_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace

ChipWork plan_chip_vector(PlanBuilder& builder, const Layer& layer, LayerPlan& made) {
  return ChipVector(builder, layer, made).run();
}

}  // namespace tilebeat
