#pragma once

#include "planner/language/task_graph.h"
#include "planner/program/planned_part.h"
#include "planner/schedule/schedule.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

/// The tasks of a part, for estimates, with the loads for later ones that it makes already.
struct HostTasks {
  TaskGraph graph;
  std::int64_t sram = 0;        ///< bytes of a cluster's that are in use
  std::optional<double> alone;  ///< its cycles without further loads, once somebody has estimated them
};

/// A part in its program.
struct ProgramPart {
  std::string name;  ///< of its layer; of the last one of a fusion group
  std::unique_ptr<PlannedPart> part;
  bool started = false;                    ///< processors are started for it
  Prefetch prefetch;                       ///< which of its kernels are loaded ahead,
  std::string during;                      ///< and while which part
  std::vector<const ProgramPart*> guests;  ///< whose first kernels are loaded while it runs
  std::optional<HostTasks> tasks = {};     ///< with the loads of these, once they were asked for
};

/// What a mapping file asks for.
struct PrefetchRequest {
  std::optional<int> loads;
  std::optional<std::string> during;
};

/// The first loads of a part's kernels are made while `host` runs; no host: while the part itself runs.
struct PrefetchPlan {
  ProgramPart* host = nullptr;
  Prefetch prefetch;
  double cycles = 0;  ///< of the part, and those that the host takes longer; estimated, where it may choose
};

/// Finds out which kernels of a program's parts are loaded while an earlier part runs, one of the last few:
/// into a part of WRAM that nobody uses until then.
class WeightPrefetch {
 public:
  explicit WeightPrefetch(const HardwareConfig& hardware);

  /// A part that follows those that were added. It outlives this.
  void add(ProgramPart& part);
  bool empty() const { return earlier_.empty(); }

  /// What is expected to take least for `part`, which follows those that were added; or what `asked` asks
  /// for. Throws UserError where that cannot be.
  PrefetchPlan find(const PlannedPart& part, const PrefetchRequest& asked) const;

 private:
  struct Host {
    ProgramPart* part = nullptr;
    int most = 0;  // loads that WRAM has room for from then on
  };
  struct Hosts;
  Hosts hosts_for(const PlannedPart& part, const std::vector<std::int64_t>& bytes, bool all) const;
  PrefetchPlan as_asked(const Hosts& hosts, const PlannedPart& part, const PrefetchRequest& asked,
                        int loads_of_part) const;
  PrefetchPlan best_of(const Hosts& hosts, const PlannedPart& part) const;

  const HardwareConfig& hardware_;
  Machine machine_;
  std::vector<ProgramPart*> earlier_;
};

/// Throws UserError: so many loads cannot be made ahead.
[[noreturn]] void refuse_prefetch(int loads, const std::string& why);

/// Parts of a core's WRAM that are taken.
class WramInUse {
 public:
  explicit WramInUse(std::int64_t bytes) : bytes_(bytes) {}
  void add(std::int64_t begin, std::int64_t size);
  /// The lowest place for `size` bytes whose first `ahead` bytes are free; nothing: there is none.
  std::optional<std::int64_t> find(std::int64_t ahead, std::int64_t size, std::int64_t alignment) const;

 private:
  std::int64_t bytes_;
  std::map<std::int64_t, std::int64_t> parts_;  // end by begin
};

}  // namespace tilebeat
