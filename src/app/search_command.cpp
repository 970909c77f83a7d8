#include "app/command_options.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "app/progress.h"
#include "app/search_model.h"
#include "app/sweep_folder.h"
#include "planner/language/transfer.h"
#include "planner/program/planner.h"
#include "report/run_result.h"
#include "report/sweep_table.h"
#include "tilebeat/error.h"
#include "workload/workload.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kFailed = std::numeric_limits<double>::infinity();
constexpr int kLeastBatch = 4;
constexpr std::size_t kEstimatesPerRun = 64;   // at most: planning takes less than simulating
constexpr double kJouleSecond = 1e-12 * 1e-6;  // of a pJ in a us

enum class Objective { kCycles, kTime, kEnergy, kEdp, kAreaDelay };

template <class Kind, std::size_t N>
Kind kind_of(const std::string& name, const std::array<const char*, N>& names) {
  return static_cast<Kind>(std::find(names.begin(), names.end(), name) - names.begin());
}

// What a point costs by the objective; nothing where its report has no such value.
std::optional<double> cost_of(const OrderedJson& row, Objective objective) {
  switch (objective) {
    case Objective::kCycles:
      return number_in(row, "cycles");
    case Objective::kTime:
      return number_in(row, "time_us");
    case Objective::kEnergy:
      return number_in(row, "energy_pj");
    case Objective::kEdp:
      return number_in(row, "edp_joule_seconds");
    case Objective::kAreaDelay: {
      const std::optional<double> area = number_in(row, "area_mm2"), time = number_in(row, "time_us");
      if (area && time) return *area * *time;
      return {};
    }
  }
  return {};
}

// What a run is expected to take by its plan, without a simulation: energy of multiplications, DRAM's bytes
// and leakage, area without buses.
struct PointEstimate {
  double cycles = 0, time_us = 0, energy_pj = 0, area_mm2 = 0;
};

// Plans the workload, by the planner's estimates alone; nothing where it does not fit the hardware, or where
// layers have no estimate.
std::optional<PointEstimate> estimate_of(const Workload& workload, HardwareConfig hardware,
                                         const NetworkMapping& asked) {
  hardware.planner.search = 0;
  PointEstimate estimate;
  double macs = 0, bytes = 0;
  for (const LayerPlan& layer : plan_network(workload, hardware, asked).plan.layers) {
    if (layer.estimated_cycles == 0 && !layer.on_host) return {};
    estimate.cycles += static_cast<double>(layer.estimated_cycles);
    macs += static_cast<double>(layer.macs);
    bytes += static_cast<double>(layer.input_bytes + layer.kernel_bytes + layer.output_bytes);
  }
  if (estimate.cycles <= 0) return {};
  const TechnologyConfig& technology = hardware.technology;
  constexpr double kPjPerMilliwattMicrosecond = 1000;
  estimate.time_us = estimate.cycles / hardware.clock_mhz;
  estimate.area_mm2 = area_of(hardware, RunResult{}).total();
  estimate.energy_pj =
      macs * technology.mac_pj + bytes * technology.dram_pj_per_byte +
      estimate.area_mm2 * technology.leakage_mw_per_mm2 * estimate.time_us * kPjPerMilliwattMicrosecond;
  return estimate;
}

double cost_of(const PointEstimate& estimate, Objective objective) {
  switch (objective) {
    case Objective::kCycles:
      return estimate.cycles;
    case Objective::kTime:
      return estimate.time_us;
    case Objective::kEnergy:
      return estimate.energy_pj;
    case Objective::kEdp:
      return estimate.energy_pj * estimate.time_us * kJouleSecond;
    case Objective::kAreaDelay:
      return estimate.area_mm2 * estimate.time_us;
  }
  return 0;
}

// The columns of the front: what is searched for, and what it usually costs.
ParetoAxes front_of(Objective objective) {
  const bool energy = objective == Objective::kEnergy || objective == Objective::kEdp;
  if (energy) return {"energy_pj", "time_us"};
  return {objective == Objective::kCycles ? "cycles" : "time_us", "area_mm2"};
}

// The multiply-accumulates of a workload, and bytes that cross DRAM whatever the plan: kernels, and results.
// Of an input a layer may read a part, and what the host computes takes no cycles.
struct LeastWork {
  double macs = 0, bytes = 0;
};

LeastWork least_work(const Workload& workload) {
  LeastWork work;
  for (const Layer& layer : workload.layers) {
    if (std::holds_alternative<HostOperation>(layer.operation)) return {};
    const auto& outputs = workload.outputs;
    const bool is_output = std::find(outputs.begin(), outputs.end(), layer.name) != outputs.end();
    if (is_output && !std::holds_alternative<Reshape>(layer.operation))
      work.bytes += static_cast<double>(layer.output.size_bytes());
  }
  std::set<std::string> kernels;  // layers may share them
  for (const Layer& layer : workload.layers) {
    work.macs += static_cast<double>(useful_macs(workload, layer));
    const auto* conv = std::get_if<Conv2d>(&layer.operation);
    if (conv != nullptr && kernels.insert(conv->weights_source).second)
      work.bytes += static_cast<double>(conv->weights.least_bytes());
  }
  return work;
}

