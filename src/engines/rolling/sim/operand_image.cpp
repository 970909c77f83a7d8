#include "tilebeat/engines/rolling/sim/operand_image.h"

#include <array>

namespace tilebeat::rolling {
namespace {

constexpr int kMostLanes = 128;  // as the configuration allows

}  // namespace

void widen(const std::uint8_t* bytes, int count, OperandName operand, const ConvSetup& conv,
           std::int16_t* elements) {
  const bool is_map = operand == OperandName::kA;
  const int zero = is_map ? conv.input_zero_point : conv.weight_zero_point;
  if ((is_map ? conv.input_type : conv.weight_type) == DType::kUint8) {
    for (int i = 0; i < count; ++i) elements[i] = static_cast<std::int16_t>(bytes[i] - zero);
  } else {
    for (int i = 0; i < count; ++i)
      elements[i] = static_cast<std::int16_t>(static_cast<std::int8_t>(bytes[i]) - zero);
  }
}

void OperandImage::read_line(const std::vector<Piece>& pieces, std::size_t at, OperandName operand,
                             const ConvSetup& conv, const ScratchpadPort& port) {
  std::array<std::uint8_t, kMostLanes> bytes;
  for (const Piece& piece : pieces) {
    port.direct_read(piece.address, bytes.data(), piece.bytes);
    widen(bytes.data(), piece.bytes, operand, conv, elements_.data() + at * stride_ + piece.at);
    Access& access = accesses_[at];
    access.bytes = static_cast<std::uint16_t>(access.bytes + piece.bytes);
    access.count = static_cast<std::uint16_t>(access.count + port.accesses(piece.address, piece.bytes));
  }
}

void OperandImage::read(OperandName operand, int group, const RollingSchedule& schedule,
                        const OperandLines& lines, const ConvSetup& conv, Transposition transposition,
                        const ScratchpadPort& port, int stride) {
  const Product& product = schedule.product();
  const int count = operand == OperandName::kA ? product.m : product.k;
  cuts_ = static_cast<std::size_t>(schedule.cuts()), stride_ = static_cast<std::size_t>(stride);
  const std::size_t all = static_cast<std::size_t>(count) * cuts_;
  elements_.assign(all * stride_, 0);
  accesses_.assign(all, {});
  std::vector<Piece> pieces;
  std::vector<std::uint8_t> across(static_cast<std::size_t>(count));
  std::vector<std::int16_t> wide(static_cast<std::size_t>(count));
  for (int cut = 0; cut < schedule.cuts(); ++cut) {
    const Span span = schedule.cut(cut);
    if (operand == OperandName::kB && transposition == Transposition::kWhileLoading) {
      for (int n = span.begin; n < span.end(); ++n) {
        pieces.clear();
        lines.find_across({0, count}, n, pieces);
        for (const Piece& piece : pieces)
          port.direct_read(piece.address, across.data() + piece.at, piece.bytes);
        widen(across.data(), count, operand, conv, wide.data());
        std::int16_t* to = elements_.data() + index(cut, 0) * stride_ + (n - span.begin);
        for (int line = 0; line < count; ++line)
          to[static_cast<std::size_t>(line) * cuts_ * stride_] = wide[static_cast<std::size_t>(line)];
      }
      continue;
    }
    for (int line = 0; line < count; ++line) {
      pieces.clear();
      if (operand == OperandName::kA)
        lines.find_pixel(line, group, span, pieces);
      else
        lines.find_kernel(line, span, pieces);
      read_line(pieces, index(cut, line), operand, conv, port);
    }
  }
  short_lines_ = true;
  for (int line = 0; line < count; ++line) {
    for (int cut = 0; cut < schedule.cuts(); ++cut) {
      const Access& one = *access(cut, line);
      short_lines_ = short_lines_ && one.count == 1 && one.bytes == schedule.cut(cut).size &&
                     one.bytes <= port.width_bytes();
    }
  }
}

}  // namespace tilebeat::rolling
