#pragma once

#include "base/types.h"
#include "config/hardware_config.h"
#include "fabric/burst.h"
#include "fabric/burst_port.h"
#include "observe/statistics.h"
#include "sim/context.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>

namespace tilebeat {

/// The addresses [begin, end) belong to target `target` of the interconnect, or, where `targets` is more than
/// 1, to `target`, `target` + 1, ... in turn, `granule` bytes each. The port of each has a data bus of
/// `bytes_per_clock` in each direction; 0: as wide as what is behind it. Statistics call the ports of such
/// targets `port`, followed by their number among those of the range.
struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  int target = 0;
  int targets = 1;
  std::uint64_t granule = 4096;
  int bytes_per_clock = 0;
  const char* port = "";
};

/// Statistics of one initiator port. The read and the write data bus are apart, each with its own cycles:
/// busy while it carries a beat; else bus_grant or outstanding while the port's request of that direction is
/// not granted, or target_queue while its target takes none; else memory while bursts of that direction are
/// with their target; else bus_latency while they are under way; else no_work.
struct BusPortStatistics {
  std::string name;
  std::int64_t read_bytes = 0;     ///< payload bytes of completed reads
  std::int64_t write_bytes = 0;    ///< payload bytes of completed writes
  std::int64_t read_bursts = 0;    ///< completed reads
  std::int64_t write_bursts = 0;   ///< completed writes
  std::int64_t granted = 0;        ///< requests granted
  std::int64_t decode_errors = 0;  ///< requests outside the address map
  Cycle settled_at = 0;            ///< cycles accounted for; both of the following sum to this
  ActivityCycles read_cycles{};
  ActivityCycles write_cycles{};
};

/// Beats on the two data buses of a target's port, which have a width of their own.
struct TargetPortBeats {
  std::string name;
  Cycle read = 0, write = 0;  ///< beats in the cycles that are accounted for
};

/// An AXI-like interconnect (SPEC HI-6, CY-4): initiator ports with a read and a write data bus of
/// `bytes_per_clock` each, targets with one address channel each. A burst's beats are ceil(bytes /
/// bytes_per_clock).
///
/// Request. An initiator sends BEGIN_REQ in phase kAct of a cycle, one at a time until END_REQ. In phase
/// kGrant of the same and each later cycle t every target grants one of the requests to it: the oldest (cycle
/// of BEGIN_REQ), of equally old ones that of the lowest port. A port with `max_outstanding` bursts between
/// grant and response is not granted. END_REQ reaches the initiator in kGrant of t; the next BEGIN_REQ may
/// follow in cycle t + 1.
///   Read: BEGIN_REQ reaches the target in kGrant of cycle t + request_cycles.
///   Write: its beats occupy the port's write bus from cycle max(t + 1, cycle after the port's previous write
///   beat) on, one a cycle; BEGIN_REQ reaches the target in kGrant of (cycle of the last beat) +
///   request_cycles.
/// A target receives one request a cycle, the one that was due first, then the one granted first. A target's
/// port of W bytes a cycle takes the data of writes one after the other in the order of their grants,
/// ceil(bytes / W) cycles each from the arrival of the first beat on; the request is there with the last of
/// them.
///
/// Back-pressure. While a target withholds END_REQ nothing more is sent to it and none of the requests to it
/// is granted. END_REQ sent at time x counts from cycle ceil(x / period) on.
///
/// Response. A target's BEGIN_RESP at time x is taken over at cycle e = ceil(x / period); the interconnect
/// completes it with TLM_COMPLETED. Responses of one port are dealt with in the order of e, then target. The
/// data of reads leave a target's port of W bytes a cycle one after the other in that order, from cycle e on,
/// ceil(bytes / W) cycles each; e below is the cycle in which the first leave, or as much later as it takes
/// for the beats to reach the initiator without a gap.
///   Read: the first beat reaches the initiator in cycle f = max(e + response_cycles, cycle after the port's
///   previous read beat), the rest follow one a cycle; BEGIN_RESP reaches the initiator in kAct of the cycle
///   of the last beat, with `BurstExtension::first_beat` = f. Write: BEGIN_RESP in kAct of cycle max(e +
///   response_cycles, cycle after the port's previous write response).
/// The burst stops counting as outstanding in that cycle. Reads and writes pass each other: an initiator that
/// reads what it wrote waits for the write's response first.
///
/// A burst that is not wholly inside one range of the map is answered with TLM_COMPLETED and
/// TLM_ADDRESS_ERROR_RESPONSE at once. Addresses are passed on unchanged. Targets may answer in the return
/// value (TLM_UPDATED, TLM_COMPLETED) and annotate delays. transport_dbg and get_direct_mem_ptr are forwarded
/// by address and clipped to the range.
///
/// Trace signals `NAME.PORT`: req, addr, rbeat, wbeat, outstanding.
class Interconnect : public sc_core::sc_module {
 public:
  /// One socket an initiator, in the order of the port names.
  sc_core::sc_vector<tlm_utils::passthrough_target_socket_tagged<Interconnect>> initiator_ports;
  /// One socket a target, by the numbers used in the address map.
  sc_core::sc_vector<tlm_utils::simple_initiator_socket_tagged<Interconnect>> target_ports;