class Search {
 public:
  explicit Search(const SearchCommand& command)
      : command_(command),
        objective_(kind_of<Objective>(command.objective, kSearchObjectives)),
        began_(Clock::now()),
        file_(load_sweep(command.space)),
        axes_(axis_names(file_)) {
    const std::string points = command.out + "/points";
    for (SweepPoint& point : sweep_points(file_, command.space, points))
      folders_.emplace_back(points, std::move(point),
                            PointOptions{file_.check, RunGranularity::kTile, command.plan_cache});
    for (const char* name : {"/search.csv", "/search.html"}) check_not_read("--out", command.out + name);
    std::error_code error;
    fs::create_directories(command.out, error);
    if (error) throw UserError(fmt::format("--out {}: {}", command.out, error.message()));
    lock_.emplace(command.out);
  }

  // Returns the exit status, or nothing when `signal` has ended it.
  std::optional<int> run() {
    std::vector<std::size_t> sizes;
    for (const SweepAxis& axis : file_.axes) sizes.push_back(axis.choices.size());
    if (sizes.empty()) sizes.push_back(file_.points.size());
    const PointSpace space(sizes);
    const std::size_t wanted =
        command_.runs > 0 ? std::min(to_size(command_.runs), folders_.size()) : folders_.size();
    PointChoice choice(space, kind_of<SearchStrategy>(command_.strategy, kSearchStrategies),
                       to_unsigned(command_.seed), wanted, estimates(wanted));
    const std::size_t batch = to_size(std::max(kLeastBatch, jobs_of(command_.jobs)));
    while (order_.size() < wanted && !is_over()) {
      const std::vector<std::size_t> next =
          choice.next(std::min(batch, wanted - order_.size()), costs_, closed_);
      if (next.empty()) break;
      if (!run_batch(next)) return {};
      close_by_bounds(space);
    }
    complete_ = costs_.size() + closed_.size() == folders_.size();
    return write();
  }

  int signal() const { return signal_; }

