#include "planner/vector/vector_work.h"

#include "base/math.h"
#include "planner/language/relayout.h"
#include "planner/layer/placement.h"
#include "planner/vector/function_table.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kMostSteps = 255;  // of an 8-bit field

}  // namespace

VectorWork::VectorWork(const Layer& layer, const HardwareConfig& hardware,
                       const std::vector<Placement>& inputs, const Placement& output)
    : chip_(*hardware.chip), layer_(layer), output_(layer.output), inputs_(inputs), result_(output) {
  channels_ = static_cast<int>(output_.shape.back());
  touched_ = output_.size_bytes();
  for (const Placement& input : inputs_) touched_ += input.info.size_bytes();
  std::visit([&](const auto& operation) { prepare(operation); }, layer_.operation);
}

std::vector<VectorPiece> VectorWork::pieces_of(const VectorShare& share) {
  share_ = share;
  pieces_.clear();
  std::visit([&](const auto& operation) { cut(operation); }, layer_.operation);
  return std::move(pieces_);
}

std::vector<Transfer> VectorWork::loads_of(const VectorPiece& piece, std::uint64_t to) const {
  std::vector<Transfer> loads;
  for (const VectorPiece::Fetch& fetch : piece.fetches) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(), [&](const Placement& place) {
      return fetch.source >= place.address &&
             fetch.source < place.address + static_cast<std::uint64_t>(place.info.size_bytes());
    });
    const Transfer load{fetch.source, to + static_cast<std::uint64_t>(fetch.offset), fetch.shape};
    for (const Transfer& part : moved(input->stored, {load}, TransferEnd::kSource)) loads.push_back(part);
  }
  return turned(loads, turned_bytes(chip_));
}
std::vector<Transfer> VectorWork::stores_of(const VectorPiece& piece, std::uint64_t from) const {
  return turned(moved(result_.stored, {{from, piece.destination, piece.store}}, TransferEnd::kDestination),
                turned_bytes(chip_));
}

void VectorWork::cannot_fit(const std::string& what) const {
  throw UserError(fmt::format("layer '{}' cannot fit: {}", layer_.name, what));
}

void VectorWork::beyond_nram(const char* what) const {
  cannot_fit(
      fmt::format("{}, twice, and {} bytes of factors do not fit chip.core.nram.size_bytes, which is {}",
                  what, parameters_.size(), chip_.core.nram.size_bytes));
}

// ---- parameters, and what VectorRun says of the whole layer ----

