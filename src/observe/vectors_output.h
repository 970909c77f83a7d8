#pragma once

#include "base/types.h"
#include "observe/program_vectors.h"
#include "observe/trace.h"
#include "observe/vector_ports.h"
#include "observe/vector_records.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilebeat {

/// What is written of vectors.
struct VectorOptions {
  std::vector<std::string> patterns;  ///< shell patterns for names of ports; none: all ports
  bool text = false;                  ///< a text beside each binary file
  Picoseconds clock_ps = 0;           ///< period of the NPU's clock
  Picoseconds dram_clock_ps = 0;      ///< period in which the ports of DRAM channels count
  std::function<Picoseconds()> now;   ///< the simulated time, before which nothing is recorded any more
};

/// A memory on the chip behind the run. Before it, all bytes are 0.
struct VectorMemory {
  std::string name;
  std::string file;  ///< the image behind the run; empty: all bytes are 0
  std::int64_t bytes = 0;
};

/// Writes what goes over each port, clock by clock, as golden vectors for hardware (SPEC CY-8). A signal that
/// is high while a port carries something makes a port, whose fields are the signals that belong to it;
/// what no such signal governs is in the port `registers` of its scope, a record for each change. A file has
/// the records of one port: the clock in eight bytes, then each field in as many bytes as its bits take, the
/// lowest byte first. `ports.json` names the ports.
///
/// Each port keeps the record of its next clock as bytes. Changes wait until simulated time has passed them;
/// what a port carries all at once (Trace::carry) becomes a record as it comes.
class VectorsOutput : public Trace {
 public:
  VectorsOutput(VectorOptions options, VectorSink sink);

  using Trace::change;
  SignalId declare(const SignalInfo& info) override;
  void change(SignalId signal, Picoseconds at, std::uint64_t value) override;
  void change(SignalId signal, Picoseconds at, const std::uint8_t* bytes, std::size_t count) override;
  void change(const SignalGroup& group, Picoseconds at, const std::uint8_t* packed) override;
  void carry(SignalId strobe, const SignalGroup& group, Picoseconds begin, Picoseconds end,
             const std::uint8_t* packed) override;
  bool ignores(SignalId strobe, const SignalGroup& group) override;
  RecordLane* lane(SignalId strobe, const SignalGroup& group) override;
  void unknown(SignalId signal, Picoseconds at) override;
  void pulse(SignalId signal, Picoseconds begin, Picoseconds end) override;
  void text(SignalId signal, Picoseconds at, std::string_view text) override;

  /// Writes what there is before `end`, the port of the instructions and `ports.json`, which also names the
  /// `memories`; to be called once.
  void finish(Picoseconds end, ProgramVectors& programs, const std::vector<VectorMemory>& memories);
  /// The objects of `ports.json` of the ports that can be read while the run goes on, without records: all
  /// that are wanted but those of texts, which are told when a wait has ended. All signals are declared.
  std::string describe_ports();
  /// Passes all records of clocks before `limit` on, a time that the simulation has reached.
  void pass_on_before(Picoseconds limit);
  /// The patterns that no port matches. Complete once the ports are open.
  std::vector<std::string> unmatched_patterns() const;

