#pragma once

#include "base/types.h"
#include "observe/record_lane.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The bytes of a file of vectors come piece by piece, the first `count` of a buffer each. The sink takes the
/// buffer and leaves another one, of any size, in its place.
using VectorSink = std::function<void(const std::string& file, std::vector<char>& buffer, std::size_t count)>;

/// Passes a copy of these bytes on.
inline void pass_on(const VectorSink& sink, const std::string& file, std::string_view bytes) {
  std::vector<char> piece(bytes.begin(), bytes.end());
  sink(file, piece, piece.size());
}

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
  VectorRecords(VectorRecords&&) = default;
  VectorRecords& operator=(VectorRecords&&) = default;
  /// `name` is that of the files without their endings; `fields` the bytes of each field.
  VectorRecords(std::string name, std::vector<std::size_t> fields, bool text);

  /// Adds the record of a clock behind all others. Returns the place for the bytes of all fields, which the
  /// caller fills before it calls anything else.
  char* add(Cycle clock) {
    if (lane_.end - lane_.next < to_signed(record_bytes_)) grow();
    char* const to = lane_.next;
    std::memcpy(to, &clock, sizeof clock);
    lane_.next += record_bytes_, lane_.last = clock;
    return to + sizeof clock;
  }
  void add(Cycle clock, std::string_view fields) { std::memcpy(add(clock), fields.data(), fields.size()); }
  /// Adds the record of a clock, or replaces it; the clock has not been passed on. There is one record a
  /// clock. Returns the place for its bytes, as `add` does.
  char* put(Cycle clock);
  /// Whether a record may be added for this clock behind all others.
  bool is_next(Cycle clock) const { return clock > lane_.last; }
  /// The clock of the last record, and its fields; there is a record.
  Cycle last_clock() const { return lane_.last; }
  std::string last_fields() const { return std::string(last_record()); }
  /// Whether these are the fields of the last record, or zeros where there is none.
  bool repeats(std::string_view fields) const {
    return count() > 0 ? fields == last_record() : fields.find_first_not_of('\0') == std::string_view::npos;
  }
  /// Whether so much waits that it should be passed on.
  bool many() const { return filled() >= pass_on_at_; }
  /// Passes the records of clocks before `end` on to the sink.
  void pass_on(Cycle end, const VectorSink& sink);
  /// Passes those before `end` on and forgets the others. Complete files are there then, if empty ones.
  void finish(Cycle end, const VectorSink& sink);
  std::int64_t count() const { return passed_on_ + to_signed(filled() / record_bytes_); }
  /// Where records are added without asking: those of a port with these clocks, which must outlive this,
  /// whose fields are `bytes` of values in front of a constant `tail`, which this keeps.
  RecordLane& lane(ClockNumbers& clocks, std::size_t bytes, std::string_view tail);

  /// Ends that: nothing is added without asking any more.
  void close_lane() { lane_.clocks = nullptr; }

 private:
  void grow();
  // Makes room for so many bytes, of which `used` are records.
  void set_room(std::size_t bytes, std::size_t used);
  // The fields of the last record; there is one.
  std::string_view last_record() const {
    const char* const record = filled() > 0 ? lane_.next - record_bytes_ : last_passed_on_.data();
    return {record + sizeof(Cycle), record_bytes_ - sizeof(Cycle)};
  }
  std::size_t filled() const { return to_size(lane_.next - waiting_.data()); }
  // The clock of the record that ends at a place of `waiting_`.
  Cycle clock_at(std::size_t end) const;
  std::string lines(std::string_view records) const;

  std::string name_;
  std::vector<std::size_t> fields_;
  bool text_ = false;
  std::size_t record_bytes_ = 0, pass_on_at_ = 0;
  std::vector<char> waiting_;
  RecordLane lane_;             // its next place is in waiting_
  std::string tail_;            // of the lane
  std::int64_t passed_on_ = 0;  // records
  std::string last_passed_on_;  // the last one
};

}  // namespace tilebeat
