#include "app/certificate.h"

#include "app/planning.h"
#include "app/trial.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/mapping_set.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Mappings that are simulated between two looks at the bounds, so that their number does not depend on jobs.
constexpr std::size_t kBatch = 8;

class Certifier {
 public:
  Certifier(const Workload& alone, const HardwareConfig& hardware, const CertifyOptions& options)
      : alone_(alone), hardware_(hardware), options_(options), set_(alone, hardware, kMostMappings - 1) {}

  Certificate run(const LayerMapping& chosen) {
    made_.layers = {alone_.name};
    made_.chosen = made_.best = chosen;
    const std::optional<Cycle> cycles = trial_alone(alone_, hardware_, chosen).finish();
    if (!cycles) throw SimulationError(fmt::format("layer '{}': its mapping does not fit", alone_.name));
    made_.chosen_cycles = made_.best_cycles = *cycles;
    made_.set = set_.size();
    if (set_.mappings().empty()) return std::move(made_);
    find_costs();
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      if (costs_[i])
        left.push_back(i);
      else
        ++made_.unfit;
    }
    std::stable_sort(left.begin(), left.end(), [&](std::size_t a, std::size_t b) {
      return costs_[a]->estimated < costs_[b]->estimated;
    });
    while (!left.empty() && !is_over()) simulate_next(left);
    Cycle least = made_.best_cycles;
    for (const std::size_t number : left) {
      const Cycle bound = bound_of(number);
      if (bound >= made_.best_cycles)
        ++made_.bounded;
      else
        ++made_.open, least = std::min(least, bound);
    }
    made_.least = least;
    return std::move(made_);
  }

 private:
  bool is_over() const { return options_.deadline && std::chrono::steady_clock::now() >= *options_.deadline; }
  Cycle bound_of(std::size_t number) const { return std::llround(std::ceil(costs_[number]->least)); }

  void find_costs() {
    costs_.resize(set_.mappings().size());
    std::atomic<std::size_t> next = 0;
    const auto limit = static_cast<double>(made_.chosen_cycles);
    const auto take = [&] {
      TaskGraph graph;
      for (std::size_t i = next++; i < costs_.size(); i = next++) costs_[i] = set_.cost(i, graph, limit);
    };
    std::vector<std::future<void>> others;
    for (int job = 1; job < options_.jobs; ++job) others.push_back(std::async(std::launch::async, take));
    take();
    for (std::future<void>& other : others) other.get();
  }

  // Simulates the next mappings of `left` that may be better than the best one, and drops them and those
  // between them, which cannot.
  void simulate_next(std::vector<std::size_t>& left) {
    std::vector<std::size_t> batch;
    std::size_t seen = 0;
    for (; seen < left.size() && batch.size() < kBatch; ++seen) {
      if (bound_of(left[seen]) < made_.best_cycles)
        batch.push_back(left[seen]);
      else
        ++made_.bounded;
    }
    left.erase(left.begin(), left.begin() + to_signed(seen));
    std::vector<std::optional<Cycle>> cycles(batch.size());
    std::vector<Trial> running;
    std::vector<std::size_t> numbers;  // of `running`, in the batch
    for (std::size_t next = 0; next < batch.size() || !running.empty();) {
      if (next < batch.size() && count_of(running) < options_.jobs) {
        running.push_back(trial_alone(alone_, hardware_, set_.mappings()[batch[next]]));
        numbers.push_back(next++);
        continue;
      }
      const auto ended = to_signed(Trial::first_ended(running));
      cycles[numbers[to_size(ended)]] = running[to_size(ended)].finish();
      running.erase(running.begin() + ended), numbers.erase(numbers.begin() + ended);
    }
    for (std::size_t i = 0; i < batch.size(); ++i) take(batch[i], cycles[i]);
  }

  void take(std::size_t number, std::optional<Cycle> cycles) {
    if (!cycles) {
      ++made_.unfit;
      return;
    }
    ++made_.simulated;
    if (*cycles < bound_of(number))
      throw SimulationError(fmt::format("layer '{}': a mapping takes {} cycles, its lower bound is {}: {}",
                                        alone_.name, *cycles, bound_of(number),
                                        in_words(set_.mappings()[number], *hardware_.chip)));
    if (*cycles < made_.best_cycles) made_.best_cycles = *cycles, made_.best = set_.mappings()[number];
  }

  const Workload& alone_;
  const HardwareConfig& hardware_;
  const CertifyOptions& options_;
  MappingSet set_;
  std::vector<std::optional<MappingSet::Cost>> costs_;  // by mapping of the set
  Certificate made_;
};

}  // namespace

Certificate certificate_of(const Workload& alone, const HardwareConfig& hardware,
                           const std::optional<AskedMapping>& asked, const std::string& file,
                           const CertifyOptions& options) {
  HardwareConfig by_itself = hardware;
  by_itself.fused = false;
  // Short layers are searched only by themselves: what they have in networks is certified.
  by_itself.planner.search = hardware.planner.search.value_or(0);
  if (!asked) {
    const PlannedNetwork planned = plan_workload(alone, by_itself, file);
    return Certifier(alone, by_itself, options).run(planned.mappings.front());
  }
  by_itself = with_choices(by_itself, asked->request, asked->place);
  MappingRequest request = asked->request;
  request.weight_prefetch = 0, request.weight_prefetch_during.reset();
  LayerMapping chosen;
  try {
    chosen = plan_network(alone, by_itself, {"", {request}}).mappings.front();
  } catch (const PlanError& error) {
    asked->place.fail(error.what());
  }
  return Certifier(alone, by_itself, options).run(chosen);
}

}  // namespace tilebeat