  /// Throws UserError for a configuration out of range, SimulationError for an address map with gaps in its
  /// target numbers or overlapping ranges.
  Interconnect(const sc_core::sc_module_name& name, const InterconnectConfig& config,
               const SimContext& context, const std::vector<std::string>& port_names,
               const std::vector<AddressRange>& map);

  /// Payload bytes of the completed reads of all ports.
  std::int64_t read_bytes() const {
    std::int64_t bytes = 0;
    for (const Port& port : ports_) bytes += port.statistics.read_bytes;
    return bytes;
  }
  int ports() const { return count_of(ports_); }
  /// Brings the statistics up to the end of cycle `end` - 1.
  void settle(Cycle end);
  /// Shows the ledgers of all ports: `module.PORT.read` and `.write`.
  void visit_ledgers(const std::string& module, StatVisitor& visitor);
  /// The ports of targets that are not as wide as what is behind them, as of the last `settle`.
  std::vector<TargetPortBeats> target_beats() const;
  /// Flips the bits of `mask` in byte `byte` of the data bus `port` ("gdma.read", "gdma.write") in cycle
  /// `at`, if it carries that byte then. Returns false where there is no such bus or byte.
  bool upset(const std::string& port, std::int64_t byte, std::uint8_t mask, Cycle at);
  /// The statistics of a port as of the last `settle`.
  const BusPortStatistics& statistics(PortId port) const { return nth(ports_, port.value()).statistics; }

 private:
  using Payload = tlm::tlm_generic_payload;

  /// One direction of a port.
  struct Lane {
    BeatLedger ledger;
    Cycle free_from = 0;                   ///< first cycle without a beat promised
    int under_way = 0;                     ///< bursts between grant and response
    int at_target = 0;                     ///< bursts among them that their target has taken
    bool waiting = false;                  ///< a request of this direction is not granted
    Activity cause = Activity::kBusGrant;  ///< why not
  };
  struct PortSignals {
    SignalId request = -1;
    SignalId address = -1;
    SignalId outstanding = -1;
    SignalId write = -1, bytes = -1;   ///< of the request
    std::array<Strobe, 2> beats;       ///< of reads, of writes
    std::array<SignalGroup, 2> data;   ///< likewise
    std::array<Strobe, 2> done;        ///< likewise: a burst is answered
    std::array<SignalGroup, 2> which;  ///< its address
  };
  struct Port {
    Payload* request = nullptr;  ///< BEGIN_REQ without END_REQ
    Cycle issued = 0;            ///< cycle of that BEGIN_REQ
    int target = 0;              ///< number of the target
    int outstanding = 0;
    Cycle reply_free_from = 0;  ///< first cycle without a write response promised
    std::uint64_t bursts = 0;
    Lane read;
    Lane write;
    PortSignals signals;
    BusPortStatistics statistics;
  };
  /// A set of ports, a bit each: few of many ports are active at a time.
  class PortSet {
   public:
    explicit PortSet(std::size_t ports) : words_((ports + kBits - 1) / kBits, 0) {}
    void insert(std::size_t port) { words_[port / kBits] |= std::uint64_t{1} << port % kBits; }
    void erase(std::size_t port) { words_[port / kBits] &= ~(std::uint64_t{1} << port % kBits); }
    /// Calls `visit` with each port, the lowest first; ports that it inserts are visited where they are
    /// higher.
    template <class Visit>
    void for_each(const Visit& visit) const {
      for (std::size_t word = 0; word < words_.size(); ++word) {
        for_each_bit(words_[word], [&](int bit) { visit(word * kBits + to_size(bit)); });
      }
    }