 private:
  bool is_over() const { return command_.budget > 0 && Clock::now() >= deadline(); }
  Clock::time_point deadline() const {
    return began_ +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(command_.budget));
  }

  // The logarithms of what the points cost by their plans, infinite where one has none; empty: not asked for,
  // or too many points for the runs, or too little time.
  std::vector<double> estimates(std::size_t wanted) {
    const bool asked = command_.strategy == kSearchStrategies[0];
    if (!asked || folders_.size() > kEstimatesPerRun * wanted) return {};
    // Half of the budget, at most.
    const auto last = began_ + (deadline() - began_) / 2;
    std::vector<double> made;
    bool any = false;
    for (const PointFolder& folder : folders_) {
      if (command_.budget > 0 && Clock::now() >= last) return {};
      const std::optional<double> cost = estimated_cost(folder);
      any = any || cost;
      made.push_back(cost ? std::log(*cost) : kFailed);
    }
    return any ? made : std::vector<double>{};
  }
  std::optional<double> estimated_cost(const PointFolder& folder) {
    try {
      const auto& texts = folder.point().texts;
      const HardwareConfig hardware = parse_hardware(Json::parse(*texts[0]), folder.path() + "/config.json");
      const NetworkMapping asked =
          texts[2] ? parse_mapping(*texts[2], folder.path() + "/mapping.json") : NetworkMapping{};
      auto workload = workloads_.find(*texts[1]);
      if (workload == workloads_.end()) {
        folder.prepare();
        workload = workloads_.emplace(*texts[1], load_workload(folder.path() + "/workload.json")).first;
      }
      const std::optional<PointEstimate> estimate = estimate_of(workload->second, hardware, asked);
      if (estimate) return cost_of(*estimate, objective_);
    } catch (const UserError&) {  // its run says what is wrong
    }
    return {};
  }

  // False when a signal has ended it.
  bool run_batch(const std::vector<std::size_t>& batch) {
    std::vector<const PointFolder*> missing;
    for (const std::size_t point : batch) {
      folders_[point].prepare();
      if (!folders_[point].finished()) missing.push_back(&folders_[point]);
    }
    std::optional<Clock::time_point> end;
    if (command_.budget > 0) end = deadline();
    PointProgress progress("points", order_.size() + batch.size(),
                           order_.size() + batch.size() - missing.size());
    signal_ = run_points(missing, *lock_,
                         {jobs_of(command_.jobs),
                          [&](std::size_t ended, std::size_t running) { progress(ended, running); }, end});
    if (signal_ != 0) return false;
    for (const std::size_t point : batch) {
      if (!folders_[point].ended() && !folders_[point].finished()) continue;  // the budget was over
      OrderedJson row = folders_[point].row(axes_);
      const std::optional<double> cost = row["result"] == "passed" ? cost_of(row, objective_) : kFailed;
      if (!cost)
        throw UserError(fmt::format("--objective {}: reports of {} say nothing of it", command_.objective,
                                    folders_[point].path()));
      costs_[point] = *cost;
      order_.push_back(point);
      rows_.push_back(std::move(row));
      if (*cost < best_) best_ = *cost, best_point_ = point, best_after_ = order_.size();
    }
    return true;
  }

  // Closes points that cannot cost less than the best one.
  void close_by_bounds(const PointSpace& space) {
    for (std::size_t point = 0; point < space.points(); ++point) {
      if (costs_.count(point) > 0 || closed_.count(point) > 0) continue;
      if (bound_of(point) >= best_) closed_.insert(point);
    }
  }

  // A lower bound of a point's cost, without a plan; 0: there is none.
  double bound_of(std::size_t point) {
    const auto [found, added] = bounds_.try_emplace(point, 0);
    if (!added || objective_ == Objective::kAreaDelay) return found->second;
    const PointFolder& folder = folders_[point];
    try {
      const auto& texts = folder.point().texts;
      const HardwareConfig hardware = parse_hardware(Json::parse(*texts[0]), folder.path() + "/config.json");
      const LeastWork& work = work_of(folder, *texts[1]);
      const double cores = hardware.chip ? hardware.chip->cores() : 1;
      const double dram =
          (hardware.chip ? hardware.chip->memory_controllers : 1) * dram_bytes_per_clock(hardware);
      const double cycles =
          std::max(work.macs / (static_cast<double>(hardware.macs_per_clock()) * cores), work.bytes / dram);
      const double time_us = cycles / hardware.clock_mhz;
      const double pj =
          work.macs * hardware.technology.mac_pj + work.bytes * hardware.technology.dram_pj_per_byte;
      switch (objective_) {
        case Objective::kCycles:
          found->second = std::floor(cycles);
          break;
        case Objective::kTime:
          found->second = time_us;
          break;
        case Objective::kEnergy:
          found->second = pj;
          break;
        case Objective::kEdp:
          found->second = pj * time_us * kJouleSecond;
          break;
        case Objective::kAreaDelay:
          break;
      }
    } catch (const UserError&) {  // its run says what is wrong
    }
    return found->second;
  }

  const LeastWork& work_of(const PointFolder& folder, const std::string& text) {
    const auto [found, added] = works_.try_emplace(text);
    if (added) {
      folder.prepare();
      found->second = least_work(load_workload(folder.path() + "/workload.json"));
    }
    return found->second;
  }

  int write() {
    const ParetoAxes front = front_of(objective_);
    const SweepTable table{file_.name, axes_, rows_};
    OutputFiles files;
    const std::string csv = command_.out + "/search.csv", page = command_.out + "/search.html";
    files.write(csv, sweep_csv(table, front));
    files.write(page, sweep_page(table, front));
    files.commit();
    fmt::print("{}\n\n", sweep_summary(table, front));
    if (best_ == kFailed) {
      fmt::print("None of {} points passed\n", order_.size());
    } else {
      fmt::print("Least {}: {:.6g}, {}, found by run {} of {}\n", command_.objective, best_,
                 folders_[best_point_].point().name, best_after_, order_.size());
    }
    fmt::print("{} of {} points were run, {} cannot be better by their bounds{}\n", order_.size(),
               folders_.size(), closed_.size(), complete_ ? ": none of the space is better" : "");
    fmt::print("Wrote {}, {}\n", csv, page);
    if (best_ == kFailed) return 1;
    return command_.certify ? certify_best() : 0;
  }

  // Certifies the mappings of the best point in what is left of the budget.
  int certify_best() const {
    const PointFolder& best = folders_[best_point_];
    CertifyCommand command;
    command.config = best.path() + "/config.json", command.layer = best.path() + "/workload.json";
    if (best.point().texts[2]) command.mapping = best.path() + "/mapping.json";
    command.out = command_.out, command.jobs = command_.jobs;
    if (command_.budget > 0) {
      constexpr double kLeastBudget = 0.001;
      const std::chrono::duration<double> left = deadline() - Clock::now();
      command.budget = std::max(kLeastBudget, left.count());
    }
    fmt::print("\n");
    return certify(command);
  }

  const SearchCommand& command_;
  Objective objective_;
  Clock::time_point began_;
  SweepFile file_;
  std::vector<std::string> axes_;
  std::vector<PointFolder> folders_;
  std::optional<SweepLock> lock_;
  std::map<std::size_t, double> costs_;  // of points that were run
  std::set<std::size_t> closed_;         // points that need no run
  std::vector<std::size_t> order_;       // points in the order of their runs
  std::vector<OrderedJson> rows_;
  std::map<std::size_t, double> bounds_;
  std::map<std::string, LeastWork> works_;     // by the text of the workload
  std::map<std::string, Workload> workloads_;  // the same, for estimates
  double best_ = kFailed;
  std::size_t best_point_ = 0, best_after_ = 0;
  bool complete_ = false;
  int signal_ = 0;
};

}  // namespace

int search(const SearchCommand& command) {
  Search search(command);
  if (const std::optional<int> status = search.run()) return *status;
  std::signal(search.signal(), SIG_DFL);
  std::raise(search.signal());
  return 1;
}

}  // namespace tilebeat
