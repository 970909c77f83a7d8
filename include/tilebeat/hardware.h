#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tilebeat {

/// The hardware that a hardware file describes (docs/hardware.md): complete, checked and unchangeable. Copies
/// share the description, and nothing else needs to be kept alive for them.
class Hardware {
 public:
  /// Reads a hardware file (JSON). Fields that it does not name have their defaults. Throws UserError that
  /// names the file, the field's JSON path, its value and the allowed range.
  static Hardware load(const std::string& path);
  /// `load` of a hardware file's text; `file` is its name in errors.
  static Hardware parse(const std::string& text, const std::string& file = "hardware");

  /// The name that the file gives the hardware.
  const std::string& name() const;
  /// The clock of the chip, in MHz. All cycles of plans and results are cycles of this clock.
  double clock_mhz() const;
  /// Number of cores with a matrix unit.
  int cores() const;
  /// Peak multiply-accumulates a cycle, of all cores together.
  std::int64_t peak_macs_per_cycle() const;
  /// The text of a hardware file (JSON) in which every field has the value that it has here.
  std::string json() const;

  /// The library's own; users have no definition of it.
  struct Inner;
  explicit Hardware(std::shared_ptr<const Inner> inner) : inner_(std::move(inner)) {}
  const std::shared_ptr<const Inner>& inner() const { return inner_; }

 private:
  std::shared_ptr<const Inner> inner_;
};

}  // namespace tilebeat
