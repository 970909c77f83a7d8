#include "engines/rolling/sim/operand_image.h"

#include "kernels/mac.h"

#include <algorithm>

namespace tilebeat::rolling {
namespace {

constexpr std::size_t kWhole = 32;  // elements that rows and columns are a multiple of

int taps_of(const ConvSetup& conv) {
  return int{conv.kernel_h} * conv.kernel_w;
}

// An iterator over the output pixels of a run.
class Pixels {
 public:
  explicit Pixels(const ImageSource& source) : conv_(source.conv), run_(source.run) {}
  // The number of the map pixel under tap `tap`; negative on padding.
  std::int64_t under(int tap) const {
    const int h = row_ * conv_.stride_h + tap / conv_.kernel_w * conv_.dilation_h + run_.h_offset;
    const int w = column_ * conv_.stride_w + tap % conv_.kernel_w * conv_.dilation_w + run_.w_offset;
    if (h < 0 || h >= run_.height || w < 0 || w >= run_.width) return -1;
    return (std::int64_t{image_} * run_.height + h) * run_.width + w;
  }
  void next() {
    if (++column_ < run_.columns) return;
    column_ = 0;
    if (++row_ < run_.rows) return;
    row_ = 0, ++image_;
  }

 private:
  const ConvSetup& conv_;
  const RollingRun& run_;
  int image_ = 0, row_ = 0, column_ = 0;
};

}  // namespace

void widen(const std::uint8_t* bytes, int count, OperandName operand, const ConvSetup& conv,
           std::int16_t* elements, int first) {
  const bool is_map = operand == OperandName::kA;
  tilebeat::widen(bytes, count, is_map ? conv.input_type : conv.weight_type,
                  is_map ? conv.input_zero_point : conv.weight_zero_point, elements, first);
}

void OperandImage::read_map(const ImageSource& source, std::vector<std::int16_t>& map) {
  const RollingRun& run = source.run;
  const std::size_t size = to_size(source.setup.images) * run.height * run.width * source.setup.pixel_bytes;
  map.resize(size);
  if (map.empty()) return;
  std::vector<std::uint8_t> bytes(size);
  source.port.direct_read(run.map, bytes.data(), to_int(size), source.from);
  widen(bytes.data(), to_int(size), OperandName::kA, source.conv, map.data());
}

void OperandImage::begin(const ImageSource& source, int lines) {
  const RollingSchedule& schedule = source.schedule;
  const auto n = to_size(schedule.product().n);
  length_ = (n + kWhole - 1) / kWhole * kWhole;
  lines_ = to_size(lines);
  elements_.resize(lines_ * length_);
  for (std::size_t line = 0; length_ > n && line < lines_; ++line)
    std::fill_n(elements_.begin() + to_signed(line * length_ + n), length_ - n, std::int16_t{0});
  cuts_.resize(to_size(schedule.cuts()));
  for (int cut = 0; cut < schedule.cuts(); ++cut) nth(cuts_, cut) = {schedule.cut(cut).size, 0};
  inside_.clear(), accesses_.clear();
  valid_ = true;
}

void OperandImage::read_pixels(const ImageSource& source, int group, const std::vector<std::int16_t>& map) {
  begin(source, source.schedule.product().m);
  gather(source, group, map);
  // A cut within one tap is a single piece.
  const bool in_one_tap = taps_of(source.conv) == 1 || source.run.channels % source.schedule.lanes() == 0;
  if (in_one_tap && source.port.in_one_access(cuts_.front().bytes))
    count_inside(source);
  else
    count_accesses(source, OperandName::kA, group);
}

// Same order as OperandLines: n runs over blocks of channels, in each over the taps, in each over the block's
// channels.
void OperandImage::gather(const ImageSource& source, int group, const std::vector<std::int16_t>& map) {
  const RollingRun& run = source.run;
  const int taps = taps_of(source.conv), channels = run.channels;
  const int block = taps == 1 ? channels : source.schedule.channel_block();
  const std::int64_t first = std::int64_t{source.setup.group_channels} * group + run.first_channel;
  Pixels pixels(source);
  std::vector<const std::int16_t*> under(to_size(taps));  // null: padding
  for (std::size_t line = 0; line < lines_; ++line, pixels.next()) {
    for (int tap = 0; tap < taps; ++tap) {
      const std::int64_t number = pixels.under(tap);
      nth(under, tap) = number < 0 ? nullptr : map.data() + (number * source.setup.pixel_bytes + first);
    }
    std::int16_t* to = elements_.data() + line * length_;
    for (int channel = 0; channel < channels; channel += block) {
      const int width = std::min(block, channels - channel);
      for (const std::int16_t* from : under) {
        if (from == nullptr)
          std::fill_n(to, width, std::int16_t{0});
        else
          std::copy_n(from + channel, width, to);
        to += width;
      }
    }
  }
}

// Short lines: a line whose tap lies on the map takes one access, the others none.
void OperandImage::count_inside(const ImageSource& source) {
  const int taps = taps_of(source.conv), block = source.schedule.channel_block();
  if (taps > 1) {
    for (int cut = 0; cut < source.schedule.cuts(); ++cut) {
      const int at = source.schedule.cut(cut).begin, first = at / (block * taps) * block;
      nth(cuts_, cut).tap = (at - first * taps) / std::min(block, source.run.channels - first);
    }
  }
  inside_.resize(to_size(taps) * (lines_ + 1));
  Pixels pixels(source);
  for (int tap = 0; tap < taps; ++tap) inside_[to_size(tap) * (lines_ + 1)] = 0;
  for (std::size_t line = 0; line < lines_; ++line, pixels.next()) {
    for (int tap = 0; tap < taps; ++tap) {
      std::uint32_t* before = inside_.data() + to_size(tap) * (lines_ + 1) + line;
      before[1] = before[0] + (pixels.under(tap) >= 0 ? 1 : 0);
    }
  }
}

OperandImage::Sum OperandImage::short_accesses(Span cuts, Span lines) const {
  Sum sum;
  for (int number = cuts.begin; number < cuts.end(); ++number) {
    const Cut& cut = nth(cuts_, number);
    std::int64_t count = lines.size;
    if (!inside_.empty()) {
      const std::uint32_t* before = inside_.data() + to_size(cut.tap) * (lines_ + 1);
      count = before[lines.end()] - before[lines.begin];
    }
    sum.accesses += count, sum.bytes += count * cut.bytes;
  }
  return sum;
}

void OperandImage::count_accesses(const ImageSource& source, OperandName operand, int group) {
  accesses_.assign(lines_ * cuts_.size(), {});
  std::vector<Piece> pieces;
  for (std::size_t line = 0; line < lines_; ++line) {
    for (int cut = 0; cut < source.schedule.cuts(); ++cut) {
      const Span span = source.schedule.cut(cut);
      pieces.clear();
      if (operand == OperandName::kA)
        source.lines.find_pixel(to_int(line), group, span, pieces);
      else
        source.lines.find_kernel(to_int(line), span, pieces);
      Access& access = accesses_[line * cuts_.size() + to_size(cut)];
      for (const Piece& piece : pieces) {
        if (operand == OperandName::kA) {
          access.bytes += piece.bytes, access.count += source.port.accesses(piece.address, piece.bytes);
        } else {
          access.bytes += source.kernels.bytes_for(piece.address, piece.bytes);
          access.count += source.kernels.accesses(source.port, piece.address, piece.bytes);
        }
      }
    }
  }
}

// Kernels are stored block by block, in each cut by cut, in each kernel by kernel
// (OperandLines::find_kernel).
void OperandImage::read_kernels(const ImageSource& source) {
  begin(source, source.schedule.product().k);
  const auto n = to_size(source.schedule.product().n);
  bytes_.resize(lines_ * n), wide_.resize(bytes_.size());
  source.kernels.direct_read(source.port, source.run.weights, bytes_.data(), count_of(bytes_), source.from);
  widen(bytes_.data(), count_of(bytes_), OperandName::kB, source.conv, wide_.data());
  if (source.setup.transposition == Transposition::kWhileLoading) {
    transpose(source);
    return;
  }
  const auto block = to_size(source.setup.block_kernels);
  const std::int16_t* from = wide_.data();
  for (std::size_t first = 0; first < lines_; first += block) {
    const std::size_t end = std::min(lines_, first + block);
    std::size_t at = 0;
    for (const Cut& cut : cuts_) {
      for (std::size_t line = first; line < end; ++line, from += cut.bytes)
        std::copy_n(from, cut.bytes, elements_.data() + line * length_ + at);
      at += to_size(cut.bytes);
    }
  }
  if (source.kernels.is_packed() || !source.port.in_one_access(cuts_.front().bytes))
    count_accesses(source, OperandName::kB, 0);
}

// Reads blocks of kernels that are stored element by element (OperandLines::find_across).
void OperandImage::transpose(const ImageSource& source) {
  const auto n = to_size(source.schedule.product().n);
  const auto block = to_size(source.setup.block_kernels);
  const std::int16_t* from = wide_.data();
  for (std::size_t first = 0; first < lines_; first += block) {
    const std::size_t end = std::min(lines_, first + block);
    for (std::size_t element = 0; element < n; ++element) {
      for (std::size_t line = first; line < end; ++line) elements_[line * length_ + element] = *from++;
    }
  }
}

}  // namespace tilebeat::rolling
