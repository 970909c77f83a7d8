#include "app/command_options.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "app/progress.h"
#include "app/provenance.h"
#include "app/sweep_folder.h"
#include "app/whatif_knobs.h"
#include "report/whatif.h"
#include "schema/json_file.h"
#include "tilebeat/error.h"
#include "workload/workload_file.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Steps that are run in pairs: the best ones of so many knobs; and the best of the hardware's knobs with all
// that widen a way of bytes.
constexpr std::size_t kPaired = 4, kWidened = 2;
// The part of the budget that single steps may spend.
constexpr double kSingles = 0.75;

// One or two steps, and the folder of their run; no folder: nothing is run.
struct Trial {
  std::vector<const KnobStep*> steps;
  std::optional<PointFolder> folder;
};

std::string name_of(const std::vector<const KnobStep*>& steps) {
  std::string name;
  for (const KnobStep* step : steps) name += (name.empty() ? "" : "+") + step->change.label;
  return name;
}

class WhatIf {
 public:
  explicit WhatIf(const WhatIfCommand& command)
      : command_(command),
        hardware_(load_hardware(command.config)),
        file_(read_json_file(command.config)),
        points_(command.out + "/points"),
        began_(Clock::now()) {
    read_workload_file(command.layer);
    steps_ = chosen_steps(knob_steps(hardware_, file_, command.config, read_json_file(command.layer)),
                          command.knobs);
    std::error_code error;
    fs::create_directories(command.out, error);
    if (error) throw UserError(fmt::format("--out {}: {}", command.out, error.message()));
    for (const char* name : {"/whatif.json", "/whatif.csv", "/whatif.html"})
      check_not_read("--out", command.out + name);
    lock_.emplace(command.out);
  }

  // Returns the exit status, or nothing when `signal` has ended it.
  std::optional<int> run() {
    std::vector<Trial> base{trial({})};
    if (!run_all(base, {})) return {};
    const PointResult result = base.front().folder->result();
    if (!result.report) throw UserError(in_the_users_names(result.error));
    if (!result.error.empty())
      throw SimulationError(fmt::format("{} on {}: {}", command_.layer, command_.config, result.error));
    report_ = *result.report;
    base_ = whatif_base(report_);
    std::vector<Trial> singles;
    for (const KnobStep& step : steps_) singles.push_back(trial({&step}));
    if (!run_all(singles, deadline(kSingles))) return {};
    OrderedJson table = heading();
    for (const Trial& single : singles) table["steps"].push_back(row_of(single));
    std::vector<Trial> pairs = pairs_of(table["steps"]);
    if (!run_all(pairs, deadline(1))) return {};
    for (const Trial& pair : pairs) table["pairs"].push_back(row_of(pair));
    return write(table);
  }

  int signal() const { return signal_; }

 private:
  // A step that cannot be run keeps its reason; it has no folder.
  Trial trial(const std::vector<const KnobStep*>& steps) {
    Trial made{steps, {}};
    SweepChange change;
    change.label = steps.empty() ? "base" : name_of(steps);
    for (const KnobStep* step : steps) {
      if (!step->refused.empty()) return made;
      for (std::size_t t = 0; t < kSweepTargets; ++t)
        change.set[t].insert(step->change.set[t].begin(), step->change.set[t].end());
    }
    SweepFile files;
    files.config = command_.config, files.layer = command_.layer;
    try {
      std::vector<SweepPoint> points =
          points_of(files, {{"", {{change, Place(command_.config)}}}}, "", points_);
      made.folder.emplace(points_, std::move(points.front()),
                          PointOptions{SweepCheck::kOff, RunGranularity::kTile, command_.plan_cache});
    } catch (const UserError& error) {
      if (steps.size() < 2) throw;
      reasons_[change.label] = error.what();  // two legal steps may exclude each other
    }
    return made;
  }

