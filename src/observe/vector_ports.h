#pragma once

#include "base/types.h"
#include "observe/trace.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tilebeat {

/// A field of the records of a port; it takes as many bytes as its bits do.
struct VectorField {
  std::string name;
  int bits = 0;
  std::size_t bytes() const { return (to_size(bits) + 7) / 8; }
};

/// What the records of a port are: one for each clock in which its strobe is high, for each change of a
/// signal, or, with all signals, for each time at which some change.
enum class PortRecordKind : std::uint8_t { kStrobed, kChanges, kBank };

/// A port of vectors: a signal that is high while it carries something with the signals that belong to it, or
/// what no such signal governs in a scope.
struct VectorPort {
  std::string name;
  std::string stage;  ///< of the unit's pipeline; empty: none is named
  PortRecordKind kind = PortRecordKind::kStrobed;
  bool of_dram = false;  ///< its clocks are those of DRAM
  std::vector<VectorField> fields;
  std::vector<std::string> members;  ///< kChanges: the signals, by the number in a record
  bool has_texts = false;            ///< kChanges: the signals are texts
  std::vector<std::string> texts;    ///< the texts that a signal may have, by their numbers

  /// The bytes of each field.
  std::vector<std::size_t> field_bytes() const;
};

/// Where a signal belongs.
struct VectorPlace {
  int port = -1;  ///< negative: nowhere
  int field = -1, member = -1;
  bool strobe = false;
};

/// The ports that signals make, in the order of their files' index: ports with a strobe first.
struct VectorPorts {
  std::vector<VectorPort> ports;
  std::vector<VectorPlace> places;  ///< by SignalId
};

/// The port's object in `ports.json`, with so many records and the period of its clock.
std::string description_of(const VectorPort& port, std::int64_t records, Picoseconds clock_ps);

/// Bits of the first two fields of a record of a change, of which the third is the value.
inline constexpr int kMemberBits = 16, kKnownBits = 1;

/// Groups `signals`, which are declared completely, into ports. `order`: their ids by path.
VectorPorts vector_ports(const std::vector<SignalInfo>& signals, const std::vector<SignalId>& order);

}  // namespace tilebeat