 private:
  // A change that waits. Bytes of values of more than eight lie in `bytes` of the port, from `value` on.
  struct Change {
    enum class Kind : std::uint8_t { kUnknown, kValue, kBytes, kGroup };
    Picoseconds at = 0;
    std::uint64_t value = 0;
    int target = 0;  // signal, or number of a group
    Kind kind = Kind::kUnknown;
  };
  // A time in which a strobe is high. Pulses that meet are one.
  struct Pulse {
    Picoseconds begin = 0, end = -1;  // none: the end lies before the beginning
    bool risen = false;               // its beginning waits as a change, or is done
  };
  struct Port {
    bool wanted = true;
    ClockNumbers* clocks = nullptr;
    std::string fields;     // the record of clock `next`, as far as is known
    std::string all_known;  // the field of the bits that say which others are known, if all are
    int unknown = 0;        // how many are not
    bool high = false;
    Cycle next = 0;  // the first clock that has no record yet
    SignalId strobe = -1;
    Pulse pulse;
    Picoseconds group_at = -2;  // of the latest change of a group
    // Values that the strobe carries become records at once, as long as nothing else was told of the port.
    enum class Way : std::uint8_t { kUnused, kAtOnce, kByChanges } way = Way::kUnused;
    bool is_bank = false;
    std::vector<Change> changes;
    bool in_order = true;                // of their times
    std::size_t value_bytes = 0;         // of a register's change
    std::vector<int> last;               // of an instant: the last change by member
    std::vector<std::uint64_t> touched;  // likewise: a bit a member that changes
    std::size_t look_at = kLookAt;       // number of changes at which they are looked at
    std::string bytes;                   // of values that wait
    VectorRecords records;
  };
  // A signal: its bytes in the fields of its port or its present value, and the latest change that was added.
  struct Place {
    int port = -1;  // negative: not written
    int field = -1, member = -1;
    std::uint32_t offset = 0, bytes = 0;
    bool strobe = false, wide = false;  // wide: more than 64 bits
    bool known = false, latest_known = false;
    std::uint64_t mask = 0;  // of the value, or of the last byte of a wide one
    std::uint64_t value = 0, latest = 0;
    Picoseconds latest_at = -1;
  };
  // Where the signals of a group are in the records of their port.
  struct Side {
    struct Piece {
      std::size_t to = 0, from = 0, bytes = 0;  // place in a record, in the packed values
    };
    int port = -1;
    SignalId strobe = -1;
    std::size_t bytes = 0;
    std::vector<Piece> pieces;
    std::vector<int> fields;
    bool whole = false;      // it has all fields of the port with the strobe
    bool scattered = false;  // its signals are of several ports, or of none with records of them all
    // Writes packed values to the fields of a record.
    void copy(const void* packed, void* record) const {
      for (const Piece& piece : pieces)
        std::memcpy(static_cast<char*>(record) + piece.to, static_cast<const char*>(packed) + piece.from,
                    piece.bytes);
    }
  };
  struct Late {
    Picoseconds at = 0;
    SignalId signal = 0;
    const std::string* text = nullptr;
  };

  static constexpr std::size_t kLookAt = 1024;

  void open();
  void open_port(const VectorPort& description);
  void open_place(SignalId signal, const VectorPlace& place);
  bool wants(const std::string& name);
  const Side& side_of(const SignalGroup& group);
  // The port whose strobe carries the group, if its records may be made at once.
  Port* carrying_port(SignalId strobe, const SignalGroup& group);
  void tell_changes(Port& port);
  Side find_side(const SignalGroup& group) const;
  Port* port_of(SignalId signal);
  static std::uint64_t keep(Port& port, const std::uint8_t* bytes, std::size_t count, std::size_t of);
  void add(Port& port, const Change& change);
  void draw_pulse(Port& port, Picoseconds limit);
  void look(Port& port, Picoseconds limit);
  void forget(Port& port, std::size_t count);
  void apply(Port& port, const Change& change);
  static void set_known(Port& port, int field, bool known);
  void record_instant(Port& port, std::size_t first, std::size_t end);
  void record_change(Port& port, const Change& change);
  static bool repeats(const Port& port, Place& place, Picoseconds at, std::uint64_t value, bool known);
  void record_bank(Port& port, Picoseconds at);
  void emit_before(Port& port, Picoseconds at);
  void write_texts(Picoseconds end);

  VectorOptions options_;
  VectorSink sink_;
  bool opened_ = false;
  std::vector<bool> matched_;
  std::vector<SignalInfo> signals_;
  std::vector<VectorPort> descriptions_;  // of ports_
  std::vector<Port> ports_;
  std::vector<Place> places_;             // by SignalId
  std::vector<int> rank_;                 // by SignalId: its place among all by path
  std::vector<Side> sides_;               // of groups, by their places
  std::map<SignalId, std::string> wide_;  // the present values of registers of more than 64 bits
  std::set<std::string, std::less<>> texts_;
  std::vector<Late> late_;
  ClockNumbers clocks_, dram_clocks_;
};

}  // namespace tilebeat
