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

/// The tasks of a part for estimates, including the loads that it already prefetches for later parts.
struct HostTasks {
  TaskGraph graph;
  std::int64_t sram = 0;        ///< bytes in use, of each cluster's SRAM
  std::optional<double> alone;  ///< its estimated cycles without further loads, cached
};

/// A part of a network in its program.
struct ProgramPart {
  std::string name;  ///< of its layer; of the last layer of a fusion group
  std::unique_ptr<PlannedPart> part;
  bool started = false;                    ///< the host starts processors for it
  Prefetch prefetch;                       ///< its kernel loads that are prefetched
  std::string during;                      ///< name of the part during which they run
  std::vector<const ProgramPart*> guests;  ///< later parts whose kernels are prefetched while it runs
  std::optional<HostTasks> tasks = {};     ///< its tasks with the loads of `guests`, cached
};

/// The weight prefetch that a mapping file requests.
struct PrefetchRequest {
  std::optional<int> loads;
  std::optional<std::string> during;
};

/// A decision: the first kernel loads of a part run during `host`; null: while the part itself runs.
struct PrefetchPlan {
  ProgramPart* host = nullptr;
  Prefetch prefetch;
  /// estimated cycles of the part, plus those that the host takes longer; set when free to choose
  double cycles = 0;
};

/// Weight prefetch: finds the kernels of a program's parts that are loaded during an earlier part, one of the
/// last few, into a part of WRAM that is unused until then.
class WeightPrefetch {
 public:
  explicit WeightPrefetch(const HardwareConfig& hardware);

  /// Adds the next part of the program. It outlives this object.
  void add(ProgramPart& part);
  bool empty() const { return earlier_.empty(); }

  /// The prefetch with the least estimated cycles for `part`, which follows the added parts; or the one that
  /// `asked` requests. Throws UserError when the request is impossible.
  PrefetchPlan find(const PlannedPart& part, const PrefetchRequest& asked) const;

 private:
  struct Host {
    ProgramPart* part = nullptr;
    int most = 0;  // the most loads for which WRAM has room from then on
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

/// Throws UserError: `loads` loads cannot be prefetched because of `why`.
[[noreturn]] void refuse_prefetch(int loads, const std::string& why);

/// The ranges of a core's WRAM that are in use.
class WramInUse {
 public:
  explicit WramInUse(std::int64_t bytes) : bytes_(bytes) {}
  void add(std::int64_t begin, std::int64_t size);
  /// The lowest place for `size` bytes of which the first `ahead` bytes are free; nothing: there is none.
  std::optional<std::int64_t> find(std::int64_t ahead, std::int64_t size, std::int64_t alignment) const;

 private:
  std::int64_t bytes_;
  std::map<std::int64_t, std::int64_t> parts_;  // end by begin
};

}  // namespace tilebeat
