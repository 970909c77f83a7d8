#include "planner/layer/choose_layer.h"
#include "planner/layer/estimate.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <future>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr double kWorthALook = 1.5;    // factor on the best rough estimate
constexpr std::size_t kKinds = 8;      // kinds per number of cores, with three candidates each
constexpr std::size_t kCounts = 6;     // numbers of cores, besides powers of two
constexpr std::size_t kBestKinds = 8;  // all of whose candidates are looked at
constexpr double kAsGood = 1.1;        // factor on the best estimate up to which a kind may become the best
constexpr std::size_t kBatch = 4;  // candidates that are estimated with the same limits, on several threads

// Candidates of one kind differ in the sizes of tiles and loads.
using Kind = std::tuple<int, int, int, int, DataPath, DataPath, DataPath>;
Kind kind_of(const LayerMapping& m) {
  return {m.row_parts, m.column_parts, m.kernel_parts, m.image_parts, m.maps, m.kernels, m.results};
}

// The hardware that a mapping occupies: number of cores, and whether it uses memory cores. The lesser effort
// is preferred.
using Effort = std::pair<int, bool>;
Effort effort_of(const LayerMapping& m) {
  return {m.cores(), m.uses_memory_cores()};
}

int tile_size(const LayerMapping& m) {
  return m.tile_rows * m.tile_columns;
}

class Chooser {
 public:
  explicit Chooser(const MappingQuestion& question)
      : q_(question), candidates_(mapping_candidates(question)) {}

