#pragma once

// A strict reader of Fast Signal Trace files, as much of the format as Tilebeat writes.

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lz4.h>

namespace tilebeat::testing {

class Fst {
 public:
  using Changes = std::vector<std::pair<std::int64_t, std::string>>;

  /// Throws std::runtime_error for anything that is no valid file.
  explicit Fst(const std::string& file) {
    std::string_view left = file;
    std::uint64_t blocks = 0;
    while (!left.empty()) {
      const char kind = take(left, 1)[0];
      const std::uint64_t length = word(left);
      if (length < 8) fail("a block without a length");
      const std::string_view body = take(left, length - 8);
      if (kind == 0) header(body);
      if (kind == 3) geometry(body);
      if (kind == 6) hierarchy(body);
      if (kind == 8) changes(body), ++blocks;
      if (kind != 0 && kind != 3 && kind != 6 && kind != 8) fail("an unknown block");
    }
    if (blocks != blocks_) fail("the header counts other blocks");
  }
  /// By path: the changes, in binary digits without leading zeros, or x, or the text.
  const std::map<std::string, Changes>& signals() const { return signals_; }
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }
  std::uint64_t blocks() const { return blocks_; }

 private:
  [[noreturn]] static void fail(const std::string& what) { throw std::runtime_error("FST: " + what); }
  static std::string_view take(std::string_view& from, std::uint64_t bytes) {
    if (bytes > from.size()) fail("ends early");
    const std::string_view taken = from.substr(0, bytes);
    from.remove_prefix(bytes);
    return taken;
  }
  static std::uint64_t word(std::string_view& from) {
    std::uint64_t value = 0;
    for (const char byte : take(from, 8)) value = value << 8 | static_cast<std::uint8_t>(byte);
    return value;
  }
  static std::uint64_t number(std::string_view& from) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(take(from, 1)[0]);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  }
  static std::string text(std::string_view& from) {
    const std::size_t end = from.find('\0');
    if (end == std::string_view::npos) fail("a text without an end");
    const std::string_view all = take(from, end + 1);
    return std::string(all.substr(0, end));
  }
  static std::string unpacked(std::string_view packed, std::uint64_t bytes) {
    std::string to(bytes, '\0');
    const int made = LZ4_decompress_safe(packed.data(), to.data(), static_cast<int>(packed.size()),
                                         static_cast<int>(bytes));
    if (made != static_cast<int>(bytes)) fail("what is compressed has another length");
    return to;
  }

  void header(std::string_view body) {
    if (body.size() != 321) fail("a header of another length");
    begin_ = static_cast<std::int64_t>(word(body)), end_ = static_cast<std::int64_t>(word(body));
    if (take(body, 8) != std::string_view("\x69\x57\x14\x8b\x0a\xbf\x05\x40", 8))
      fail("another order of bytes");
    word(body);  // memory of the writer
    scopes_ = word(body), variables_ = word(body);
    if (word(body) != variables_) fail("aliases");
    blocks_ = word(body);
    if (take(body, 1)[0] != -12) fail("times are no picoseconds");
    if (take(body, 128).find_first_of('\0') == 0) fail("nobody has written it");
    if (take(body, 119).find_first_not_of('\0') != std::string_view::npos) fail("a date");
  }
  void geometry(std::string_view body) {
    if (word(body) + 8 != body.size()) fail("lengths that are compressed");
    for (std::uint64_t left = word(body); left > 0; --left) widths_.push_back(number(body));
    if (!body.empty() || widths_.size() != variables_) fail("lengths of other signals");
  }
  void hierarchy(std::string_view body) {
    const std::uint64_t bytes = word(body);
    const std::string all = unpacked(body, bytes);
    std::vector<std::string> open;
    std::uint64_t scopes = 0;
    for (std::string_view left = all; !left.empty();) {
      const auto tag = static_cast<std::uint8_t>(take(left, 1)[0]);
      if (tag == 254) {
        take(left, 1), open.push_back(text(left)), text(left);
        ++scopes;
      } else if (tag == 255) {
        if (open.empty()) fail("a scope ends that did not begin");
        open.pop_back();
      } else {
        take(left, 1);
        std::string path;
        for (const std::string& scope : open) path += scope + ".";
        const std::string name = text(left);
        const std::uint64_t width = number(left);
        if (number(left) != 0) fail("an alias");
        if (width > 1 && name.find(" [" + std::to_string(width - 1) + ":0]") == std::string::npos)
          fail("no range");
        if ((tag == 21) != (width == 0)) fail("a text of a fixed length");
        paths_.push_back(path + name.substr(0, name.find(' ')));
        if (!signals_.emplace(paths_.back(), Changes{}).second) fail("a path twice");
      }
    }
    if (!open.empty() || scopes != scopes_ || paths_.size() != variables_) fail("other scopes or signals");
  }
  void changes(std::string_view body) {
    const std::string_view whole = body;
    std::string_view sizes = whole.substr(whole.size() - 24);
    const std::uint64_t time_bytes = word(sizes);
    if (word(sizes) != time_bytes) fail("times that are compressed");
    const std::uint64_t count = word(sizes);
    std::string_view listed = whole.substr(whole.size() - 24 - time_bytes, time_bytes);
    std::vector<std::int64_t> times;
    for (std::int64_t time = 0; times.size() < count;)
      times.push_back(time += static_cast<std::int64_t>(number(listed)));
    if (!listed.empty()) fail("more times");
    if (word(body) != static_cast<std::uint64_t>(times.front())) fail("another beginning of a block");
    if (word(body) != static_cast<std::uint64_t>(times.back())) fail("another end of a block");
    const std::uint64_t memory = word(body);
    const std::uint64_t frame = number(body);
    if (number(body) != frame || number(body) != variables_) fail("a frame of other signals");
    check_frame(take(body, frame));
    if (number(body) != variables_ || body[0] != '4') fail("chains of other signals");
    const std::size_t behind = whole.size() - 24 - time_bytes - 8;
    std::string_view size_of_index = whole.substr(behind);
    const std::uint64_t index_bytes = word(size_of_index);
    std::string_view index = whole.substr(behind - index_bytes, index_bytes);
    const std::string_view chains = body.substr(0, body.size() - 24 - time_bytes - 8 - index_bytes);
    std::vector<std::pair<std::size_t, std::size_t>> places;  // signal, place in `chains`
    std::size_t signal = 0, place = 0;
    while (!index.empty()) {
      const std::uint64_t step = number(index);
      if ((step & 1) != 0)
        places.emplace_back(signal++, place += step >> 1);
      else
        signal += step >> 1;
    }
    if (signal != variables_) fail("an index of other signals");
    std::uint64_t needed = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t end = i + 1 < places.size() ? places[i + 1].second : chains.size();
      std::string_view chain = chains.substr(places[i].second, end - places[i].second);
      const std::uint64_t bytes = number(chain);
      const std::string all = bytes > 0 ? unpacked(chain, bytes) : std::string(chain);
      needed += all.size();
      chain_of(places[i].first, all, times);
    }
    if (needed > memory) fail("a reader needs more memory than it says");
  }
  // The values at the beginning of a block are those at the end of the one before.
  void check_frame(std::string_view frame) const {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      if (widths_[i] == 0xFFFFFFFF) continue;
      const std::string value(take(frame, widths_[i]));
      const Changes& before = signals_.at(paths_[i]);
      if ((before.empty() ? "x" : before.back().second) != plain(value))
        fail(paths_[i] + ": another value in a frame");
    }
    if (!frame.empty()) fail("a frame of more signals");
  }
  static std::string plain(const std::string& value) {
    const std::size_t first = value.find_first_not_of('0');
    if (first == std::string::npos) return "0";
    return value[first] == 'x' ? "x" : value.substr(first);
  }
  void chain_of(std::size_t signal, std::string_view chain, const std::vector<std::int64_t>& times) {
    std::size_t step = 0;
    Changes& to = signals_.at(paths_[signal]);
    while (!chain.empty()) {
      const std::uint64_t head = number(chain);
      std::string value;
      if (widths_[signal] == 1) {
        step += head >> ((head & 1) != 0 ? 4 : 2);
        value = (head & 1) != 0 ? "x" : (head & 2) != 0 ? "1" : "0";
      } else if (step += head >> 1; widths_[signal] == 0xFFFFFFFF) {
        value = take(chain, number(chain));
      } else if ((head & 1) != 0) {
        value = plain(std::string(take(chain, widths_[signal])));
      } else {
        const std::string_view bytes = take(chain, (widths_[signal] + 7) / 8);
        for (std::uint64_t bit = 0; bit < widths_[signal]; ++bit)
          value += (bytes[bit / 8] >> (7 - bit % 8) & 1) != 0 ? '1' : '0';
        value = plain(value);
      }
      if (step >= times.size()) fail("a change behind the end of its block");
      to.emplace_back(times[step], value);
    }
  }

  std::int64_t begin_ = 0, end_ = 0;
  std::uint64_t scopes_ = 0, variables_ = 0, blocks_ = 0;
  std::vector<std::uint64_t> widths_;
  std::vector<std::string> paths_;
  std::map<std::string, Changes> signals_;
};

}  // namespace tilebeat::testing