void VectorWork::prepare(const Pooling& pool) {
  base_.kind = pool.kind == Pooling::Kind::kMax ? VectorKind::kMaxPool : VectorKind::kAveragePool;
  // Steps that are never made, as those of a global pooling, may be as long as they like.
  const auto step = [](std::int64_t count, int value) { return count > 1 ? value : 1; };
  const std::array<int, 2> stride{step(output_.shape[1], pool.stride[0]),
                                  step(output_.shape[2], pool.stride[1])},
      dilation{step(pool.kernel[0], pool.dilation[0]), step(pool.kernel[1], pool.dilation[1])};
  for (const int value : {stride[0], stride[1], dilation[0], dilation[1]}) {
    if (value > kMostSteps)
      cannot_fit(fmt::format("a stride or dilation of {} is beyond {}", value, kMostSteps));
  }
  base_.kernel_h = static_cast<std::uint16_t>(pool.kernel[0]),
  base_.kernel_w = static_cast<std::uint16_t>(pool.kernel[1]);
  base_.stride_h = static_cast<std::uint8_t>(stride[0]),
  base_.stride_w = static_cast<std::uint8_t>(stride[1]);
  base_.dilation_h = static_cast<std::uint8_t>(dilation[0]);
  base_.dilation_w = static_cast<std::uint8_t>(dilation[1]);
  base_.count_padding = pool.count_include_pad;
  base_.arithmetic = pool.kind == Pooling::Kind::kMax ? Arithmetic::kExact : pool.arithmetic;
  bound(pool.range);
  if (base_.arithmetic == Arithmetic::kFloat32Ort) {
    append(static_cast<float>(pool.input_scale), parameters_);
    append(static_cast<float>(pool.output_scale), parameters_);
  }
  need_row();
  types();
  // A pooling need not touch every input.
  const auto& shape = inputs_[0].info.shape;
  const std::int64_t pixels = axis(pool, 0).touched(static_cast<int>(output_.shape[1])) *
                              axis(pool, 1).touched(static_cast<int>(output_.shape[2]));
  touched_ = output_.size_bytes() + shape[0] * pixels * channels_;
}
WindowAxis VectorWork::axis(const Pooling& pool, std::size_t number) const {
  return {static_cast<int>(inputs_[0].info.shape[1 + number]), pool.kernel[number], pool.stride[number],
          pool.dilation[number], pool.pads[number]};
}
void VectorWork::bound(const std::optional<OutputRange>& range) {
  if (!range) return;
  base_.floor = static_cast<std::uint8_t>((*range)[0] - dtype_min(output_.dtype));
  base_.ceiling = static_cast<std::uint8_t>(dtype_max(output_.dtype) - (*range)[1]);
}
void VectorWork::prepare(const Elementwise& operation) {
  base_.kind = operation.kind == Elementwise::Kind::kAdd   ? VectorKind::kAdd
               : operation.kind == Elementwise::Kind::kSub ? VectorKind::kSub
                                                           : VectorKind::kMul;
  base_.divide = operation.kind == Elementwise::Kind::kDiv;
  base_.relu = operation.relu, base_.arithmetic = operation.requant.arithmetic;
  bound(operation.requant.range);
  parameters_ = elementwise_parameters(operation);
  types();
  if (layer_.inputs[0] == layer_.inputs[1]) touched_ = 2 * output_.size_bytes();
}
void VectorWork::prepare(const ByteFunction& function) {
  base_.kind = VectorKind::kTable;
  const TensorInfo& input = inputs_.front().info;
  const auto table = function_table(function, input.dtype, input.zero_point);
  parameters_.assign(table.begin(), table.end());
  types();
}
void VectorWork::prepare(const ChannelScale& operation) {
  base_.kind = VectorKind::kScale;
  bound(operation.requant.range);
  append(operation.requant.scale, parameters_);
  for (std::size_t c = 0; c < operation.scale.size(); ++c) {
    append(operation.scale[c], parameters_);
    append(operation.offset[c], parameters_);
  }
  types();
}
void VectorWork::prepare(const Requantize& operation) {
  if (operation.requant.arithmetic != Arithmetic::kExact) {
    const TensorInfo& input = inputs_.front().info;
    const auto table = requantize_table(operation, input.dtype, input.zero_point);
    base_.kind = VectorKind::kTable;
    parameters_.assign(table.begin(), table.end());
    types();
    return;
  }
  base_.kind = VectorKind::kScale;
  bound(operation.requant.range);
  append(operation.requant.scale, parameters_);
  for (int c = 0; c < channels_; ++c) {
    append(operation.input_scale, parameters_);
    append(0.0, parameters_);
  }
  types();
}
void VectorWork::prepare(const Softmax& operation) {
  base_.kind = VectorKind::kSoftmax, base_.arithmetic = operation.requant.arithmetic;
  bound(operation.requant.range);
  if (operation.axis >= 0)
    channels_ = static_cast<int>(output_.shape[static_cast<std::size_t>(operation.axis)]);
  parameters_ = softmax_parameters(operation, channels_);
  need_row();
  types();
}