  ChosenMapping run(const LayerTrial& trial) {
    several_tried_ = static_cast<bool>(trial);
    look_at(representatives(), &Chooser::limit_among_kinds);
    const std::set<Kind> best_kinds = kinds_of_best();
    std::vector<const MappingCandidate*> of_best_kinds;
    for (const MappingCandidate& candidate : candidates_) {
      if (best_kinds.count(kind_of(candidate.mapping)) > 0) of_best_kinds.push_back(&candidate);
    }
    look_at(of_best_kinds, &Chooser::limit_of_choice);
    if (estimates_.empty() && failure_.empty()) return {{}, "", kNever};
    if (estimates_.empty()) throw UserError(failure_);
    const Estimate chosen = fewest_cores();
    const std::string estimated =
        fmt::format("{} of {} mappings estimated, ", looked_at_.size(), candidates_.size());
    if (trial) {
      if (const auto fastest = fastest_of(chosen, trial)) {
        return {fastest->candidate->mapping,
                fmt::format("{}{} simulated, this one took {:.0f} cycles by itself", estimated, tried_,
                            fastest->cycles),
                fastest->cycles, true};
      }
    }
    return {chosen.candidate->mapping,
            fmt::format("{}this one at {:.0f} cycles{}{}", estimated, chosen.cycles,
                        q_.kernels_loaded ? " when kernels are loaded before" : "", least()),
            chosen.cycles};
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  struct Estimate {
    const MappingCandidate* candidate = nullptr;
    double cycles = 0;
  };
  // The result of looking at a candidate.
  struct Look {
    const MappingCandidate* candidate = nullptr;
    double limit = kNever;   // cycles above which the candidate does not matter
    double cycles = kNever;  // estimate; kNever above the limit
    std::string failure = {};
  };

  // For several numbers of cores, and for each kind: the best candidate by the formula, the one with the
  // fewest tiles, and one with tiles of half the size.
  std::vector<const MappingCandidate*> representatives() const {
    const double limit = kWorthALook * candidates_.front().rough;
    using Members = std::vector<const MappingCandidate*>;
    std::map<int, std::vector<Members>> of_cores;  // by cores, then kind; the best by the formula first
    std::vector<int> counts;                       // numbers of cores, the best by the formula first
    std::map<Kind, std::size_t> kinds;             // index of each kind's members
    for (const MappingCandidate& c : candidates_) {
      if (c.other_loads) continue;
      const int cores = c.mapping.cores();
      if (of_cores.count(cores) == 0) {
        if (c.rough > limit) break;
        counts.push_back(cores);
      }
      auto& some = of_cores[cores];
      auto known = kinds.find(kind_of(c.mapping));
      if (known == kinds.end()) {
        if (some.size() == kKinds) continue;
        known = kinds.emplace(kind_of(c.mapping), some.size()).first;
        some.emplace_back();
      }
      some[known->second].push_back(&c);
    }
    std::vector<const MappingCandidate*> chosen;
    std::size_t others = 0;
    for (const int cores : counts) {
      const bool power_of_two = (cores & (cores - 1)) == 0;
      if (!power_of_two && ++others > kCounts) continue;
      for (const Members& members : of_cores[cores]) {
        const auto largest = *std::max_element(members.begin(), members.end(), smaller_tiles);
        const int half = tile_size(largest->mapping) / 2;
        const auto nearest =
            *std::min_element(members.begin(), members.end(), [&](const auto* a, const auto* b) {
              return std::abs(tile_size(a->mapping) - half) < std::abs(tile_size(b->mapping) - half);
            });
        chosen.insert(chosen.end(), {members.front(), largest, nearest});
      }
    }
    add_direct(chosen);
    return chosen;
  }
  static bool smaller_tiles(const MappingCandidate* a, const MappingCandidate* b) {
    return tile_size(a->mapping) < tile_size(b->mapping);
  }

  // The formula ignores the latency of the SRAM path in short layers: adds the best direct candidate of the
  // same split.
  void add_direct(std::vector<const MappingCandidate*>& chosen) const {
    std::map<Kind, const MappingCandidate*> best;
    for (const MappingCandidate& c : candidates_) {
      if (!c.other_loads && !c.mapping.uses_memory_cores()) best.try_emplace(kind_of(c.mapping), &c);
    }
    std::set<const MappingCandidate*> added;
    for (std::size_t i = 0, end = chosen.size(); i < end; ++i) {
      LayerMapping direct = chosen[i]->mapping;
      direct.maps = direct.kernels = direct.results = DataPath::kDirect;
      const auto found = best.find(kind_of(direct));
      if (found != best.end() && added.insert(found->second).second) chosen.push_back(found->second);
    }
  }

  // Estimates the candidates; one that exceeds its limit is given up. Limits depend only on the batches
  // before, so that the result does not depend on which thread estimates a candidate first.
  using Limit = double (Chooser::*)(const LayerMapping&) const;
  void look_at(const std::vector<const MappingCandidate*>& candidates, Limit limit) {
    std::vector<Look> looks;
    for (const MappingCandidate* candidate : candidates) {
      if (looked_at_.insert(candidate).second) looks.push_back({candidate});
    }
    std::vector<Look*> order;
    for (Look& look : looks) order.push_back(&look);
    if (!several_tried_) {  // the most promising ones first, for low limits
      std::stable_sort(order.begin(), order.end(), [](const Look* a, const Look* b) {
        return a->candidate->rough < b->candidate->rough;
      });
    }
    for (std::size_t first = 0; first < order.size(); first += kBatch) {
      const std::size_t end = std::min(order.size(), first + kBatch);
      for (std::size_t i = first; i < end; ++i)
        order[i]->limit = (this->*limit)(order[i]->candidate->mapping);
      look_at_batch(order, {first, end});
      for (std::size_t i = first; i < end; ++i) remember(*order[i]);
    }
    for (const Look& look : looks) {
      if (!look.failure.empty()) failure_ = look.failure;
      if (look.cycles != kNever) estimates_.push_back({look.candidate, look.cycles});
    }
  }
  void look_at_batch(const std::vector<Look*>& order, std::pair<std::size_t, std::size_t> batch) {
    std::atomic<std::size_t> next = batch.first;
    const auto take_looks = [&](TaskGraph& graph) {
      for (std::size_t i = next++; i < batch.second; i = next++) look(*order[i], graph);
    };
    std::vector<std::future<void>> others;
    for (std::size_t t = 1; t < std::min<std::size_t>(threads_, batch.second - batch.first); ++t) {
      try {
        others.push_back(std::async(std::launch::async, [&, t] { take_looks(graphs_[t]); }));
      } catch (const std::system_error&) {
        break;  // the machine has no further thread: those that there are look at everything
      }
    }
    take_looks(graphs_.front());
    for (std::future<void>& other : others) other.get();
  }
  void look(Look& look, TaskGraph& graph) const {
    constexpr double kRounded = 1 + 1e-9;
    try {
      look.cycles = estimated_cycles(q_, look.candidate->mapping, graph, kRounded * look.limit);
    } catch (const UserError& error) {
      look.failure = error.what();
    }
  }
  void remember(const Look& look) {
    if (look.cycles == kNever) return;
    const LayerMapping& m = look.candidate->mapping;
    best_ = std::min(best_, look.cycles);
    take_least(of_kinds_, kind_of(m), look.cycles), take_least(of_efforts_, effort_of(m), look.cycles);
  }
  template <class Key>
  static void take_least(std::map<Key, double>& least, const Key& key, double cycles) {
    double& known = least.try_emplace(key, cycles).first->second;
    known = std::min(known, cycles);
  }

  // The limit of a representative: it only counts when it takes fewer cycles than the others of its kind.
  double limit_among_kinds(const LayerMapping& m) const {
    if (cannot_pay_off(m)) return 0;
    const auto of_kind = of_kinds_.find(kind_of(m));
    const double limit = std::min(q_.most_cycles, kAsGood * best_);
    if (several_tried_ || of_kind == of_kinds_.end()) return limit;
    return std::min(limit, of_kind->second);
  }
  // The limit of a candidate that is chosen only if it is about as good as the best and beats all candidates
  // with no more effort (fewest_cores).
  double limit_of_choice(const LayerMapping& m) const {
    if (several_tried_) return kAsGood * best_;
    if (cannot_pay_off(m)) return 0;
    double limit = std::min(q_.most_cycles, std::max(best_ / kClearlyFaster, best_ + kClearlyFewer));
    for (auto known = of_efforts_.begin(); known != of_efforts_.end() && known->first <= effort_of(m);
         ++known)
      limit = std::min(limit, known->second);
    return limit;
  }

  // Whether a mapping with no more effort is as good as any.
  bool cannot_pay_off(const LayerMapping& m) const {
    if (several_tried_) return false;
    return std::any_of(of_efforts_.begin(), of_efforts_.end(), [&](const auto& known) {
      return known.first <= effort_of(m) && q_.is_good_enough(known.second);
    });
  }

  std::set<Kind> kinds_of_best() {
    std::stable_sort(estimates_.begin(), estimates_.end(),
                     [](const Estimate& a, const Estimate& b) { return a.cycles < b.cycles; });
    std::set<Kind> kinds;
    for (const Estimate& e : estimates_) {
      if (e.cycles > kAsGood * best_ || kinds.size() == kBestKinds) break;
      kinds.insert(kind_of(e.candidate->mapping));
    }
    return kinds;
  }

  // Why the search ended early, as text; empty: it did not.
  std::string least() const {
    if (several_tried_ || !q_.is_good_enough(best_)) return "";
    return fmt::format("; no mapping takes less than {:.0f}", q_.least_cycles);
  }

  // The cheapest effort (few cores first, no memory cores first) whose estimate is about as good as the best.
  const Estimate& fewest_cores() {
    const auto cost = [](const Estimate& e) { return std::pair(effort_of(e.candidate->mapping), e.cycles); };
    std::stable_sort(estimates_.begin(), estimates_.end(),
                     [&](const Estimate& a, const Estimate& b) { return cost(a) < cost(b); });
    return *std::find_if(estimates_.begin(), estimates_.end(), [&](const Estimate& e) {
      return e.cycles * kClearlyFaster <= best_ || e.cycles - kClearlyFewer <= best_;
    });
  }

  // The fastest mapping in simulation, of `first` and those with the best estimates.
  std::optional<Estimate> fastest_of(const Estimate& first, const LayerTrial& trial) {
    std::stable_sort(estimates_.begin(), estimates_.end(),
                     [](const Estimate& a, const Estimate& b) { return a.cycles < b.cycles; });
    std::vector<const MappingCandidate*> tries{first.candidate};
    for (const Estimate& e : estimates_) {
      if (count_of(tries) == q_.hardware.planner.search.value_or(0)) break;
      if (e.candidate != first.candidate) tries.push_back(e.candidate);
    }
    std::optional<Estimate> fastest;
    for (const MappingCandidate* candidate : tries) {
      const std::optional<Cycle> cycles = trial(candidate->mapping);
      if (!cycles) continue;
      ++tried_;
      if (!fastest || static_cast<double>(*cycles) < fastest->cycles)
        fastest = Estimate{candidate, static_cast<double>(*cycles)};
    }
    return fastest;
  }

  const MappingQuestion& q_;
  const unsigned threads_ = std::thread::hardware_concurrency();
  std::vector<MappingCandidate> candidates_;
  std::array<TaskGraph, kBatch> graphs_;  // by thread: the mapping being estimated
  std::set<const MappingCandidate*> looked_at_;
  std::vector<Estimate> estimates_;
  std::map<Kind, double> of_kinds_;      // least cycles of each kind
  std::map<Effort, double> of_efforts_;  // least cycles of each effort
  double best_ = kNever;                 // cycles
  bool several_tried_ = false;           // several estimates matter: the best are tried
  int tried_ = 0;
  std::string failure_;
};

}  // namespace

ChosenMapping choose_mapping(const MappingQuestion& question, const LayerTrial& trial) {
  return Chooser(question).run(trial);
}

}  // namespace tilebeat
