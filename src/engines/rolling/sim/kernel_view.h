#pragma once

#include "engines/rolling/sim/scratchpad_port.h"
#include "observe/holds.h"
#include "sim/clock.h"
#include "units/weight_window.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tilebeat::rolling {

/// The kernels of a run as its engine reads them through a port at WRAM (SPEC DT-1): int8 bytes as they lie
/// there, or bytes of an image (isa/weight_image.h), which the decoder behind the port turns into int8.
///
/// An engine addresses an image as if it were decoded. Every access brings neighbouring bytes of the image.
/// Before the first run on an image the port reads the header and then, `latency` cycles later, all scales;
/// the decoder takes one cycle.
class KernelView {
 public:
  KernelView() = default;  ///< int8

  /// Cycles of a decoder behind a port.
  static constexpr int kDecodeCycles = 1;

  /// Reads the header and the scales of the image at `image` through `port`, which is free from cycle `from`
  /// on; the present one is `now`. Returns the cycle after the last access.
  Cycle load(ScratchpadPort& port, std::uint64_t image, Cycle now, Cycle from, Granularity granularity);

  bool is_packed() const { return window_.has_value(); }
  /// Address of the image.
  std::uint64_t begin() const { return image_; }
  /// Cycles from a port's data to the weights.
  int decode_cycles() const { return is_packed() ? kDecodeCycles : 0; }
  /// The bytes of the memory that hold the kernels `weights`.
  BytePattern held(BytePattern weights) const;
  /// Number of accesses, and bytes, for `bytes` weights from `address` on.
  int accesses(const ScratchpadPort& port, std::uint64_t address, int bytes) const;
  int bytes_for(std::uint64_t address, int bytes) const;
  /// As the functions of the port.
  int read(ScratchpadPort& port, std::uint64_t address, std::uint8_t* to, int bytes, int delay) const;
  void direct_read(const ScratchpadPort& port, std::uint64_t address, std::uint8_t* to, int bytes,
                   Cycle at) const;
  /// Accesses and bytes for header and scales.
  std::int64_t load_accesses() const { return load_accesses_; }
  std::int64_t load_bytes() const { return load_bytes_; }

 private:
  template <class Read>
  void decode(std::uint64_t address, int bytes, std::uint8_t* to, const Read& read) const;

  std::uint64_t image_ = 0;
  std::optional<WeightWindow> window_;
  std::int64_t load_accesses_ = 0, load_bytes_ = 0;
};

}  // namespace tilebeat::rolling
