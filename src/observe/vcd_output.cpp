#include "observe/waveform_output.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/compile.h>
#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kPassOnAt = 1 << 16;  // bytes of text
constexpr std::size_t kSlack = 8;           // bytes that may be written behind a text
// Room for the last line of a truncated dump.
constexpr std::int64_t kReserve = 128;

std::string code_of(int rank) {
  std::string code;
  for (int n = rank;; n = n / 94 - 1) {
    code += static_cast<char>('!' + n % 94);
    if (n < 94) return code;
  }
}

// Writes the lowest `digits` binary digits of a value, and up to seven bytes of rubbish behind them. Returns
// the end of the digits.
char* write_digits(char* to, const std::uint64_t* value, int digits) {
  static const auto digits_of_byte = [] {
    std::array<std::array<char, 8>, 256> all{};
    for (std::size_t byte = 0; byte < all.size(); ++byte) {
      for (std::size_t bit = 0; bit < 8; ++bit) all[byte][7 - bit] = (byte >> bit & 1) != 0 ? '1' : '0';
    }
    return all;
  }();
  for (int word = (digits - 1) / kSignalWordBits; word >= 0; --word) {
    const int of_word = digits - word * kSignalWordBits;
    std::uint64_t left = value[word] << (kSignalWordBits - of_word);
    char* const end = to + of_word;
    for (; to < end; to += 8, left <<= 8) std::memcpy(to, digits_of_byte[left >> 56].data(), 8);
    to = end;
    digits -= of_word;
  }
  return to;
}

}  // namespace

std::vector<std::string> scopes_of_path(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string name_with_range(const SignalInfo& signal) {
  return signal.width_bits > 1 ? fmt::format("{} [{}:0]", signal.name, signal.width_bits - 1) : signal.name;
}

void walk_scopes(const std::vector<SignalInfo>& signals, const std::function<void(const std::string&)>& enter,
                 const std::function<void()>& leave, const std::function<void(int)>& variable) {
  std::vector<std::string> open;
  for (std::size_t rank = 0; rank < signals.size(); ++rank) {
    const std::vector<std::string> scopes = scopes_of_path(signals[rank].scope);
    const auto common =
        to_size(std::mismatch(open.begin(), open.end(), scopes.begin(), scopes.end()).first - open.begin());
    for (std::size_t i = open.size(); i > common; --i) leave();
    for (std::size_t i = common; i < scopes.size(); ++i) enter(scopes[i]);
    open = scopes;
    variable(to_int(rank));
  }
  for (std::size_t i = open.size(); i > 0; --i) leave();
}

int binary_digits(const std::uint64_t* words, std::size_t count) {
  for (std::size_t i = count; i-- > 0;) {
    if (words[i] != 0) return to_int(i) * kSignalWordBits + (kSignalWordBits - __builtin_clzll(words[i]));
  }
  return 1;
}

std::int64_t vcd_line_bytes(int width_bits, int digits, int rank) {
  return (width_bits > 1 ? digits + 2 : 1) + ssize(code_of(rank)) + 1;
}

VcdOutput::VcdOutput(std::int64_t max_bytes, WaveformSink sink)
    : max_bytes_(max_bytes), sink_(std::move(sink)) {}

void VcdOutput::open(const std::vector<SignalInfo>& signals, Picoseconds begin, Picoseconds) {
  for (std::size_t rank = 0; rank < signals.size(); ++rank)
    variables_.push_back({signals[rank].width_bits, code_of(to_int(rank))});
  std::string text = "$version tilebeat $end\n$timescale 1ps $end\n";
  walk_scopes(
      signals, [&](const std::string& scope) { text += fmt::format("$scope module {} $end\n", scope); },
      [&] { text += "$upscope $end\n"; },
      [&](int rank) {
        const SignalInfo& signal = nth(signals, rank);
        text += fmt::format("$var {} {} {} {} $end\n", signal.radix == Radix::kText ? "string" : "wire",
                            signal.width_bits, nth(variables_, rank).code, name_with_range(signal));
      });
  put(text + "$enddefinitions $end\n");
  put(fmt::format("#{}\n$dumpvars\n", begin));
  time_ = begin;
}

// Whether `bytes` more are within the limit, and then makes room for them; otherwise the dump ends here.
bool VcdOutput::fits(std::int64_t bytes) {
  if (truncated_) return false;
  if (bytes_ + bytes + kReserve > max_bytes_) {
    end_early(fmt::format("size cap of {} bytes reached", max_bytes_));
    return false;
  }
  bytes_ += bytes;
  if (waiting_.size() < filled_ + to_size(bytes) + kSlack) {
    pass_on();
    waiting_.resize(std::max(waiting_.size(), kPassOnAt + to_size(bytes) + kSlack));
  }
  return true;
}

void VcdOutput::put(std::string_view text) {
  if (!fits(ssize(text))) return;
  std::memcpy(waiting_.data() + filled_, text.data(), text.size());
  filled_ += text.size();
}

void VcdOutput::pass_on() {
  sink_({waiting_.data(), filled_});
  filled_ = 0;
}

void VcdOutput::end_early(const std::string& remark) {
  truncated_ = true;
  const std::string end = fmt::format("$comment trace ended: {} $end\n", remark);
  bytes_ += ssize(end);
  pass_on();
  sink_(end);
}

void VcdOutput::advance_to(Picoseconds at) {
  if (at == time_) return;
  time_ = at;
  put(fmt::format(FMT_COMPILE("#{}\n"), at));
}

void VcdOutput::value(Picoseconds at, int rank, const std::uint64_t* words) {
  advance_to(at);
  const Variable& variable = nth(variables_, rank);
  const bool wide = variable.width_bits > 1;
  const int digits =
      words == nullptr ? 1 : binary_digits(words, to_size(ceil_div(variable.width_bits, kSignalWordBits)));
  if (!fits((wide ? digits + 2 : 1) + ssize(variable.code) + 1)) return;
  char* to = waiting_.data() + filled_;
  if (wide) *to++ = 'b';
  if (words != nullptr)
    to = write_digits(to, words, digits);
  else
    *to++ = 'x';
  if (wide) *to++ = ' ';
  for (const char c : variable.code) *to++ = c;
  *to++ = '\n';
  filled_ = to_size(to - waiting_.data());
}

void VcdOutput::text(Picoseconds at, int rank, std::string_view text) {
  advance_to(at);
  put(fmt::format(FMT_COMPILE("s{} {}\n"), text, nth(variables_, rank).code));
}

void VcdOutput::close(Picoseconds end, const std::string& remark) {
  if (!truncated_) advance_to(end);
  if (!truncated_ && !remark.empty()) end_early(remark);
  pass_on();
}

}  // namespace tilebeat
