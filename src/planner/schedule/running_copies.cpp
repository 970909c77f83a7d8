#include "planner/schedule/running_copies.h"

#include "base/types.h"

#include <algorithm>

namespace tilebeat {
namespace {

constexpr double kNoneEnds = std::numeric_limits<double>::max();

// Number of a direction of a cluster's SRAM.
std::size_t reading(int cluster) {
  return 2 * to_size(cluster);
}
std::size_t writing(int cluster) {
  return 2 * to_size(cluster) + 1;
}

}  // namespace

RunningCopies::RunningCopies(const Machine& machine, double dram_rate)
    : controllers_(to_size(machine.controllers)),
      dram_rate_(dram_rate),
      sram_rate_(machine.sram_bytes_per_clock) {}

void RunningCopies::start(int task, const TaskCost& cost) {
  constexpr double kRequest = 1024;
  const bool dram = cost.dram_bytes > 0;
  const double bytes = dram ? cost.dram_bytes : cost.sram_bytes;
  Flow flow{task,
            dram,
            bytes,
            bytes / std::max(cost.cycles, 1.0),
            cost.dram_request > 0 ? cost.dram_request : kRequest,
            0,
            0,
            cost.sram_bytes / bytes,
            cost.sram_read,
            cost.sram_write};
  flow.rate = flow.most = flow.fastest;
  if (dram) flow.parts = parts_by_controller(cost);
  flows_.push_back(std::move(flow));
  changed(flows_.back());
}

void RunningCopies::fetch(double bytes, int processors, double cycles) {
  constexpr double kRequest = 256, kUnderWay = 2,
                   kRoundTrip = 64;  // bytes, requests and cycles of a processor
  TaskCost cost;
  cost.dram_bytes = bytes;
  cost.dram_request = kRequest * processors;
  cost.cycles = std::max(cycles, bytes / (kUnderWay * kRequest / kRoundTrip * processors));
  start(kFetch, cost);
}

void RunningCopies::changed(const Flow& flow) {
  if (flow.dram) dram_shared_ = false;
  if (flow.sram_bytes > 0) srams_shared_ = false;
}

double RunningCopies::least_cycles() {
  if (flows_.size() == 1 && flows_.front().task == kFetch) return kNoneEnds;
  share();
  double least = kNoneEnds;
  for (const Flow& flow : flows_) least = std::min(least, flow.left / flow.rate);
  return least;
}

double RunningCopies::advance(double cycles) {
  double moved = 0;
  for (Flow& flow : flows_) {
    const double bytes = flow.rate * cycles;
    flow.left -= bytes;
    if (flow.dram && flow.task != kFetch) moved += bytes;
  }
  return moved;
}

std::vector<double> RunningCopies::parts_by_controller(const TaskCost& cost) const {
  const auto controllers = to_signed(controllers_);
  if (controllers == 1 || cost.dram_parts == 0 || cost.dram_parts >= 2 * controllers) return {};
  std::vector<double> parts(controllers_, 0);
  for (std::int64_t i = 0; i < cost.dram_parts; ++i)
    nth(parts, (cost.dram_part + i) % controllers) += 1 / static_cast<double>(cost.dram_parts);
  return parts;
}

void RunningCopies::share() {
  if (!srams_shared_) share_srams();
  if (!dram_shared_) share_dram();
  dram_shared_ = srams_shared_ = true;
}

// Finds what the SRAMs leave of the rates of ports. A copy that DRAM holds back keeps its share of an SRAM.
void RunningCopies::share_srams() {
  demand_.clear();
  const auto add = [&](std::size_t direction, double bytes) {
    if (direction >= demand_.size()) demand_.resize(direction + 1, 0);
    demand_[direction] += bytes;
  };
  for (Flow& flow : flows_) {
    if (flow.most != flow.fastest && flow.dram) dram_shared_ = false;
    flow.most = flow.fastest;
    if (!flow.dram) flow.rate = flow.fastest;
    if (flow.sram_read >= 0) add(reading(flow.sram_read), flow.fastest * flow.sram_bytes);
    if (flow.sram_write >= 0) add(writing(flow.sram_write), flow.fastest * flow.sram_bytes);
  }
  for (std::size_t direction = 0; direction < demand_.size(); ++direction) {
    if (demand_[direction] > sram_rate_) share_sram(direction);
  }
}

// All flows in a direction of an SRAM get equally many bytes a cycle, but no more than their ports carry.
void RunningCopies::share_sram(std::size_t direction) {
  open_.clear();
  for (Flow& flow : flows_) {
    const bool reads = flow.sram_read >= 0 && reading(flow.sram_read) == direction;
    const bool writes = flow.sram_write >= 0 && writing(flow.sram_write) == direction;
    if (reads || writes) open_.push_back(&flow);
  }
  std::sort(open_.begin(), open_.end(), [](const Flow* a, const Flow* b) {
    const double of_a = a->fastest * a->sram_bytes, of_b = b->fastest * b->sram_bytes;
    return of_a < of_b || (of_a == of_b && a->task < b->task);
  });
  double left = sram_rate_;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    Flow& flow = *open_[i];
    const double share = left / static_cast<double>(open_.size() - i);
    const double taken = std::min(share, flow.fastest * flow.sram_bytes);
    left -= taken;
    flow.most = std::min(flow.most, taken / flow.sram_bytes);
    if (flow.dram)
      dram_shared_ = false;
    else
      flow.rate = flow.most;
  }
}