void VectorWork::need_row() const {
  const int longest = std::min(chip_.core.vector.row_elements, chip_.core.copy.buffer_bytes);
  if (channels_ > longest) {
    cannot_fit(
        fmt::format("{} channels, chip.core.vector.row_elements and chip.core.copy.buffer_bytes hold {}",
                    channels_, longest));
  }
}
void VectorWork::types() {
  base_.a_type = inputs_[0].info.dtype;
  base_.a_zero = static_cast<std::int16_t>(inputs_[0].info.zero_point);
  if (inputs_.size() > 1) {
    base_.b_type = inputs_[1].info.dtype;
    base_.b_zero = static_cast<std::int16_t>(inputs_[1].info.zero_point);
  }
  base_.out_type = output_.dtype;
  base_.out_zero = static_cast<std::int16_t>(output_.zero_point);
  if (static_cast<std::int64_t>(parameters_.size()) > chip_.core.vector.parameter_bytes) {
    cannot_fit(fmt::format("{} bytes of factors, chip.core.vector.parameter_bytes is {}", parameters_.size(),
                           chip_.core.vector.parameter_bytes));
  }
}

// ---- cutting ----

std::int64_t VectorWork::parameter_room() const {
  return align_up(static_cast<std::int64_t>(parameters_.size()), kBufferAlignment);
}
// Bytes of fetched and computed data of one step, of which two are there at a time.
std::int64_t VectorWork::step_bytes() const {
  if (share_.piece_bytes) return *share_.piece_bytes;
  return std::max<std::int64_t>(0,
                                (chip_.core.nram.size_bytes - parameter_room()) / 2 - 4 * kBufferAlignment);
}

Interval VectorWork::images() const {
  if (share_.part) return {share_.part->image, share_.part->image + 1};
  return {0, static_cast<int>(output_.shape[0])};
}
Interval VectorWork::columns() const {
  return share_.part ? share_.part->columns : Interval{0, static_cast<int>(output_.shape[2])};
}
std::vector<VectorWork::Span> VectorWork::spans(int pixels) const {
  if (!share_.part) return {{{0, pixels}, share_.core, share_.cores}};
  const auto height = static_cast<int>(output_.shape[1]), width = static_cast<int>(output_.shape[2]);
  const int first = share_.part->image * height;
  const Interval part = share_.part->rows, of_row = columns();
  if (of_row.size() == width)
    return {{{(first + part.begin) * width, (first + part.end) * width}, share_.core, share_.cores}};
  std::vector<Span> spans;
  const Interval own = rows();
  for (int row = own.begin; row < own.end; ++row)
    spans.push_back({{(first + row) * width + of_row.begin, (first + row) * width + of_row.end}, 0, 1});
  return spans;
}

Interval VectorWork::rows() const {
  const Interval all = share_.part ? share_.part->rows : Interval{0, static_cast<int>(output_.shape[1])};
  if (share_.core >= all.size()) return {};
  const Interval part = part_of(all.size(), std::min(share_.cores, all.size()), share_.core, 1);
  return {all.begin + part.begin, all.begin + part.end};
}

void VectorWork::cut(const Pooling& pool) {
  const Interval part = rows(), across = this->columns();
  if (part.empty()) return;
  const WindowAxis h = axis(pool, 0), w = axis(pool, 1);
  int rows = std::max(1, static_cast<int>(ceil_div(part.size(), 2))), columns = across.size();
  int channels = channels_;
  const auto fits = [&] {  // into NRAM, and into the instruction, which counts pixels in 16 bits
    const bool counted = std::max({h.span(rows), w.span(columns), rows, columns}) <= UINT16_MAX;
    return counted &&
           (std::int64_t{h.span(rows)} * w.span(columns) + std::int64_t{rows} * columns) * channels <=
               step_bytes();
  };
  while (rows > 1 && !fits()) --rows;
  while (columns > 1 && !fits()) columns = static_cast<int>(ceil_div(columns, 2));
  while (channels > 1 && !fits()) channels = ceil_div(channels, 2);
  if (!fits()) beyond_nram("a window and its result");
  for (int n = images().begin; n < images().end; ++n) {
    for (int r = part.begin; r < part.end; r += rows) {
      for (int c = across.begin; c < across.end; c += columns) {
        const Window high = h.window({r, std::min(part.end, r + rows)}),
                     wide = w.window({c, std::min(across.end, c + columns)});
        for (int k = 0; k < channels_; k += channels)
          add_pooled(n, high, wide, {k, std::min(channels_, k + channels)});
      }
    }
  }
}

