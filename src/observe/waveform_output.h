#pragma once

#include "base/types.h"
#include "observe/trace.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The values of signals come in words of so many bits.
inline constexpr int kSignalWordBits = 64;

/// A form in which a waveform is written. It gets the signals, then their values at the beginning, then every
/// change in the order of time. A rank is a place in the list of signals.
class WaveformOutput {
 public:
  virtual ~WaveformOutput() = default;
  /// Begins with `signals`, which are sorted by their paths, and whose values from `begin` to `end` follow.
  virtual void open(const std::vector<SignalInfo>& signals, Picoseconds begin, Picoseconds end) = 0;
  /// The values that hold at the beginning have been given.
  virtual void opened() {}
  /// The signal has a value from `at` on: `words` has its bits, the lowest 64 first, none beyond its width;
  /// nullptr: it is unknown.
  virtual void value(Picoseconds at, int rank, const std::uint64_t* words) = 0;
  /// A signal of Radix::kText has the value `text` from `at` on.
  virtual void text(Picoseconds at, int rank, std::string_view text) = 0;
  /// Ends at `end`. `remark` says why this is early, and is empty where it is not.
  virtual void close(Picoseconds end, const std::string& remark) = 0;
};

/// Takes the bytes of an output piece by piece.
using WaveformSink = std::function<void(std::string_view)>;

/// The scopes of a path such as `soc.engine`, outermost first.
std::vector<std::string> scopes_of_path(const std::string& path);
/// A signal's name with the range of its bits, as waveforms have it: `b0 [31:0]`, `clk`.
std::string name_with_range(const SignalInfo& signal);
/// Walks through the scopes of sorted signals: calls `enter` with a scope's name, `leave` at its end, and
/// `variable` with a rank.
void walk_scopes(const std::vector<SignalInfo>& signals, const std::function<void(const std::string&)>& enter,
                 const std::function<void()>& leave, const std::function<void(int)>& variable);

/// A Value Change Dump (IEEE 1364) with a timescale of 1 ps and no date. Texts are variables of type
/// `string`, which GTKWave shows as they are.
class VcdOutput : public WaveformOutput {
 public:
  /// The dump ends, valid and with a comment, before it grows beyond `max_bytes`.
  VcdOutput(std::int64_t max_bytes, WaveformSink sink);
  void open(const std::vector<SignalInfo>& signals, Picoseconds begin, Picoseconds end) override;
  void opened() override { put("$end\n"); }
  void value(Picoseconds at, int rank, const std::uint64_t* words) override;
  void text(Picoseconds at, int rank, std::string_view text) override;
  void close(Picoseconds end, const std::string& remark) override;
  /// Whether the size limit ended the dump.
  bool truncated() const { return truncated_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Variable {
    int width_bits = 1;
    std::string code;
  };
  bool fits(std::int64_t bytes);
  void put(std::string_view text);
  void pass_on();
  void advance_to(Picoseconds at);
  void end_early(const std::string& remark);

  std::int64_t max_bytes_;
  WaveformSink sink_;
  std::vector<Variable> variables_;  // by rank
  std::vector<char> waiting_;        // room for text that the sink has not got
  std::size_t filled_ = 0;           // how much of it there is
  Picoseconds time_ = -1;            // of the latest #time line
  std::int64_t bytes_ = 0;
  bool truncated_ = false;
};

/// Bytes of the line of a dump that gives `digits` binary digits, or x, to the signal of a rank; 1 bit has no
/// digits of its own.
std::int64_t vcd_line_bytes(int width_bits, int digits, int rank);
/// Number of binary digits of a value; 0 has one.
int binary_digits(const std::uint64_t* words, std::size_t count);

}  // namespace tilebeat
