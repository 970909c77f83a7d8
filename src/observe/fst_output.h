#pragma once

#include "observe/waveform_output.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilebeat {

/// GTKWave's own format, Fast Signal Trace, as its library reads it (gtkwave.sourceforge.net, `fstapi`): a
/// header, the lengths of all signals, their scopes, and blocks of changes. In a block every signal has a
/// chain of its changes, compressed with LZ4, in which times are steps of the block's list of times. Numbers
/// have seven bits a byte, the lowest first.
class FstOutput : public WaveformOutput {
 public:
  /// `sink` takes the bytes; `rewrite` takes the header, which is as long as before, once more at the end,
  /// for the beginning of the file.
  FstOutput(WaveformSink sink, WaveformSink rewrite) : sink_(std::move(sink)), rewrite_(std::move(rewrite)) {}
  void open(const std::vector<SignalInfo>& signals, Picoseconds begin, Picoseconds end) override;
  void value(Picoseconds at, int rank, const std::uint64_t* words) override;
  void text(Picoseconds at, int rank, std::string_view text) override;
  void close(Picoseconds end, const std::string& remark) override;

 private:
  // The changes of a signal in the block.
  struct Chain {
    int width_bits = 1;        // 0: a text
    std::int64_t step = 0;     // of the last change
    std::size_t last = 0;      // where the last change begins
    std::string bytes;         // room for changes
    std::size_t size = 0;      // how much of it there is
    std::string at_beginning;  // the value at the beginning of the block, a character a bit
  };
  std::string header() const;
  char* begin_change(Chain& chain, Picoseconds at, std::uint64_t kind, int kind_bits, std::size_t more);
  void end_change(Chain& chain, const char* end);
  void advance_to(Picoseconds at);
  void write_block();
  static std::string last_value(const Chain& chain);

  WaveformSink sink_, rewrite_;
  std::vector<Chain> chains_;  // by rank
  std::uint64_t scopes_ = 0, blocks_ = 0;
  Picoseconds begin_ = 0, end_ = 0;
  std::vector<Picoseconds> times_;  // of the block
  std::size_t block_bytes_ = 0;     // of all chains
};

}  // namespace tilebeat