// The transfers of a part of a map's outputs and of the inputs that they need.
VectorPiece VectorWork::piece_of_map(int image, const Window& h, const Window& w, Interval channels) const {
  const auto& in = inputs_[0].info.shape;
  const std::int64_t pixel = (image * in[1] + h.in) * in[2] + w.in;
  const std::int64_t result = (image * output_.shape[1] + h.out) * output_.shape[2] + w.out;
  const auto address = [&](std::uint64_t map, std::int64_t first) {
    return map + static_cast<std::uint64_t>(first * channels_ + channels.begin);
  };
  VectorPiece piece;
  piece.in_bytes = std::int64_t{h.ins} * w.ins * channels.size();
  piece.out_bytes = std::int64_t{h.outs} * w.outs * channels.size();
  CopyShape fetch = one_run(std::int64_t{w.ins} * channels.size());
  piece.store = one_run(std::int64_t{w.outs} * channels.size());
  fetch.rows = h.ins, fetch.source_row = in[2] * channels_, fetch.destination_row = fetch.run;
  piece.store.rows = h.outs, piece.store.source_row = piece.store.run;
  piece.store.destination_row = output_.shape[2] * channels_;
  if (channels.size() < channels_) {  // pixels are apart in DRAM
    fetch.run = fetch.destination_column = channels.size();
    fetch.columns = w.ins, fetch.source_column = channels_;
    piece.store.run = piece.store.source_column = channels.size();
    piece.store.columns = w.outs, piece.store.destination_column = channels_;
  }
  piece.fetches.push_back({address(inputs_[0].address, pixel), 0, fetch});
  piece.destination = address(result_.address, result);
  return piece;
}

void VectorWork::add_pooled(int image, const Window& h, const Window& w, Interval channels) {
  VectorRun run = base_;
  run.rows = static_cast<std::uint16_t>(h.outs), run.columns = static_cast<std::uint16_t>(w.outs);
  run.channels = static_cast<std::uint16_t>(channels.size());
  run.height = static_cast<std::uint16_t>(h.ins), run.width = static_cast<std::uint16_t>(w.ins);
  run.h_offset = static_cast<std::int16_t>(h.offset), run.w_offset = static_cast<std::int16_t>(w.offset);
  VectorPiece piece = piece_of_map(image, h, w, channels);
  piece.run = run;
  pieces_.push_back(std::move(piece));
}

// `pixel`: elements that stay together, one a channel; nothing: elements have no channel.
void VectorWork::cut_flat(std::optional<int> pixel) {
  for (const Span& span : spans(static_cast<int>(output_.elements() / channels_))) cut_flat(pixel, span);
}
void VectorWork::cut_flat(std::optional<int> pixel, const Span& span) {
  constexpr int kGranule = 64;  // elements that a core gets at least
  const int unit = pixel.value_or(1);
  const int per_pixel = channels_ / unit, first = span.pixels.begin * per_pixel;
  const int granule = pixel ? 1 : kGranule;
  Interval part = part_of(span.pixels.size() * per_pixel, span.cores, span.core, granule);
  part = {first + part.begin, first + part.end};
  const std::int64_t element = dtype_size(base_.a_type) +
                               (inputs_.size() > 1 ? dtype_size(base_.b_type) : 0) +
                               dtype_size(base_.out_type);
  const std::int64_t most =
      std::min<std::int64_t>({kMostOfField, step_bytes() / (element * unit),
                              std::max<std::int64_t>(ceil_div(part.size(), 2), granule)});
  if (part.size() > 0 && most == 0) beyond_nram("a pixel and its result");
  for (int at = part.begin; at < part.end; at += static_cast<int>(most)) {
    const int count = static_cast<int>(std::min<std::int64_t>(most, part.end - at));
    add_flat(std::int64_t{at} * unit, std::int64_t{count} * unit, pixel ? count : 1, pixel.value_or(count));
  }
}

