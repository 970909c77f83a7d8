#pragma once

#include "tilebeat/tilebeat.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// A port of a session: the records that have come and lie ahead, and what it has in the present clock.
class PortRecords {
 public:
  enum class Kind : std::uint8_t { kStrobed, kBank, kChanges };
  struct Field {
    std::string name;
    int bits = 0;
    std::size_t at = 0;  // place in a record; of kChanges in `values_`
    std::size_t bytes() const { return (static_cast<std::size_t>(bits) + 7) / 8; }
  };

  /// `registers`: of kChanges, whose fields are those of a record.
  PortRecords(std::string name, Kind kind, std::int64_t clock_ps, std::vector<Field> fields,
              const std::vector<std::string>& registers);

  const std::string& name() const { return name_; }
  const std::vector<Field>& fields() const { return fields_; }
  /// As C has it; valid once all ports are where they stay.
  const tilebeat_port& shown() const { return shown_; }
  void show();
  /// Adds whole records behind all others.
  void add(std::string_view records) { waiting_ += records; }
  /// Goes on to a clock of a session whose clock has this period.
  void go_to(std::int64_t clock, std::int64_t clock_ps);
  /// A field's bytes there; nothing: it has no value.
  std::optional<std::string_view> value(std::size_t field) const;

 private:
  void apply(std::int64_t clock, const char* record);

  std::string name_;
  Kind kind_;
  std::int64_t clock_ps_;
  std::vector<Field> fields_;
  std::size_t record_bytes_ = sizeof(std::int64_t);
  std::string waiting_;  // records, from `taken_` on
  std::size_t taken_ = 0;
  std::int64_t now_ = -1, latest_ = -1;  // the present clock, that of the last record
  std::string values_;                   // the last record, or all registers
  std::vector<bool> known_;              // of registers
  std::size_t value_bytes_ = 0;          // of one
  tilebeat_port shown_{};
  std::vector<tilebeat_field> shown_fields_;
};

}  // namespace tilebeat
