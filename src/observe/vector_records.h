#pragma once

#include "base/types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

  /// Adds the record of a clock behind all others. Returns the place for the bytes of all fields, which the
  /// caller fills before it calls anything else.
  char* add(Cycle clock) {
    if (filled_ + record_bytes_ > waiting_.size()) grow();
    char* const to = waiting_.data() + filled_;
    std::memcpy(to, &clock, sizeof clock);
    filled_ += record_bytes_, last_ = clock, ++count_;
    return to + sizeof clock;
  }
  void add(Cycle clock, std::string_view fields) { std::memcpy(add(clock), fields.data(), fields.size()); }
  /// Adds the record of a clock, or replaces it; the clock has not been passed on. There is one record a
  /// clock. Returns the place for its bytes, as `add` does.
  char* put(Cycle clock);
  /// Whether a record may be added for this clock behind all others.
  bool is_next(Cycle clock) const { return clock > last_; }
  /// Whether so much waits that it should be passed on.
  bool many() const { return filled_ >= pass_on_at_; }
  /// Passes the records of clocks before `end` on to the sink.
  void pass_on(Cycle end, const VectorSink& sink);
  /// Passes those before `end` on and forgets the others. Complete files are there then, if empty ones.
  void finish(Cycle end, const VectorSink& sink);
  std::int64_t count() const { return count_; }

 private:
  void grow();
  // The clock of the record that ends at a place of `waiting_`.
  Cycle clock_at(std::size_t end) const;
  std::string lines(std::string_view records) const;

  std::string name_;
  std::vector<std::size_t> fields_;
  bool text_ = false;
  std::size_t record_bytes_ = 0, pass_on_at_ = 0;
  std::vector<char> waiting_;
  std::size_t filled_ = 0;  // bytes of it that are records
  Cycle last_ = -1;         // the clock of the last record
  std::int64_t count_ = 0;
};

}  // namespace tilebeat
