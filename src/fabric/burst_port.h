#pragma once

#include "fabric/burst.h"
#include "observe/statistics.h"
#include "sim/context.h"

#include <algorithm>
#include <deque>
#include <vector>

#include <systemc>
#include <tlm_utils/simple_initiator_socket.h>

namespace tilebeat {

/// The cycle ledger of a data bus whose beats are known ahead of time: a cycle in which a beat is on the bus
/// is busy, every other cycle belongs to the activity that the owner names when it accounts for it (SPEC
/// CY-2).
class BeatLedger {
 public:
  /// The bus carries a beat in each of the cycles [begin, begin + count). Stretches are added in rising
  /// order, do not overlap and do not begin before what is accounted for.
  void add_beats(Cycle begin, Cycle count) {
    if (!beats_.empty() && beats_.back().end == begin) {
      beats_.back().end += count;
    } else {
      beats_.push_back({begin, begin + count});
    }
    beats_end_ = begin + count;
  }
  /// Accounts for the cycles before `upto`; those without a beat belong to `otherwise`.
  void advance(Cycle upto, Activity otherwise) {
    for (Cycle at = ledger_.settled_at(); at < upto; at = ledger_.settled_at()) {
      if (beats_.empty() || beats_.front().begin > at) {
        const Cycle stop = beats_.empty() ? upto : std::min(upto, beats_.front().begin);
        ledger_.spend(otherwise, stop - at);
        continue;
      }
      ledger_.spend(Activity::kBusy, std::min(upto, beats_.front().end) - at);
      if (ledger_.settled_at() == beats_.front().end) beats_.pop_front();
    }
  }
  /// As CycleLedger::explain, for cycles without a beat.
  void explain(const WaitTrail& trail, Cycle now, Cycle from) { ledger_.explain(trail, now, from); }
  void close() { ledger_.close(); }
  /// The cycle after the last known beat.
  Cycle beats_end() const { return beats_end_; }
  /// The cycle up to which everything is accounted for.
  Cycle settled_at() const { return ledger_.settled_at(); }
  const ActivityCycles& cycles() const { return ledger_.cycles(); }
  /// The ledger of these cycles.
  CycleLedger& ledger() { return ledger_; }

 private:
  struct Stretch {
    Cycle begin;
    Cycle end;
  };
  CycleLedger ledger_;
  std::deque<Stretch> beats_;
  Cycle beats_end_ = 0;
};

/// The initiator side of an interconnect port, for DMA channels, the instruction fetch and the host: issues
/// bursts one at a time, keeps them in order, and returns them in order once their response has arrived.
/// `changed` is notified in the cycle after an arrival, when the owner can act on it.
class BurstPort {
 public:
  struct Burst {
    std::vector<std::uint8_t> data;
    tlm::tlm_generic_payload* payload = nullptr;
    Cycle completed = -1;  ///< the cycle of its response
  };

  tlm_utils::simple_initiator_socket<BurstPort> socket;

  /// At most `max_outstanding` bursts are in flight.
  BurstPort(const char* name, const SimContext& context, int max_outstanding, sc_core::sc_event& changed);

  /// Whether the previous request was granted before cycle `now`, so that another burst may be issued.
  bool granted(Cycle now) const { return !ungranted_ && granted_at_ < now; }
  /// The target's stall cause for a request that is not granted yet; `changed` is notified when it changes.
  Activity waits_for() const { return waits_for_; }
  bool has_room() const { return count_of(under_way_) < max_outstanding_; }
  /// Sends a request; `granted` and `has_room` must hold. `data` holds the bytes to write, nothing for a
  /// read.
  void issue(tlm::tlm_command command, std::uint64_t address, int bytes, std::vector<std::uint8_t> data,
             Cycle now);

  bool empty() const { return under_way_.empty(); }
  /// Whether the oldest burst's response arrived before cycle `now`.
  bool front_ready(Cycle now) const {
    return !under_way_.empty() && under_way_.front().completed >= 0 && under_way_.front().completed < now;
  }
  /// Whether the oldest read (write) has had its response since before cycle `now`; for ports that do both,
  /// whose reads and writes pass each other.
  bool ready(tlm::tlm_command direction, Cycle now) const;
  /// Takes that burst off, as `take_front` does.
  std::vector<std::uint8_t> take(tlm::tlm_command direction);
  /// Takes the oldest burst off; throws SimulationError when it was answered with an error.
  std::vector<std::uint8_t> take_front();
  /// The wait trail of the burst that was taken last; the port's own ledger gets it too.
  const WaitTrail& trail() const { return trail_; }
  /// A buffer of an earlier burst, for reuse.
  std::vector<std::uint8_t> buffer(int bytes);
  void recycle(std::vector<std::uint8_t> data) { spare_.push_back(std::move(data)); }

  /// Cycles of the request side: busy when a request is sent; otherwise the owner enters the stall cause.
  CycleLedger ledger;

 private:
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay);
  std::deque<Burst>::const_iterator oldest(tlm::tlm_command direction) const;
  std::vector<std::uint8_t> finish(Burst burst);
  void mark_completed(const tlm::tlm_generic_payload& payload);
  void notify_next_clock();

  SimContext context_;
  int max_outstanding_;
  sc_core::sc_event& changed_;
  BurstPool pool_;
  std::deque<Burst> under_way_;
  std::vector<std::vector<std::uint8_t>> spare_;
  WaitTrail trail_;
  bool ungranted_ = false;
  Activity waits_for_ = Activity::kBusGrant;
  Cycle granted_at_ = -1;
};

}  // namespace tilebeat
