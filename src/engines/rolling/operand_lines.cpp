#include "engines/rolling/operand_lines.h"

#include "planner/language/problem.h"

#include <algorithm>

namespace tilebeat::rolling {
namespace {

// Adds bytes, joined with the last piece if they continue it.
void append(std::vector<Piece>& pieces, std::uint64_t address, int bytes, int at) {
  if (!pieces.empty()) {
    Piece& last = pieces.back();
    if (last.address + to_unsigned(last.bytes) == address && last.at + last.bytes == at) {
      last.bytes += bytes;
      return;
    }
  }
  pieces.push_back({address, bytes, at});
}

}  // namespace

Order order_of(const RollingSetup& setup) {
  return {setup.variant, setup.scheme, setup.stacked_blocks, setup.stacked_cuts, setup.wrap};
}

RollingSchedule schedule_of(const Shape& shape, const ConvSetup& conv, const RollingSetup& setup,
                            const RollingRun& run) {
  Product product;
  product.m = int{setup.images} * run.rows * run.columns;
  product.n = int{conv.kernel_h} * conv.kernel_w * run.channels;
  product.k = run.kernels;
  product.first_column = run.first_kernel;
  product.group_columns = setup.group_kernels;
  // Without channels of other groups in between and without dilation, the taps of a row are contiguous.
  const bool whole_pixels = setup.pixel_bytes == run.channels && conv.dilation_w == 1;
  product.run = whole_pixels ? run.channels * conv.kernel_w : run.channels;
  const WindowAxis h{run.height, conv.kernel_h, conv.stride_h, conv.dilation_h, -run.h_offset};
  const WindowAxis w{run.width, conv.kernel_w, conv.stride_w, conv.dilation_w, -run.w_offset};
  product.inside = h.share_inside(run.rows) * w.share_inside(run.columns);
  return RollingSchedule(shape, order_of(setup), product);
}

void OperandLines::loads(OperandName operand, const OutputBlock& block, int round, Records records,
                         std::vector<Load>& made) const {
  made.clear();
  const Span cuts = schedule_.cuts_of_round(round);
  const bool across = operand == OperandName::kB && setup_.transposition == Transposition::kWhileLoading;
  for (int part = 0; part < block.parts; ++part) {
    const int lines = schedule_.lines_of(block, operand, part).size;
    if (lines == 0) continue;
    const auto add = [&](int cut, int number) {
      const int elements = schedule_.cut(cuts.begin + cut).size;
      if (across)
        made.push_back({Load::Kind::kAcross, part, cut, number, {0, lines}});
      else
        made.push_back({Load::Kind::kLine, part, cut, number, {0, elements}});
    };
    if (operand == OperandName::kA) {
      for (int line = 0; line < lines; ++line) {
        for (int cut = 0; cut < cuts.size; ++cut) add(cut, line);
      }
      continue;
    }
    for (int cut = 0; cut < cuts.size; ++cut) {
      const int count = across ? schedule_.cut(cuts.begin + cut).size : lines;
      for (int number = 0; number < count; ++number) add(cut, number);
    }
  }
  if (records == Records::kNone) return;
  for (int kernel = 0; kernel < block.columns.size; ++kernel)
    made.push_back({Load::Kind::kRecord, 0, 0, kernel, {0, kRecordBytes}});
}

void OperandLines::find(OperandName operand, const OutputBlock& block, int round, const Load& load,
                        std::vector<Piece>& pieces) const {
  pieces.clear();
  if (load.kind == Load::Kind::kRecord) {
    const auto kernel = to_unsigned(block.columns.begin + load.number);
    pieces.push_back({run_.post + kernel * kRecordBytes, kRecordBytes, 0});
    return;
  }
  const Span elements = schedule_.cut(schedule_.cuts_of_round(round).begin + load.cut);
  const Span lines = schedule_.lines_of(block, operand, load.part);
  if (operand == OperandName::kA) {
    find_pixel(block.rows.begin + lines.begin + load.number, group_of(block), elements, pieces);
  } else if (load.kind == Load::Kind::kLine) {
    find_kernel(block.columns.begin + lines.begin + load.number, elements, pieces);
  } else {
    find_across({block.columns.begin + lines.begin, lines.size}, elements.begin + load.number, pieces);
  }
}

// n runs over blocks of channels, in each over the taps, in each over the block's channels.
void OperandLines::find_pixel(int pixel, int group, Span elements, std::vector<Piece>& pieces) const {
  if (run_.height == 0) return;
  const int outputs = int{run_.rows} * run_.columns;
  const int image = pixel < outputs ? 0 : pixel / outputs, in_image = pixel - image * outputs;
  const int row = run_.rows == 1 ? 0 : in_image / run_.columns, column = in_image - row * run_.columns;
  const int taps = int{conv_.kernel_h} * conv_.kernel_w, channel_block = schedule_.channel_block();
  const std::int64_t image_pixels = std::int64_t{run_.height} * run_.width;
  if (taps == 1) {  // blocks of channels follow one another
    const int h = row * conv_.stride_h + run_.h_offset, w = column * conv_.stride_w + run_.w_offset;
    if (h < 0 || h >= run_.height || w < 0 || w >= run_.width) return;
    const std::int64_t byte = (image * image_pixels + std::int64_t{h} * run_.width + w) * setup_.pixel_bytes +
                              std::int64_t{group} * setup_.group_channels + run_.first_channel +
                              elements.begin;
    append(pieces, run_.map + to_unsigned(byte), elements.size, 0);
    return;
  }
  for (int at = elements.begin; at < elements.end();) {
    const int first = at / (channel_block * taps) * channel_block;
    const int width = std::min(channel_block, run_.channels - first);
    const int within = at - first * taps;
    const int tap = within / width, channel = within % width;
    const int count = std::min(width - channel, elements.end() - at);
    const int h = row * conv_.stride_h + tap / conv_.kernel_w * conv_.dilation_h + run_.h_offset;
    const int w = column * conv_.stride_w + tap % conv_.kernel_w * conv_.dilation_w + run_.w_offset;
    if (h >= 0 && h < run_.height && w >= 0 && w < run_.width) {
      const std::int64_t byte =
          (image * image_pixels + std::int64_t{h} * run_.width + w) * setup_.pixel_bytes +
          std::int64_t{group} * setup_.group_channels + run_.first_channel + first + channel;
      append(pieces, run_.map + to_unsigned(byte), count, at - elements.begin);
    }
    at += count;
  }
}

void OperandLines::find_kernel(int kernel, Span elements, std::vector<Piece>& pieces) const {
  const int in_block = kernel % setup_.block_kernels, first = kernel - in_block;
  const int kernels = std::min<int>(setup_.block_kernels, run_.kernels - first);
  const std::int64_t byte = std::int64_t{first} * schedule_.product().n +
                            std::int64_t{elements.begin} * kernels + std::int64_t{in_block} * elements.size;
  pieces.push_back({run_.weights + to_unsigned(byte), elements.size, 0});
}

void OperandLines::find_across(Span kernels, int element, std::vector<Piece>& pieces) const {
  for (int at = kernels.begin; at < kernels.end();) {
    const int in_block = at % setup_.block_kernels, first = at - in_block;
    const int in_memory = std::min<int>(setup_.block_kernels, run_.kernels - first);
    const int count = std::min(in_memory - in_block, kernels.end() - at);
    const std::int64_t byte =
        std::int64_t{first} * schedule_.product().n + std::int64_t{element} * in_memory + in_block;
    append(pieces, run_.weights + to_unsigned(byte), count, at - kernels.begin);
    at += count;
  }
}

}  // namespace tilebeat::rolling