   private:
    static constexpr std::size_t kBits = 64;
    std::vector<std::uint64_t> words_;
  };
  /// A granted request on its way to its target.
  struct Travelling {
    Cycle due;
    std::uint64_t grant;
    Payload* payload;
    friend bool operator>(const Travelling& a, const Travelling& b) {
      return a.due != b.due ? a.due > b.due : a.grant > b.grant;
    }
  };
  struct Target {
    int bytes_per_clock = 0;              ///< width of each data bus of the port; 0: not limited
    Cycle read_from = 0, write_from = 0;  ///< first cycles in which these carry no data yet
    std::string name;                     ///< of the port; empty: not limited
    BeatLedger read, write;               ///< of the data buses
    std::vector<Travelling> travelling;   ///< a heap, first due first
    const Payload* unaccepted = nullptr;  ///< sent to the target, END_REQ withheld
    Cycle free_from = 0;                  ///< cycle from which on the latest END_REQ counts
    bool blocked(Cycle now) const { return unaccepted != nullptr || free_from > now; }
    /// Cycles of a burst's data on a data bus of its port.
    Cycle data_cycles(unsigned bytes) const {
      return bytes_per_clock == 0 ? 0 : ceil_div<Cycle>(bytes, bytes_per_clock);
    }
  };
  /// A response that a target has sent.
  struct Response {
    Cycle taken_over;
    int target;
    Payload* payload;
  };
  /// A response whose last beat reaches the initiator at a known clock.
  struct Delivery {
    Cycle at;
    int port;
    std::uint64_t id;
    Payload* payload;
    friend bool operator>(const Delivery& a, const Delivery& b) {
      if (a.at != b.at) return a.at > b.at;
      return a.port != b.port ? a.port > b.port : a.id > b.id;
    }
  };

  tlm::tlm_sync_enum receive_request(int port, Payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  tlm::tlm_sync_enum receive_answer(int target, Payload& payload, tlm::tlm_phase& phase,
                                    sc_core::sc_time& delay);
  unsigned debug(int port, Payload& payload);
  bool direct_memory(int port, Payload& payload, tlm::tlm_dmi& dmi);
  void invalidate_direct_memory(int target, sc_dt::uint64 begin, sc_dt::uint64 end);

  /// The part of the map around an address that belongs to one target.
  std::optional<AddressRange> find(std::uint64_t address) const;
  void build_map(const std::vector<AddressRange>& map);

  void grant_phase();
  void take_over_responses(Cycle now);
  void stream(const Response& response);
  void send_to_targets(Cycle now);
  void send(int target, Payload& payload, Cycle now);
  void arbitrate(Cycle now);
  void grant(int port, Cycle now);
  void note_waiting(Cycle now);
  void plan_next_grant(Cycle now);
  void request_grant_phase(Cycle at);

  void delivery_phase();
  void deliver(const Delivery& delivery);

  static void account(Lane& lane, Cycle upto);
  Lane& lane_of(const Payload& payload);
  void accept(Target& target, Cycle from);
  void answer(int target, Payload& payload, Cycle taken_over);

  void upset_beats(const Lane& lane, Payload& payload, Cycle first_beat) const;

  void declare_signals(Port& port);
  void trace_request(const Port& port, const Payload& payload, Cycle now);
  void trace_grant(const Port& port, Cycle now);
  void trace_beats(const Port& port, const Payload& payload, Cycle begin, Cycle count);
  void trace_delivery(const Port& port, const Payload& payload, Cycle now);

  InterconnectConfig config_;
  SimContext context_;
  struct BusUpset {
    const Lane* lane;
    Cycle at;
    std::uint64_t byte;
    std::uint8_t mask;
  };
  std::vector<BusUpset> upsets_;
  std::vector<AddressRange> map_;  ///< in rising order
  std::vector<Port> ports_;
  PortSet asking_;  ///< ports with a request
  std::vector<Target> targets_;
  std::vector<int> winners_;          ///< by target, used inside `arbitrate`
  std::vector<Response> responses_;   ///< not taken over yet, by cycle, then target
  std::vector<Delivery> deliveries_;  ///< a heap, earliest first
  std::uint64_t grants_ = 0;
  sc_core::sc_event grant_event_;
  sc_core::sc_event delivery_event_;
  MethodGate grant_gate_;
  MethodGate delivery_gate_;
  std::vector<std::uint8_t> traced_beat_;  ///< room for the bytes of one
};

}  // namespace tilebeat
