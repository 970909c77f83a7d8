#pragma once

#include "engines/rolling/sim/scratchpad_port.h"
#include "observe/holds.h"
#include "sim/clock.h"
#include "units/weight_decoder.h"

#include <cstdint>
#include <memory>
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

  /// How the port is read: it has room for `most_scales` scales, is free from cycle `from` on, and the
  /// present cycle is `now`.
  struct LoadAt {
    Cycle now = 0, from = 0;
    Granularity granularity = Granularity::kTile;
    int most_scales = 0;
  };
  /// Reads the header and the scales of the image at `image` through `port`. Returns the cycle after the last
  /// access. Writes to the image are noted from now on, where something looks for races.
  Cycle load(ScratchpadPort& port, std::uint64_t image, const LoadAt& at);
  /// As `before`, which the run before has loaded of the image at `image`. `user` names the run. Throws
  /// SimulationError where that was another image, or has been written since.
  void keep(ScratchpadPort& port, std::uint64_t image, const KernelView& before, const char* user);

  bool is_packed() const { return window_ != nullptr; }
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
  std::uint64_t image_ = 0;
  std::shared_ptr<const WeightWindow> window_;  // null: int8
  std::int64_t load_accesses_ = 0, load_bytes_ = 0;
};

}  // namespace tilebeat::rolling
