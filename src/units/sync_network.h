#pragma once

#include "fabric/message.h"
#include "isa/instruction.h"
#include "observe/statistics.h"
#include "sim/clock.h"
#include "sim/context.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <systemc>

namespace tilebeat {

/// From a processor to the synchronisation network.
struct SyncRequest {
  /// The processor is at barrier `id` of `participants`.
  struct Arrive {
    std::uint16_t id = 0;
    std::uint16_t participants = 0;
  };
  /// Adds one to `semaphore` of `processors`, a bit mask of processors in the cluster whose number is
  /// `cluster_distance` greater than the giver's.
  struct Give {
    std::uint64_t processors = 0;
    Semaphore semaphore = 0;
    int cluster_distance = 0;
  };
  std::variant<Arrive, Give> content;
};

/// From the synchronisation network to a processor.
struct SyncDelivery {
  /// All participants of the processor's barrier have arrived.
  struct Release {};
  /// The processor's `semaphore` gets one.
  struct Receive {
    Semaphore semaphore = 0;
  };
  std::variant<Release, Receive> content;
};

/// The global barrier controller of the chip and the signal wires between its processors (SPEC HI-5).
///
/// A barrier is identified by its number; the number of participants is given by its instructions, whichever
/// processors arrive. Latency: a release or a signal reaches its processors `sync_cycles` after the message
/// that caused it. Throughput: any number of messages a cycle.
class SyncNetwork : public sc_core::sc_module {
 public:
  sc_core::sc_vector<MessageTarget<SyncRequest>> from;    ///< one a processor
  sc_core::sc_vector<MessageInitiator<SyncDelivery>> to;  ///< one a processor

  /// `processors` is the total; `cluster_size` consecutive ones form a cluster.
  SyncNetwork(sc_core::sc_module_name name, const SimContext& context, int processors, int cluster_size,
              int sync_cycles);
  SC_HAS_PROCESS(SyncNetwork);

  std::int64_t barriers = 0;  ///< released
  std::int64_t signals = 0;   ///< delivered
  /// The barriers that some but not all participants have reached, a line each.
  std::string describe_state() const;

 private:
  struct Delivery {
    Cycle at = 0;
    int processor = 0;
    SyncDelivery message;
  };
  struct Waiting {
    int participants = 0;
    std::vector<int> arrived;
  };
  void receive(int processor, SyncRequest& request, sc_core::sc_time& delay);
  void arrive(int processor, const SyncRequest::Arrive& barrier, Cycle at);
  void give(int processor, const SyncRequest::Give& signal, Cycle at);
  void deliver();

  SimContext context_;
  int cluster_size_;
  int sync_cycles_;
  MethodGate gate_;
  std::map<int, Waiting> waiting_;
  std::deque<Delivery> deliveries_;  // in rising order of their cycles
  sc_core::sc_event wake_;
  SignalId waiting_signal_ = -1;
};

}  // namespace tilebeat
