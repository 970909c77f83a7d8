#pragma once

#include "fabric/dram_channel.h"
#include "fabric/dram_timing.h"
#include "fabric/sparse_memory.h"
#include "observe/trace.h"
#include "sim/context.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/passthrough_target_socket.h>

namespace tilebeat {

/// The part of an address space that a controller serves: granule `index` of every `count` granules.
struct AddressSlice {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  std::uint64_t granule = 4096;
  /// The address in the controller's own memory of an address of the slice.
  std::uint64_t local(std::uint64_t address) const {
    return count == 1 ? address : address / (granule * count) * granule + address % granule;
  }
};

/// A DRAM and its memory controller (SPEC HI-6, HI-8): all channels behind one target socket, in a clock
/// domain of its own. It occupies the addresses [0, size_bytes), or its slice of [0, count x size_bytes).
///
/// Function: reads and writes of 1 to 4096 bytes at any address. A request is cut into DRAM bursts at
/// multiples of burst_length x data_bits / 8 bytes; a partly covered burst takes a whole burst's time, a
/// write then leaves the other bytes alone. A read's bytes are sampled when the RD of their burst is issued,
/// a write's are stored when its WR is. Overlapping requests take effect in the order of their arrival, burst
/// by burst.
///
/// Latency: bursts enter the queues of their channels when the request arrives and are seen by the schedulers
/// from the first DRAM edge strictly after that. BEGIN_RESP is sent at the end of the last data beat of the
/// request's last burst. Idle, with a closed bank, that is tRCD + tCL + burst_length / transfers_per_clock
/// DRAM cycles after the edge of the ACT.
///
/// Throughput: one burst per max(tCCD, burst_length / transfers_per_clock) cycles and channel; see
/// DramChannel for order and refresh.
///
/// Back-pressure: END_REQ is returned at once when every burst of the request has a place in its channel's
/// queue. Otherwise bursts enter in address order at the DRAM edges that follow, and END_REQ is sent when the
/// last has entered.
///
/// Protocol: nb_transport base protocol; the initiator completes BEGIN_RESP with TLM_COMPLETED. Faulty
/// requests (outside the memory, length, byte enables) complete at once with TLM's error response.
/// transport_dbg reads and writes the storage without time passing; there is no direct memory interface.
///
/// Trace signals `NAME.chN`: cmd (DramCommandKind), bank, row, queue (bursts that the scheduler sees), data
/// (a beat on the data bus). Refreshes of an idle channel are counted but not drawn. Where named, `NAME`: req
/// with addr, req_bytes and req_write (a request has arrived in this NPU cycle); `NAME.answers`: valid with
/// requests (those whose response goes out in this cycle: bit n % 128 of request n in the order of arrival).
class DramController : public sc_core::sc_module {
 public:
  static constexpr int kMaxRequestBytes = 4096;

  tlm_utils::passthrough_target_socket<DramController> socket;

  /// Throws UserError when `config` is out of range.
  DramController(const sc_core::sc_module_name& name, const DramConfig& config, const SimContext& context,
                 AddressSlice slice = AddressSlice());

  /// The DRAM's own clock domain.
  const ClockDomain& clock() const { return clock_; }
  int channels() const { return count_of(channels_); }
  /// Writes zeros into all of the memory without time passing, when no request is under way.
  void clear() { memory_.clear(); }
  /// Brings the statistics up to the end of the last DRAM clock that is over at `now` (ps), with the commands
  /// of an edge at that very instant, whether or not its own process has run (SPEC CY-4).
  void settle(Picoseconds now);
  /// The ledger of a channel's data bus, in DRAM cycles.
  CycleLedger& ledger(int channel) { return nth(channels_, channel).ledger(); }
  /// The statistics of a channel as of the last `settle`.
  const DramChannelStatistics& statistics(int channel) const { return nth(channels_, channel).statistics(); }

 private:
  /// A request from its arrival to its response.
  struct Request {
    tlm::tlm_generic_payload* payload = nullptr;
    std::uint64_t number = 0;     ///< in order of arrival
    std::uint32_t entered = 0;    ///< bytes whose bursts have entered their queues
    std::uint32_t remaining = 0;  ///< bytes not served yet
    Cycle done = 0;               ///< end of the last data beat so far
  };
  struct Completion {
    Cycle at;
    std::uint64_t number;
    std::uint32_t request;
    friend bool operator>(const Completion& a, const Completion& b) {
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };
  /// What goes over the socket: requests in cycles of the NPU, answers in those of the DRAM.
  struct PortSignals {
    Strobe request, answer;
    SignalGroup requested, answered;
  };
  struct ChannelSignals {
    SignalId command;
    SignalId bank;
    SignalId row;
    SignalId queue;
    SignalId column;
    SignalId data;
    SignalId bytes;
  };
  static constexpr std::int64_t kNone = -1;

  tlm::tlm_sync_enum receive(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                             sc_core::sc_time& delay);
  unsigned debug(tlm::tlm_generic_payload& payload);
  tlm::tlm_response_status check(const tlm::tlm_generic_payload& payload) const;
  std::uint32_t open_request(tlm::tlm_generic_payload& payload);
  /// Moves bursts of the request into the queues; true when all have entered. `edge` is the DRAM clock whose
  /// edge is now or -1.
  bool enter_bursts(std::uint32_t handle, Cycle edge, Cycle visible_from);

  void work();
  void work_at(Cycle at);
  void catch_up(Cycle end);
  Cycle edges_before(Picoseconds now) const;
  Cycle next_work() const;
  Cycle earliest_answer(Cycle step) const;
  void send_responses(Cycle now);
  void admit_held(Cycle now);
  void serve(const DramChannel::Served& served);
  void schedule();

  void declare_signals();
  void observe(const DramCommand& command);
  void trace_burst(const DramChannel::Served& served, std::uint64_t address, const std::uint8_t* data);
  void pass_on(const DramWait& wait);
  void trace_queue(int channel, Cycle at);
  void trace_request(const tlm::tlm_generic_payload& payload);
  void trace_answers(Cycle now, const std::vector<std::uint64_t>& numbers);

  DramAddressMap map_;
  AddressSlice slice_;
  ClockDomain clock_;
  SimContext context_;
  WorkCounter read_, written_;
  SparseMemory memory_;
  std::vector<DramChannel> channels_;
  std::deque<Request> requests_;              ///< by handle
  std::vector<std::uint32_t> free_requests_;  ///< handles not in use
  std::uint64_t arrived_ = 0;
  std::int64_t held_ = kNone;            ///< handle of the request whose END_REQ is withheld
  std::size_t held_channel_ = 0;         ///< channel that has no room for the request's next burst
  Cycle admit_from_ = 0;                 ///< the next cycle in which it can find a place
  std::vector<Completion> completions_;  ///< a heap, earliest first
  sc_core::sc_event wake_;
  MethodGate gate_;
  std::vector<ChannelSignals> signals_;
  PortSignals port_signals_;
  std::vector<std::uint64_t> answered_;  ///< numbers of the requests answered now; used while they are sent
};

}  // namespace tilebeat
