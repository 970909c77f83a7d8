#pragma once

#include "base/types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The bytes of a file of vectors come piece by piece.
using VectorSink = std::function<void(const std::string& file, std::string_view bytes)>;

/// Appends a number in so many bytes, the lowest one first.
inline void append_number(std::string& to, std::uint64_t number, std::size_t bytes) {
  to.append(reinterpret_cast<const char*>(&number), std::min(bytes, sizeof number));
  if (bytes > sizeof number) to.append(bytes - sizeof number, '\0');
}

/// The records of a port on their way to its file: a clock in eight bytes and the fields behind it. A text
/// beside it has a line a record.
class VectorRecords {
 public:
  VectorRecords() = default;
  /// `name` is that of the files without their endings; `fields` the bytes of each field.
  VectorRecords(std::string name, std::vector<std::size_t> fields, bool text);

  /// Adds the record of a clock behind all others; `fields` has the bytes of all fields.
  void add(Cycle clock, std::string_view fields) { add(clock, fields, {}); }
  /// The same where the bytes come in two parts.
  void add(Cycle clock, std::string_view fields, std::string_view rest) {
    const std::size_t at = waiting_.size();
    waiting_.resize(at + record_bytes_);
    char* to = waiting_.data() + at;
    to = copy(to, {reinterpret_cast<const char*>(&clock), sizeof clock});
    copy(copy(to, fields), rest);
    ++count_;
  }
  /// Adds the record of a clock, or replaces it; the clock has not been passed on. There is one record a
  /// clock.
  void put(Cycle clock, std::string_view fields, std::string_view rest);
  /// Whether a record may be added for this clock behind all others.
  bool is_next(Cycle clock) const {
    return waiting_.empty() ? clock > passed_on_ : clock > clock_at(waiting_.size());
  }
  /// Whether so much waits that it should be passed on.
  bool many() const { return waiting_.size() >= pass_on_at_; }
  /// Passes the records of clocks before `end` on to the sink.
  void pass_on(Cycle end, const VectorSink& sink);
  /// Passes those before `end` on and forgets the others. Complete files are there then, if empty ones.
  void finish(Cycle end, const VectorSink& sink);
  std::int64_t count() const { return count_; }

 private:
  static char* copy(char* to, std::string_view from);
  // The clock of the record that ends at a place of `waiting_`.
  Cycle clock_at(std::size_t end) const;
  std::string lines(std::string_view records) const;

  std::string name_;
  std::vector<std::size_t> fields_;
  bool text_ = false;
  std::size_t record_bytes_ = 0, pass_on_at_ = 0;
  std::string waiting_;
  Cycle passed_on_ = -1;  // the clock of the last record that was
  std::int64_t count_ = 0;
};

}  // namespace tilebeat
