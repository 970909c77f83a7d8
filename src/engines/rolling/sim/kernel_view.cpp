#include "engines/rolling/sim/kernel_view.h"

#include "base/types.h"

#include <array>

namespace tilebeat::rolling {

Cycle KernelView::load(ScratchpadPort& port, std::uint64_t image, Cycle now, Cycle from,
                       Granularity granularity) {
  image_ = image;
  const auto read = [&](WeightImage::Bytes bytes, std::uint8_t* to) {
    if (bytes.count == 0) return;
    const std::uint64_t address = image + to_unsigned(bytes.begin);
    const int count = to_int(bytes.count), accesses = port.accesses(address, count);
    if (granularity == Granularity::kTile) {
      port.direct_read(address, to, count, from);
      port.use(from, from + accesses, accesses, address);
    } else {
      port.read(address, to, count, to_int(from - now));
    }
    from += accesses;
    load_accesses_ += accesses, load_bytes_ += count;
  };
  std::array<std::uint8_t, kImageHeaderBytes> header{};
  read({0, kImageHeaderBytes}, header.data());
  from += port.latency();
  window_.emplace(header.data());
  const auto [scales, zero_points] = window_->scales();
  std::vector<std::uint8_t> of_scales(to_size(scales.count)), of_zero_points(to_size(zero_points.count));
  read(scales, of_scales.data());
  read(zero_points, of_zero_points.data());
  window_->take(of_scales.data(), of_zero_points.data());
  return from;
}

BytePattern KernelView::held(BytePattern weights) const {
  if (!is_packed()) return weights;
  return {image_, to_unsigned(window_->image().bytes())};
}

int KernelView::accesses(const ScratchpadPort& port, std::uint64_t address, int bytes) const {
  if (!is_packed()) return port.accesses(address, bytes);
  int count = 0;
  const std::int64_t begin = to_signed(address - image_);
  window_->image().for_parts(begin, begin + bytes, [&](const WeightImage::Part& part) {
    const WeightImage::Bytes of = part.bytes();
    count += port.accesses(image_ + to_unsigned(of.begin), to_int(of.count));
  });
  return count;
}

int KernelView::bytes_for(std::uint64_t address, int bytes) const {
  if (!is_packed()) return bytes;
  std::int64_t count = 0;
  const std::int64_t begin = to_signed(address - image_);
  window_->image().for_parts(begin, begin + bytes,
                             [&](const WeightImage::Part& part) { count += part.bytes().count; });
  return to_int(count);
}

// Calls `read(address, bytes, count)` for the bytes of the image, and decodes them.
template <class Read>
void KernelView::decode(std::uint64_t address, int bytes, std::uint8_t* to, const Read& read) const {
  const std::int64_t begin = to_signed(address - image_);
  std::vector<std::uint8_t> packed(to_size(bytes));
  std::int64_t at = 0;
  window_->image().for_parts(begin, begin + bytes, [&](const WeightImage::Part& part) {
    const WeightImage::Bytes of = part.bytes();
    if (at + of.count > ssize(packed)) packed.resize(to_size(at + of.count));
    read(image_ + to_unsigned(of.begin), packed.data() + at, to_int(of.count));
    at += of.count;
  });
  window_->decode(begin, begin + bytes, packed.data(), to);
}

int KernelView::read(ScratchpadPort& port, std::uint64_t address, std::uint8_t* to, int bytes,
                     int delay) const {
  if (!is_packed()) return port.read(address, to, bytes, delay);
  int count = 0;
  decode(address, bytes, to, [&](std::uint64_t from, std::uint8_t* packed, int of) {
    count += port.read(from, packed, of, delay + count);
  });
  return count;
}

void KernelView::direct_read(const ScratchpadPort& port, std::uint64_t address, std::uint8_t* to, int bytes,
                             Cycle at) const {
  if (!is_packed()) return port.direct_read(address, to, bytes, at);
  decode(address, bytes, to,
         [&](std::uint64_t from, std::uint8_t* packed, int of) { port.direct_read(from, packed, of, at); });
}

}  // namespace tilebeat::rolling
