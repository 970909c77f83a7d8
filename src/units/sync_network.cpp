#include "units/sync_network.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {

SyncNetwork::SyncNetwork(sc_core::sc_module_name name, const SimContext& context, int processors,
                         int cluster_size, int sync_cycles)
    : sc_module(name),
      from("from", to_size(processors)),
      to("to", to_size(processors)),
      context_(context),
      cluster_size_(cluster_size),
      sync_cycles_(sync_cycles) {
  for (int i = 0; i < processors; ++i) nth(from, i).register_b_transport(this, &SyncNetwork::receive, i);
  SC_METHOD(deliver);
  sensitive << wake_;
  dont_initialize();
  if (Trace* trace = context_.trace(); trace != nullptr)
    waiting_signal_ = trace->add_signal(this->name(), "barrier_waiting", 16, Radix::kDecimal);
}

void SyncNetwork::receive(int processor, SyncRequest& request, sc_core::sc_time&) {
  const Cycle at = context_.clock.cycle_of(now_ps()) + sync_cycles_;
  std::visit(Overloaded{[&](const SyncRequest::Arrive& barrier) { arrive(processor, barrier, at); },
                        [&](const SyncRequest::Give& signal) { give(processor, signal, at); }},
             request.content);
  if (!deliveries_.empty()) notify_at(wake_, context_.clock, deliveries_.front().at);
}

void SyncNetwork::give(int processor, const SyncRequest::Give& signal, Cycle at) {
  const int clusters = count_of(from) / cluster_size_;
  const int cluster = processor / cluster_size_ + signal.cluster_distance;
  if (cluster < 0 || cluster >= clusters)
    throw SimulationError(fmt::format("signal: there is no cluster {}, the chip has {}", cluster, clusters));
  const int first = cluster * cluster_size_;
  for (int i = 0; i < 64; ++i) {
    if ((signal.processors >> i & 1) == 0) continue;
    if (i >= cluster_size_) {
      throw SimulationError(
          fmt::format("signal: the cluster has no processor {}, there are {}", i, cluster_size_));
    }
    deliveries_.push_back({at, first + i, {SyncDelivery::Receive{signal.semaphore}}});
  }
}

void SyncNetwork::arrive(int processor, const SyncRequest::Arrive& barrier, Cycle at) {
  Waiting& waiting = waiting_[barrier.id];
  if (!waiting.arrived.empty() && waiting.participants != barrier.participants) {
    throw SimulationError(fmt::format("barrier {}: processor {} counts {} participants, others {}",
                                      barrier.id, processor, barrier.participants, waiting.participants));
  }
  waiting.participants = barrier.participants;
  waiting.arrived.push_back(processor);
  if (context_.trace() != nullptr) {
    context_.observers.trace->change(waiting_signal_, context_.clock.at(at - sync_cycles_ + 1),
                                     waiting.arrived.size() % to_size(waiting.participants));
  }
  if (count_of(waiting.arrived) < waiting.participants) return;
  for (const int p : waiting.arrived) deliveries_.push_back({at, p, {SyncDelivery::Release{}}});
  waiting_.erase(barrier.id);
  ++barriers;
}

// The order of a cycle's deliveries does not matter: processors add them up.
void SyncNetwork::deliver() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  while (!deliveries_.empty() && deliveries_.front().at <= now) {
    Delivery delivery = deliveries_.front();
    deliveries_.pop_front();
    if (std::holds_alternative<SyncDelivery::Receive>(delivery.message.content)) ++signals;
    nth(to, delivery.processor).send(delivery.message);
  }
  if (!deliveries_.empty()) notify_at(wake_, context_.clock, deliveries_.front().at);
}

std::string SyncNetwork::describe_state() const {
  std::string text;
  for (const auto& [id, waiting] : waiting_) {
    std::string names;
    for (const int p : waiting.arrived) {
      const int core = p % cluster_size_;
      names += fmt::format("{}cluster{}.{}", names.empty() ? "" : ", ", p / cluster_size_,
                           core == cluster_size_ - 1 ? "memory" : fmt::format("core{}", core));
    }
    text += fmt::format("  barrier {}: {} of {} arrived: {}\n", id, waiting.arrived.size(),
                        waiting.participants, names);
  }
  return text;
}

}  // namespace tilebeat
