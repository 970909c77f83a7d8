#include "base/types.h"
#include "planner/schedule/schedule.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using UnitPlace = std::pair<int, Unit>;  // a unit of a processor
constexpr std::size_t kMostTokens = Semaphores{}.size();

// An event of a task that gives tokens.
struct Giver {
  int task = 0;
  TaskEvent event = TaskEvent::kDone;
  friend bool operator<(const Giver& a, const Giver& b) {
    return std::tie(a.task, a.event) < std::tie(b.task, b.event);
  }
};

// The unused semaphores of one processor, by stall cause.
class FreeSemaphores {
 public:
  FreeSemaphores() {
    for (int s = kSemaphores - 1; s > 0; --s)
      free_[semaphore_activity(static_cast<Semaphore>(s))].push_back(static_cast<Semaphore>(s));
  }
  bool has(Activity cause, Semaphore s) const {
    const auto found = free_.find(cause);
    return found != free_.end() && std::count(found->second.begin(), found->second.end(), s) > 0;
  }
  void take(Activity cause, Semaphore s) {
    auto& list = free_.at(cause);
    list.erase(std::find(list.begin(), list.end(), s));
  }
  // The free semaphores of a cause in the order in which they are given out, followed by those of other
  // causes.
  std::vector<std::pair<Activity, Semaphore>> candidates(Activity cause) const {
    std::vector<std::pair<Activity, Semaphore>> all;
    const auto add = [&](Activity activity) {
      const auto found = free_.find(activity);
      if (found == free_.end()) return;
      for (auto s = found->second.rbegin(); s != found->second.rend(); ++s) all.emplace_back(activity, *s);
    };
    add(cause);
    for (const auto& [activity, list] : free_) {
      if (activity != cause) add(activity);
    }
    return all;
  }

 private:
  std::map<Activity, std::vector<Semaphore>> free_;
};

// Whether a token goes to a task, or to the signals that join tokens when there are more than an instruction
// can wait for. Signals take tokens ahead of the unit, so a semaphore used by both could give one the other's
// tokens.
enum class Way : std::uint8_t { kDirect, kJoined };

