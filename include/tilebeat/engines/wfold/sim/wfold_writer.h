#pragma once

#include "tilebeat/engines/wfold/config.h"
#include "tilebeat/engines/wfold/sim/wfold_messages.h"
#include "tilebeat/fabric/burst_port.h"
#include "tilebeat/fabric/message.h"
#include "tilebeat/observe/ledger.h"
#include "tilebeat/sim/context.h"
#include "tilebeat/sim/granularity.h"
#include "tilebeat/units/commanded_unit.h"

#include <deque>
#include <memory>
#include <vector>

#include <systemc>

namespace tilebeat {

/// What the writer counts.
struct WfoldWriterStats {
  std::int64_t results = 0;   ///< elements stored
  std::int64_t requests = 0;  ///< to the first storage
  std::int64_t bytes = 0;
};

/// The writing half of the W-fold master (document 003 [0147]-[0156], figure 11; SPEC WF-7): takes the
/// results of a tile out of the slaves' third buffers, turned from CW to WC, drops surplus columns and
/// channels, and writes them to the first storage in lines of Pco channels x Wso columns.
///
/// Throughput: M bytes of int32 results a cycle, that is one result of every slave with 16 slaves and 64
/// bytes: all channels of a column, then the next column. Latency: post_latency_cycles from a result's cycle
/// to its request. Back-pressure: results leave the third buffers while fewer than `write_queue` requests
/// wait. A half of the third buffers is free in the cycle after its last result left; the run is done when
/// the last request has been answered. Two ledgers: `port.ledger` for requests, `drain_ledger` for the third
/// buffers.
class WfoldWriter : public sc_core::sc_module {
  sc_core::sc_event wake_;  // declared first: the port notifies it

 public:
  tlm_utils::simple_target_socket<WfoldWriter> tiles;
  sc_core::sc_vector<tlm_utils::simple_initiator_socket<WfoldWriter>> results;  ///< one a slave
  BurstPort port;
  tlm_utils::simple_initiator_socket<WfoldWriter> drained;
  CompletionSocket completion;

  /// `nram` is the address of the first storage.
  WfoldWriter(sc_core::sc_module_name name, const SimContext& context, const WfoldConfig& config,
              int max_outstanding, std::uint64_t nram, Granularity granularity);
  SC_HAS_PROCESS(WfoldWriter);

  CycleLedger drain_ledger;
  WfoldWriterStats stats;

 private:
  // A write request of the tile at work: bytes [begin, end) of columns [column, column + columns).
  struct Request {
    std::uint64_t address = 0;
    int column = 0, columns = 1;
    int begin = 0, end = 0;   // of a column's bytes
    std::int64_t slices = 0;  // of the tile that have to be out
  };
  struct Staged {
    std::uint64_t address = 0;
    std::vector<std::uint8_t> data;
    Cycle ready = 0;
    std::shared_ptr<const WfoldJob> completes;  // the run that ends with it
  };
  void take_tile(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  void step();
  void hear_news(Cycle now);
  void take_responses(Cycle now);
  void begin_tile();
  void drain(Cycle now);
  void read_slices(std::int64_t first, std::int64_t end);
  void tell_drained(Cycle now);
  Activity request_blocker(Cycle now) const;
  bool request(Cycle now);
  void schedule(Cycle now);

  SimContext context_;
  WfoldConfig config_;
  std::uint64_t nram_;
  Granularity granularity_;
  MethodGate gate_;

  std::deque<TileResults> tiles_;  // not drained, oldest first
  bool begun_ = false;             // the front tile's requests are made
  std::vector<Request> requests_;  // of the front tile
  std::size_t next_request_ = 0;
  int kernels_per_slice_ = 1;  // int32 that leave a cycle, and what that makes of a column
  int column_slices_ = 0;
  std::int64_t slices_out_ = 0;
  std::vector<std::uint8_t> tile_bytes_;  // [column][channel], finished
  std::vector<std::int32_t> read_;        // scratch of one slave
  Cycle drain_free_ = 0;
  bool told_ = true;  // false: the master still has to hear that a tile is out
  std::deque<Staged> staged_;
  std::deque<std::shared_ptr<const WfoldJob>> under_way_;  // what each request completes
  Activity idle_ = Activity::kHost;                        // what is waited for when nothing is left
  Activity news_ = Activity::kHost;                        // what it is from cycle `news_at_` on
  Cycle news_at_ = 0;
  MessageSender send_;
  SignalId drain_signal_ = -1;
};

}  // namespace tilebeat