  std::optional<Clock::time_point> deadline(double part) const {
    if (command_.budget <= 0) return {};
    return began_ +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(part * command_.budget));
  }

  // False when a signal has ended it.
  bool run_all(const std::vector<Trial>& trials, std::optional<Clock::time_point> deadline) {
    std::vector<const PointFolder*> missing;
    std::size_t before = 0;
    for (const Trial& one : trials) {
      if (!one.folder) continue;
      one.folder->prepare();
      if (one.folder->finished())
        ++before;
      else
        missing.push_back(&*one.folder);
    }
    PointProgress progress("runs", before + missing.size(), before);
    signal_ =
        run_points(missing, *lock_,
                   {jobs_of(command_.jobs),
                    [&](std::size_t ended, std::size_t running) { progress(ended, running); }, deadline});
    return signal_ == 0;
  }

  OrderedJson heading() const {
    RunCommand run;
    run.config = command_.config, run.layer = command_.layer;
    OrderedJson provenance = provenance_json(run, hashes_of({command_.config, command_.layer}));
    return {{"tilebeat_whatif", kWhatIfVersion},
            {"workload", report_["workload"]},
            {"hardware", report_["hardware"]},
            {"base", base_},
            {"steps", OrderedJson::array()},
            {"pairs", OrderedJson::array()},
            {"configuration", report_["configuration"]},
            {"provenance", provenance}};
  }

  OrderedJson row_of(const Trial& one) const {
    OrderedJson row{{"step", name_of(one.steps)}};
    std::string knobs;
    BatchRatio batch;
    for (const KnobStep* step : one.steps) {
      knobs += (knobs.empty() ? "" : " + ") + step->knob;
      batch.images_before *= static_cast<double>(step->images_before);
      batch.images *= static_cast<double>(step->images);
    }
    row["knob"] = knobs;
    if (one.steps.size() == 1) row["from"] = one.steps[0]->from(), row["to"] = one.steps[0]->to();
    row["set"] = OrderedJson::object();
    for (std::size_t t = 0; t < kSweepTargets; ++t) {
      for (const KnobStep* step : one.steps) {
        for (const auto& [pointer, value] : step->change.set[t])
          row["set"][std::string(kSweepTargetNames[t])][pointer] = value;
      }
    }
    if (!one.folder) {
      row["result"] = "refused";
      row["reason"] =
          one.steps.size() == 1 ? one.steps[0]->refused : reasons_.at(row["step"].get<std::string>());
      return row;
    }
    const PointResult result = one.folder->result();
    if (result.report && result.error.empty()) {
      row["result"] = "measured";
      add_measured(row, *result.report, base_, batch);
      return row;
    }
    const bool ran = one.folder->ended();
    row["result"] = !ran                    ? "not_run"
                    : result.report         ? "failed"
                    : one.folder->refused() ? "refused"
                                            : "failed";
    row["reason"] = ran ? in_the_users_names(result.error) : "the budget was spent";
    return row;
  }

  // A run reads copies of the files.
  std::string in_the_users_names(std::string error) const {
    for (const auto& [copy, name] :
         {std::pair("config.json: ", &command_.config), std::pair("workload.json: ", &command_.layer)}) {
      const std::string prefix = copy;
      if (error.compare(0, prefix.size(), prefix) == 0) error.replace(0, prefix.size() - 2, *name);
    }
    return error;
  }

  // The best step of each of the knobs that help most, two by two, and with what widens the ways of bytes.
  std::vector<Trial> pairs_of(const OrderedJson& rows) {
    std::vector<std::pair<double, const KnobStep*>> best;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (rows[i]["result"] != "measured") continue;
      const auto change = rows[i]["cycles_percent"].get<double>();
      if (change <= -kNoticed) best.emplace_back(change, &steps_[i]);
    }
    std::stable_sort(best.begin(), best.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const KnobStep*> chosen;
    std::set<std::string> knobs;
    for (const auto& [change, step] : best) {
      if (chosen.size() < kPaired && knobs.insert(step->knob).second) chosen.push_back(step);
    }
    std::vector<Trial> pairs;
    for (std::size_t a = 0; a < chosen.size(); ++a) {
      for (std::size_t b = a + 1; b < chosen.size(); ++b) pairs.push_back(trial({chosen[a], chosen[b]}));
    }
    std::size_t widened = 0;
    for (const KnobStep* one : chosen) {
      if (nth(one->change.set, SweepTarget::kConfig).empty() || widened == kWidened) continue;
      ++widened;
      for (const KnobStep& step : steps_) {
        const bool there = std::find(chosen.begin(), chosen.end(), &step) != chosen.end();
        if (step.widens && step.refused.empty() && !there && step.knob != one->knob)
          pairs.push_back(trial({one, &step}));
      }
    }
    return pairs;
  }

  int write(const OrderedJson& table) const {
    OutputFiles files;
    const std::string json = command_.out + "/whatif.json", csv = command_.out + "/whatif.csv",
                      page = command_.out + "/whatif.html";
    files.write(json, table.dump(1) + "\n");
    files.write(csv, whatif_csv(table));
    files.write(page, whatif_page(table));
    files.commit();
    fmt::print("{}\nWrote {}, {}, {}\n", whatif_summary(table), json, csv, page);
    const auto failed = [](const OrderedJson& row) { return row["result"] == "failed"; };
    const bool any = std::any_of(table["steps"].begin(), table["steps"].end(), failed) ||
                     std::any_of(table["pairs"].begin(), table["pairs"].end(), failed);
    return any ? 1 : 0;
  }

  const WhatIfCommand& command_;
  HardwareConfig hardware_;
  Json file_;
  std::string points_;
  Clock::time_point began_;
  std::vector<KnobStep> steps_;
  std::optional<SweepLock> lock_;
  OrderedJson report_, base_;
  std::map<std::string, std::string> reasons_;  // of pairs that exclude each other, by name
  int signal_ = 0;
};

}  // namespace

int whatif(const WhatIfCommand& command) {
  std::optional<int> status;
  int signal = 0;
  {
    WhatIf run(command);
    status = run.run();
    signal = run.signal();
  }
  if (status) return *status;
  if (signal == SIGINT) fmt::print(stderr, "\ntilebeat: interrupted; the same command goes on from there\n");
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  return 1;
}

}  // namespace tilebeat