class Synchroniser {
 public:
  Synchroniser(const TaskGraph& graph, const std::vector<Dependency>& dependencies, const Schedule& schedule,
               int cluster_size)
      : tasks_(graph.tasks()), schedule_(schedule), cluster_size_(cluster_size), items_(tasks_.size()) {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      items_[i].processor = tasks_[i].processor;
      items_[i].instruction = tasks_[i].instruction;
      items_[i].time = schedule.start[i];
    }
    order_tasks(dependencies);
    reduce(dependencies);
  }

  std::map<int, std::vector<Instruction>> run() {
    for (const int task : by_rank_) receive(task);
    for (const auto& [giver, signals] : remote_) pass_on(giver, signals);
    for (const auto& [giver, tokens] : tokens_) give(giver, tokens);
    for (const int task : by_rank_) wait(to_size(task));
    return emit();
  }

 private:
  // An instruction of a program: of a task, or a signal that passes tokens on.
  struct Item {
    int processor = 0;
    Instruction instruction;
    double time = 0;
    std::vector<Semaphore> waits;
    std::vector<std::size_t> before;  // items that must stand in front of it
    int for_rank = -1;                // rank of the task whose tokens it passes on; -1: it is itself a task
  };
  using Destination = std::pair<int, Semaphore>;  // a cluster, and the semaphore on its processors
  // A signal to other processors, and the tasks that wait for it.
  struct Remote {
    Signal signal;
    std::vector<std::size_t> takers;
  };

  UnitPlace place_of(int task) const {
    const Task& t = nth(tasks_, task);
    return {t.processor, t.unit()};
  }
  double time_of(const Giver& giver) const {
    const auto task = to_size(giver.task);
    return giver.event == TaskEvent::kDone ? schedule_.done[task] : schedule_.end[task];
  }
  int rank(int task) const { return nth(rank_, task); }

  // ---- order, and reduced dependencies ----

  // Orders items by time, each behind the items that must precede it.
  std::vector<std::size_t> ordered() const {
    std::vector<std::vector<std::size_t>> behind(items_.size());
    std::vector<int> left(items_.size(), 0);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      for (const std::size_t before : items_[i].before) behind[before].push_back(i), ++left[i];
    }
    using Entry = std::pair<double, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (left[i] == 0) ready.push({items_[i].time, i});
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      const std::size_t i = ready.top().second;
      ready.pop();
      order.push_back(i);
      for (const std::size_t next : behind[i]) {
        if (--left[next] == 0) ready.push({items_[next].time, next});
      }
    }
    if (order.size() != items_.size()) throw SimulationError("task graph: its dependencies have a cycle");
    return order;
  }

  void order_tasks(const std::vector<Dependency>& dependencies) {
    for (const Dependency& d : dependencies) nth(items_, d.to).before.push_back(to_size(d.from));
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].unit() == Unit::kSync)
        throw SimulationError(fmt::format("task graph: task {} is one of the decoder, not of a unit", i));
    }
    // A matrix unit accumulates sums from task to task, so its tasks keep the order of the graph.
    std::map<int, std::size_t> last_matrix;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].unit() == Unit::kMatrix) keep_order(last_matrix, tasks_[i].processor, i);
    }
    rank_.resize(tasks_.size());
    std::map<UnitPlace, std::size_t> last;
    for (const std::size_t task : ordered()) {
      rank_[task] = count_of(by_rank_);
      by_rank_.push_back(to_int(task));
      keep_order(last, place_of(to_int(task)), task);
    }
  }
  // Keeps items of one key in the order in which they are added.
  template <class Key>
  void keep_order(std::map<Key, std::size_t>& last, const Key& key, std::size_t item) {
    const auto [found, first] = last.try_emplace(key, item);
    if (!first) items_[item].before.push_back(std::exchange(found->second, item));
  }

  // Keeps only the last dependency of a task on each unit, and only if no earlier task of its unit has waited
  // for it: the tasks of a unit end in their order. Setups of a matrix unit do not: they end while the run
  // before them still writes. Only the unit itself waits for them, so that its waits are told apart by
  // operation.
  void reduce(const std::vector<Dependency>& dependencies) {
    std::vector<std::vector<Dependency>> of(tasks_.size());
    for (const Dependency& d : dependencies) nth(of, d.to).push_back(d);
    using From = std::tuple<UnitPlace, TaskEvent, std::uint8_t>;
    const auto from_of = [this](const Dependency& d, TaskEvent event) -> From {
      const bool itself = place_of(d.from) == place_of(d.to);
      return {place_of(d.from), event,
              itself ? nth(tasks_, d.from).instruction.operation.type().opcode() : std::uint8_t{0}};
    };
    std::map<std::pair<From, UnitPlace>, int> waited;  // highest rank waited for
    kept_.resize(tasks_.size());
    for (const int to : by_rank_) {
      std::map<From, Dependency> last;
      for (const Dependency& d : nth(of, to)) {
        const auto [found, added] = last.try_emplace(from_of(d, d.event), d);
        if (!added && rank(d.from) > rank(found->second.from)) found->second = d;
      }
      for (const auto& [key, d] : last) {
        int& highest = waited.try_emplace({key, place_of(to)}, -1).first->second;
        const auto done = waited.find({from_of(d, TaskEvent::kDone), place_of(to)});
        const int known = done == waited.end() ? highest : std::max(highest, done->second);
        if (rank(d.from) <= known) continue;
        highest = rank(d.from);
        nth(kept_, to).push_back(d);
      }
    }
  }

  // ---- semaphores ----

  // Every pair of units has a semaphore of its own for each event and cause.
  using LocalKey = std::tuple<UnitPlace, TaskEvent, UnitPlace, Activity, Way>;
  Semaphore local_semaphore(const LocalKey& key) {
    const auto [found, added] = local_numbers_.try_emplace(key, Semaphore{0});
    if (added) found->second = allocate({std::get<0>(key).first}, std::get<Activity>(key));
    return found->second;
  }
  // The semaphore by which an event of a unit reaches a unit of a cluster's processors: the same on all of
  // them.
  Semaphore remote_semaphore(const UnitPlace& from, TaskEvent event, int cluster, Unit to, Activity cause,
                             Way way) {
    const auto [found, added] =
        remote_numbers_.try_emplace({from, event, cluster, to, cause, way}, Semaphore{0});
    if (added) {
      std::vector<int> others;
      const int first = cluster * cluster_size_;
      for (int p = first; p < first + cluster_size_; ++p) {
        if (p != from.first) others.push_back(p);
      }
      found->second = allocate(others, cause);
    }
    return found->second;
  }
  // A semaphore that no processor of `processors` uses.
  Semaphore allocate(const std::vector<int>& processors, Activity cause) {
    for (const auto& [activity, s] : free_[processors.front()].candidates(cause)) {
      const bool everywhere = std::all_of(processors.begin(), processors.end(),
                                          [&, a = activity, n = s](int p) { return free_[p].has(a, n); });
      if (!everywhere) continue;
      for (const int p : processors) free_[p].take(activity, s);
      return s;
    }
    throw SimulationError(
        fmt::format("task graph: a processor needs more than {} semaphores", kSemaphores - 1));
  }

  // ---- tokens ----

  // Registers the semaphores that a task waits for with the events that give them.
  void receive(int task) {
    std::vector<Dependency>& kept = nth(kept_, task);
    const std::size_t joined = joined_of(kept.size());
    if (joined > 0) {  // the earliest first, because a waiting signal blocks the signals behind it
      std::stable_sort(kept.begin(), kept.end(), [this](const Dependency& a, const Dependency& b) {
        return time_of({a.from, a.event}) < time_of({b.from, b.event});
      });
    }
    const UnitPlace to = place_of(task);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const Dependency& d = kept[i];
      const Way way = i < joined ? Way::kJoined : Way::kDirect;
      const Giver giver{d.from, d.event};
      const UnitPlace from = place_of(d.from);
      Semaphore s = 0;
      if (from.first == to.first) {
        s = local_semaphore({from, d.event, to, d.cause, way});
        tokens_[giver].push_back(s);
        takers_[giver].push_back(to_size(task));
      } else {
        const int cluster = to.first / cluster_size_;
        s = remote_semaphore(from, d.event, cluster, to.second, d.cause, way);
        Remote& remote = remote_[giver][{cluster, s}];
        remote.signal.semaphore = s;
        set_field(remote.signal.cluster_distance, cluster - from.first / cluster_size_);
        remote.signal.processors |= std::uint64_t{1} << (to.first % cluster_size_);
        remote.takers.push_back(to_size(task));
      }
      nth(items_, task).waits.push_back(s);
    }
  }

  // Adds the signals of an event to other processors: one for all processors of a cluster that wait with the
  // same semaphore.
  void pass_on(const Giver& giver, const std::map<Destination, Remote>& remotes) {
    const UnitPlace from = place_of(giver.task);
    for (const auto& [destination, remote] : remotes) {
      const Semaphore token =
          local_semaphore({from, giver.event, {from.first, Unit::kSync}, Activity::kNoWork, Way::kDirect});
      tokens_[giver].push_back(token);
      const std::size_t item = add_signal(giver, token, remote.signal);
      signals_[giver].push_back(item);
      for (const std::size_t taker : remote.takers) items_[taker].before.push_back(item);
    }
  }
  std::size_t add_signal(const Giver& giver, Semaphore token, const Signal& signal) {
    Item item;
    item.processor = nth(tasks_, giver.task).processor;
    item.instruction.operation = signal;
    item.instruction.waits[0] = token;
    item.time = time_of(giver);
    item.before.push_back(to_size(giver.task));
    item.for_rank = rank(giver.task);
    items_.push_back(std::move(item));
    return items_.size() - 1;
  }

  // Puts the tokens of an event into its instruction. Excess tokens go to signals behind it that give nothing
  // to others and precede every instruction that waits for the event.
  void give(const Giver& giver, const std::vector<Semaphore>& tokens) {
    auto item = to_size(giver.task);
    bool task = true;
    for (std::size_t next = 0; next < tokens.size();) {
      Instruction& instruction = items_[item].instruction;
      Semaphores& fields = task && giver.event == TaskEvent::kReleased ? instruction.release_signals
                                                                       : instruction.done_signals;
      const std::size_t left = tokens.size() - next;
      const std::size_t room = left > kMostTokens ? kMostTokens - 1 : left;
      for (std::size_t i = 0; i < room; ++i) fields[i] = tokens[next++];
      if (next == tokens.size()) break;
      const UnitPlace from = place_of(giver.task);
      const int depth = count_of(relays_[giver]);
      const auto [relay, added] = relay_numbers_.try_emplace({from, giver.event, depth}, Semaphore{0});
      if (added) relay->second = allocate({from.first}, Activity::kNoWork);
      fields[room] = relay->second;
      item = add_signal(giver, relay->second, Signal{});
      task = false;
      relays_[giver].push_back(item);
      for (const std::size_t taker : takers_[giver]) items_[taker].before.push_back(item);
    }
  }

  // Number of a task's tokens that signals in front of it join into one.
  static std::size_t joined_of(std::size_t waits) {
    return waits > kMostTokens ? waits - (kMostTokens - 1) : 0;
  }

  // Puts the semaphores that a task waits for into its instruction. Each join also waits for the previous
  // join.
  void wait(std::size_t number) {
    const std::vector<Semaphore> waits = items_[number].waits;
    const std::size_t joined = joined_of(waits.size());
    const UnitPlace to = place_of(to_int(number));
    Semaphore before = 0;
    std::size_t next = 0;
    for (int join = 0; next < joined; ++join) {
      Item item;
      item.processor = to.first;
      item.instruction.operation = Signal{};
      std::size_t taken = 0;
      if (before != 0) item.instruction.waits[taken++] = before;
      while (taken < kMostTokens && next < joined) item.instruction.waits[taken++] = waits[next++];
      const auto [found, added] = join_numbers_.try_emplace({to, join, next == joined}, Semaphore{0});
      if (added) found->second = allocate({to.first}, semaphore_activity(waits.front()));
      before = item.instruction.done_signals[0] = found->second;
      item.time = items_[number].time;
      item.before = items_[number].before;
      item.for_rank = rank(to_int(number));
      items_.push_back(std::move(item));
      items_[number].before.push_back(items_.size() - 1);
    }
    Semaphores& fields = items_[number].instruction.waits;
    const auto end = std::copy(waits.begin() + to_signed(joined), waits.end(), fields.begin());
    if (before != 0) *end = before;
  }

  // ---- programs ----

  std::map<int, std::vector<Instruction>> emit() {
    // The signals of one unit also take its tokens in order.
    std::map<std::pair<UnitPlace, TaskEvent>, std::size_t> last;
    for (const int task : by_rank_) {
      for (const TaskEvent event : {TaskEvent::kReleased, TaskEvent::kDone}) {
        for (const auto* items : {&relays_, &signals_}) {
          const auto found = items->find({task, event});
          if (found == items->end()) continue;
          for (const std::size_t item : found->second) keep_order(last, {place_of(task), event}, item);
        }
      }
    }
    std::map<int, std::vector<Instruction>> programs;
    for (const std::size_t i : ordered()) programs[items_[i].processor].push_back(items_[i].instruction);
    return programs;
  }

  const std::vector<Task>& tasks_;
  const Schedule& schedule_;
  int cluster_size_;
  std::vector<Item> items_;  // the tasks', then signals
  std::vector<int> rank_, by_rank_;
  std::vector<std::vector<Dependency>> kept_;  // by waiting task
  std::map<Giver, std::vector<Semaphore>> tokens_;
  std::map<Giver, std::vector<std::size_t>> takers_, relays_, signals_;
  std::map<Giver, std::map<Destination, Remote>> remote_;
  std::map<LocalKey, Semaphore> local_numbers_;
  std::map<std::tuple<UnitPlace, TaskEvent, int, Unit, Activity, Way>, Semaphore> remote_numbers_;
  std::map<std::tuple<UnitPlace, TaskEvent, int>, Semaphore> relay_numbers_;
  // By destination unit, number of the join of a task, and whether it is the last join of the task.
  std::map<std::tuple<UnitPlace, int, bool>, Semaphore> join_numbers_;
  std::map<int, FreeSemaphores> free_;
};

}  // namespace

std::map<int, std::vector<Instruction>> synchronise(const TaskGraph& graph,
                                                    const std::vector<Dependency>& dependencies,
                                                    const Schedule& schedule, int cluster_size) {
  return Synchroniser(graph, dependencies, schedule, cluster_size).run();
}

}  // namespace tilebeat