// Every flow gets equally many requests of a controller, but no more bytes than its ports and the SRAMs carry
// or than its slowest controller allows: all rates rise together until one of these limits holds.
void RunningCopies::share_dram() {
  std::vector<Flow*>& open = open_;
  open.clear();
  for (Flow& flow : flows_) {
    if (flow.dram) open.push_back(&flow);
  }
  std::sort(open.begin(), open.end(),
            [](const Flow* a, const Flow* b) { return a->most / a->weight < b->most / b->weight; });
  const std::size_t controllers =
      std::all_of(open.begin(), open.end(), [](const Flow* flow) { return flow->parts.empty(); })
          ? 1
          : controllers_;
  const auto part = [&](const Flow& flow, std::size_t c) {
    return flow.parts.empty() ? 1 / static_cast<double>(controllers) : flow.parts[c];
  };
  // Unassigned bytes a cycle; and the bytes of one request of every open flow.
  std::vector<double>&left = left_, &wanted = wanted_;
  left.assign(controllers, dram_rate_ / static_cast<double>(controllers)), wanted.assign(controllers, 0);
  for (const Flow* flow : open) {
    for (std::size_t c = 0; c < controllers; ++c) wanted[c] += flow->weight * part(*flow, c);
  }
  const auto settle = [&](Flow& flow, double rate) {
    flow.rate = rate;
    for (std::size_t c = 0; c < controllers; ++c)
      left[c] -= rate * part(flow, c), wanted[c] -= flow.weight * part(flow, c);
  };
  constexpr double kNothing = 1e-9;
  while (!open.empty()) {
    std::size_t slowest = 0;
    double requests = kNoneEnds;
    for (std::size_t c = 0; c < controllers; ++c) {
      if (wanted[c] > kNothing && left[c] / wanted[c] < requests) requests = left[c] / wanted[c], slowest = c;
    }
    const auto faster = std::find_if(open.begin(), open.end(),
                                     [&](const Flow* flow) { return flow->most > requests * flow->weight; });
    if (faster != open.begin()) {  // ports and SRAMs hold them back
      for (auto flow = open.begin(); flow != faster; ++flow) settle(**flow, (*flow)->most);
      open.erase(open.begin(), faster);
      continue;
    }
    const auto others = std::stable_partition(open.begin(), open.end(),
                                              [&](const Flow* flow) { return part(*flow, slowest) > 0; });
    for (auto flow = open.begin(); flow != others; ++flow)
      settle(**flow, std::max(requests * (*flow)->weight, kNothing));
    open.erase(open.begin(), others);
  }
}

}  // namespace tilebeat
