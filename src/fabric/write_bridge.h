#pragma once

#include "fabric/burst_port.h"
#include "sim/context.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <systemc>
#include <tlm_utils/passthrough_target_socket.h>

namespace tilebeat {

/// Counters of a bridge.
struct BridgeStats {
  std::int64_t transfers = 0;    ///< bursts taken
  std::int64_t taken_bytes = 0;  ///< bytes of these bursts
  /// Bytes written behind the bridge: more than taken when several cores receive them.
  std::int64_t delivered_bytes = 0;
};

/// Takes write bursts and passes each on to one or several buses: the broadcast bus of a cluster (SPEC HI-3,
/// one output a core) and the slave side of CDMA (one output).
///
/// A burst is taken (AW accepted, END_REQ) while fewer than `max_outstanding` are inside. Its data then
/// occupies the bridge for ceil(bytes / bytes_per_clock) cycles (W), in the order of arrival; in the cycle
/// after, the write goes out on all of its outputs, each as soon as that bus grants it. The response (B,
/// BEGIN_RESP) is sent in the cycle after the last output's response, in the order of arrival and one a
/// cycle. One more burst waits in front of the bridge without END_REQ when it is full.
///
/// Trace signals: aw, w, b.
class WriteBridge : public sc_core::sc_module {
  sc_core::sc_event wake_;  // declared first: the ports notify it

 public:
  /// An output and the address there.
  struct Route {
    int output = 0;
    std::uint64_t address = 0;
  };
  /// Addresses of bursts that are passed on, from `begin` on: the lowest `offset_bits` of what lies beyond it
  /// are an offset below `bytes`, the others a set of outputs, one a bit. `targets` are the addresses of
  /// offset 0, by output. Without `offset_bits` all is offset, and the set is output 0.
  struct Window {
    std::uint64_t begin = 0, bytes = 0;
    std::optional<int> offset_bits;
    std::vector<std::uint64_t> targets;
  };

  tlm_utils::passthrough_target_socket<WriteBridge> socket;
  std::vector<std::unique_ptr<BurstPort>> outputs;

  WriteBridge(sc_core::sc_module_name name, const SimContext& context, int bytes_per_clock,
              int max_outstanding, int output_count, std::vector<Window> windows);
  SC_HAS_PROCESS(WriteBridge);

  /// Busy: a beat passes. Otherwise `outstanding` while a burst waits in front of a full bridge, `memory`
  /// while bursts inside wait for their outputs.
  CycleLedger ledger;
  BridgeStats stats;

 private:
  struct Transfer {
    tlm::tlm_generic_payload* payload = nullptr;
    std::vector<Route> unsent;
    int unanswered = 0;
    Cycle taken = 0;  // the cycle of AW
    Cycle ready = 0;  // the cycle after its last beat
  };
  tlm::tlm_sync_enum receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                             sc_core::sc_time& delay);
  void step();
  void take_responses(Cycle now);
  void send(Cycle now);
  void respond(Cycle now);
  void accept(tlm::tlm_generic_payload& payload, std::vector<Route> routes);
  std::vector<Route> routes_of(std::uint64_t address, std::uint64_t bytes) const;
  Activity activity(Cycle now) const;
  void schedule(Cycle now);

  SimContext context_;
  int bytes_per_clock_, max_outstanding_;
  std::vector<Window> windows_;
  MethodGate gate_;
  std::deque<Transfer> transfers_;                // oldest first
  std::vector<std::deque<Transfer*>> under_way_;  // by output, oldest first
  tlm::tlm_generic_payload* held_ = nullptr;      // END_REQ withheld
  std::vector<Route> held_routes_;
  Cycle held_since_ = 0;
  Cycle responded_at_ = -1;               // the last cycle with a response
  Cycle data_begin_ = 0, data_free_ = 0;  // beats are promised for the cycles between
  SignalId aw_signal_ = -1, w_signal_ = -1, b_signal_ = -1;
};

}  // namespace tilebeat
