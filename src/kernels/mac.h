#pragma once

#include "base/numerics.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// Channels of a word after widening to 16 bits: the next power of two, at least 2, so that products pair up.
int padded_channels(int port_channels);

/// Widens `count` bytes of type kInt8 or kUint8 to int16 and subtracts the zero point (SPEC NU-1). Of type
/// kInt16 they are low and high halves in turn, beginning with a high one where the number `first` of the
/// first byte is odd, and become what they are worth: 0 to 255, and a multiple of 256 (SPEC DT-2).
void widen(const std::uint8_t* bytes, int count, DType type, int zero_point, std::int16_t* out,
           int first = 0);
/// The nine bits by which waveforms show an operand; of the high half of an int16 they are those of the byte.
inline std::uint16_t shown_operand(std::int16_t operand) {
  constexpr unsigned kNineBits = 0x1FF;
  const int value = operand % 256 == 0 ? operand / 256 : operand;  // no byte is a multiple of 256 but 0
  return static_cast<std::uint16_t>(static_cast<unsigned>(value) & kNineBits);
}
/// The same of `count` words of `channels` bytes; word i starts at out[i * padded_channels(channels)].
void widen_words(const std::uint8_t* bytes, int count, int channels, DType type, int zero_point,
                 std::int16_t* out);

/// The multiply-accumulate of one beat for the whole PE array: acc[row][column] += sum over the channels of
/// x[row][.] * w[column][.]. Accumulators hold a partial sum per pair of channels, so that a beat needs no
/// shuffles.
class BeatAccumulators {
 public:
  BeatAccumulators(int rows, int columns, int port_channels);
  /// Sets all accumulators to zero. `wide`: the next sums may leave int32.
  void clear(bool wide);
  /// Adds one beat: `x` is [rows][padded], `w` is [columns][padded] int16.
  void mac(const std::int16_t* x, const std::int16_t* w);
  /// Flips the bits of `mask` in the sum of one PE.
  void flip(int row, int column, std::uint32_t mask);
  /// The complete sum of one PE.
  Sum sum(int row, int column) const;
  /// Writes to `to`, PE by PE and row by row, what has been added to its complete sum since it was `before`,
  /// then, `with_sums`, that sum, in four bytes each; `before` becomes the sums.
  void show(std::int32_t* before, bool with_sums, std::uint8_t* to) const;

 private:
  void show_wide(std::int32_t* before, bool with_sums, std::uint8_t* to) const;

  int rows_, columns_, padded_;
  int row_stride_;  // partial sums a row, a multiple of 8
  std::vector<std::int32_t> partial_;
  std::vector<Sum> wide_;  // the same where sums may leave int32; otherwise empty
};

/// One beat of a W-fold slave: acc[unit][i] += lines[unit][2i] * weights[2i] + lines[unit][2i+1] *
/// weights[2i+1]. `lines` is [units][line], `weights` [line] int16, `acc` [units][line / 2]; the sum of an
/// output is that of its positions' pairs.
void mac_lines(const std::int16_t* lines, int units, int line, const std::int16_t* weights,
               std::int32_t* acc);

/// Beats of a W-fold slave that share their lines: in each of `steps` steps, all kernels of the slave.
struct StepLines {
  const std::int16_t* lines = nullptr;  ///< step s has [units][line] int16 at lines + offsets[s]
  const std::ptrdiff_t* offsets = nullptr;
  int steps = 0;
  int units = 0, line = 0;
  const std::int16_t* weights = nullptr;  ///< [step][kernel][line]
  int kernels = 0;
};
/// mac_lines of every step and kernel; `acc` is [kernel][units][line / 2].
void mac_steps(const StepLines& beats, std::int32_t* acc);
/// The same where sums may leave int32.
void mac_steps(const StepLines& beats, Sum* acc);

/// The operands of a chunk after widening and subtraction of the zero point, for the fast kernel of tile
/// granularity (SPEC CY-3).
struct TileOperands {
  int height = 0, width = 0, depth = 0;  ///< depth: planes * padded_channels
  std::vector<std::int16_t> pixels;      ///< [height][width][depth]
};

/// Parameters of `convolve_tile`; positions as in ChunkGeometry.
struct TileConvolution {
  int rows = 0, columns = 0;
  int h_offset = 0, w_offset = 0;
  int kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int kernels = 16;   ///< C
  int planes = 1;     ///< channel blocks; the tile's depth is a multiple
  bool wide = false;  ///< sums may leave int32
};

/// Weights, int16 [C][plane][tap][depth / planes], in the order in which `convolve_tile` reads them; `depth`
/// is the tile's.
void pack_weights(const TileConvolution& geometry, int depth, const std::vector<std::int16_t>& weights,
                  std::vector<std::int16_t>& packed);
/// acc[(row*columns + column)][kernel] += convolution of `tile` with packed weights; taps outside the map add
/// nothing. `acc` has rows*columns rows of `accumulator_stride(kernels)` sums.
void convolve_tile(const TileConvolution& geometry, const TileOperands& tile,
                   const std::vector<std::int16_t>& packed, Sum* acc);
/// Sums of one row of `acc`: the kernels rounded up to whole vectors.
int accumulator_stride(int kernels);

}  // namespace tilebeat
