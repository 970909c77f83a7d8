#include "engines/rolling/sim/kernel_view.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <fmt/format.h>

namespace tilebeat::rolling {

Cycle KernelView::load(ScratchpadPort& port, std::uint64_t image, const LoadAt& at) {
  image_ = image, load_accesses_ = load_bytes_ = 0;
  Cycle from = at.from;
  const auto read = [&](WeightImage::Bytes bytes, std::uint8_t* to) {
    const std::uint64_t address = image + to_unsigned(bytes.begin);
    const int count = to_int(bytes.count), accesses = port.accesses(address, count);
    if (at.granularity == Granularity::kTile) {
      port.direct_read(address, to, count, from);
      port.use(from, from + accesses, accesses, address);
    } else {
      port.read(address, to, count, to_int(from - at.now));
    }
    from += accesses;
    load_accesses_ += accesses, load_bytes_ += count;
    if (bytes.begin == 0) from += port.latency();  // the header says where the scales end
  };
  window_ = std::make_shared<const WeightWindow>(at.most_scales, read);
  if (Holds* holds = port.holds(); holds != nullptr) {
    holds->end_watch();
    holds->watch({image, to_unsigned(window_->image().bytes())});
  }
  return from;
}

void KernelView::keep(ScratchpadPort& port, std::uint64_t image, const KernelView& before, const char* user) {
  if (!before.is_packed() || before.image_ != image)
    throw SimulationError(fmt::format("{}: same_image, but the run before read another one", user));
  if (const Holds* holds = port.holds(); holds != nullptr && holds->changed())
    throw SimulationError(fmt::format("{}: same_image, but the image was written since", user));
  *this = before;
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

int KernelView::read(ScratchpadPort& port, std::uint64_t address, std::uint8_t* to, int bytes,
                     int delay) const {
  if (!is_packed()) return port.read(address, to, bytes, delay);
  int count = 0;
  const std::int64_t begin = to_signed(address - image_);
  window_->read_and_decode(begin, begin + bytes, to, [&](WeightImage::Bytes of, std::uint8_t* packed) {
    count += port.read(image_ + to_unsigned(of.begin), packed, to_int(of.count), delay + count);
  });
  return count;
}

void KernelView::direct_read(const ScratchpadPort& port, std::uint64_t address, std::uint8_t* to, int bytes,
                             Cycle at) const {
  if (!is_packed()) return port.direct_read(address, to, bytes, at);
  const std::int64_t begin = to_signed(address - image_);
  window_->read_and_decode(begin, begin + bytes, to, [&](WeightImage::Bytes of, std::uint8_t* packed) {
    port.direct_read(image_ + to_unsigned(of.begin), packed, to_int(of.count), at);
  });
}

}  // namespace tilebeat::rolling