void VectorWork::add_flat(std::int64_t first, std::int64_t elements, int columns, int channels) {
  VectorPiece piece;
  for (const Placement& input : inputs_) {
    const int size = dtype_size(input.info.dtype);
    piece.b_offset = piece.in_bytes;  // that of the last operand
    piece.fetches.push_back(
        {input.address + static_cast<std::uint64_t>(first * size), piece.in_bytes, one_run(elements * size)});
    piece.in_bytes = align_up(piece.in_bytes + elements * size, kBufferAlignment);
  }
  const int size = dtype_size(output_.dtype);
  piece.out_bytes = elements * size;
  VectorRun run = base_;
  run.rows = 1;
  run.columns = static_cast<std::uint16_t>(columns), run.channels = static_cast<std::uint16_t>(channels);
  piece.run = run;
  piece.destination = result_.address + static_cast<std::uint64_t>(first * size);
  piece.store = one_run(piece.out_bytes);
  pieces_.push_back(std::move(piece));
}

void VectorWork::cut(const Concat& concat) {
  const auto axis = static_cast<std::size_t>(concat.axis);
  const auto bytes_from_axis = [axis](const TensorInfo& info) {
    std::int64_t bytes = dtype_size(info.dtype);
    for (std::size_t a = axis; a < info.shape.size(); ++a) bytes *= info.shape[a];
    return bytes;
  };
  const std::int64_t row = bytes_from_axis(output_);
  const bool channels = axis + 1 == output_.shape.size();
  const auto all = static_cast<int>(output_.size_bytes() / row);
  if (step_bytes() == 0) beyond_nram("a byte");
  for (const Span& span : channels ? spans(all) : std::vector<Span>{{{0, all}, share_.core, share_.cores}}) {
    Interval part = part_of(span.pixels.size(), span.cores, span.core, 1);
    part = {span.pixels.begin + part.begin, span.pixels.begin + part.end};
    std::int64_t before = 0;
    for (const Placement& input : inputs_) {
      const std::int64_t depth = bytes_from_axis(input.info);
      add_joined(input, part, depth, {row, before});
      before += depth;
    }
  }
}

// Bytes [0, depth) of places `part` of an input become those from `to` on of the output's.
void VectorWork::add_joined(const Placement& input, Interval part, std::int64_t depth,
                            const JoinedBytes& to) {
  const std::int64_t run = std::min(depth, step_bytes());
  const std::int64_t most = std::min<std::int64_t>(kMostOfField, step_bytes() / run);
  for (std::int64_t at = part.begin; at < part.end; at += run < depth ? 1 : most) {
    const std::int64_t count = run < depth ? 1 : std::min<std::int64_t>(most, part.end - at);
    for (std::int64_t from = 0; from < depth; from += run) {
      const std::int64_t bytes = std::min(run, depth - from);
      VectorPiece piece;
      piece.in_bytes = count * bytes;
      piece.fetches.push_back(
          {input.address + static_cast<std::uint64_t>(at * depth + from), 0, one_run(piece.in_bytes)});
      piece.destination = result_.address + static_cast<std::uint64_t>(at * to.row + to.first + from);
      piece.store.run = bytes, piece.store.columns = count;
      piece.store.source_column = bytes, piece.store.destination_column = to.row;
      pieces_.push_back(std::move(piece));
    }
  }
}

}  // namespace tilebeat
