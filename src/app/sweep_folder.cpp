#include "app/sweep_folder.h"

#include "app/output_files.h"
#include "app/provenance.h"
#include "report/report.h"
#include "report/sweep_table.h"
#include "schema/json_file.h"
#include "tilebeat/error.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat {
namespace {

constexpr std::array<const char*, kSweepTargets> kFileNames{"config.json", "workload.json", "mapping.json"};
constexpr std::int64_t kMostErrorBytes = 1 << 20;

// The contents of a file; nothing when it cannot be read.
std::optional<std::string> contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Replaces a file atomically: it has its new or its earlier contents, whenever the process is ended.
void write_whole(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) refuse_to_write(path, errno);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0 || !written) refuse_to_write(path, written ? errno : error);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) refuse_to_write(path, errno);
}

// The first failure of a report, as a line; empty when there is none.
std::string failure_of(const OrderedJson& report) {
  if (!report["failures"].empty()) return report["failures"][0].get<std::string>();
  if (report["differences"].empty()) return "";
  const OrderedJson& first = report["differences"][0];
  return fmt::format("{} differs from {}", first["layer"].get<std::string>(),
                     first["against"].get<std::string>());
}

}  // namespace

SweepLock::SweepLock(const std::string& folder) {
  constexpr int kTries = 40;
  constexpr std::chrono::milliseconds kPause(50);
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) refuse_to_write(folder, errno);
  for (int i = 0; flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno == EWOULDBLOCK && i < kTries) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    close(descriptor_);
    throw UserError(fmt::format("{}: another sweep is running there", folder));
  }
}

SweepLock::~SweepLock() {
  close(descriptor_);
}

PointFolder::PointFolder(const std::string& points, SweepPoint point, const PointOptions& options)
    : point_(std::move(point)), path_(points + "/" + point_.name) {
  command_.config = kFileNames[0], command_.layer = kFileNames[1], command_.out = ".";
  if (point_.texts[2]) command_.mapping = kFileNames[2];
  if (options.check != SweepCheck::kDefault) command_.check = nth(kSweepCheckNames, options.check);
  if (!options.plan_cache.empty()) command_.plan_cache = std::filesystem::absolute(options.plan_cache);
  if (options.granularity) command_.granularity = nth(kRunGranularityNames, *options.granularity);
}

std::vector<std::string> PointFolder::arguments() const {
  std::vector<std::string> arguments{"run",          "--config", command_.config, "--layer",
                                     command_.layer, "--out",    command_.out};
  if (!command_.mapping.empty()) arguments.insert(arguments.end(), {"--mapping", command_.mapping});
  if (!command_.plan_cache.empty()) arguments.insert(arguments.end(), {"--plan-cache", command_.plan_cache});
  if (!command_.check.empty()) arguments.insert(arguments.end(), {"--check", command_.check});
  if (!command_.granularity.empty())
    arguments.insert(arguments.end(), {"--granularity", command_.granularity});
  return arguments;
}

bool PointFolder::prepared() const {
  for (std::size_t t = 0; t < kSweepTargets; ++t) {
    if (point_.texts[t] && contents(file(kFileNames[t])) != point_.texts[t]) return false;
  }
  return true;
}

void PointFolder::prepare() const {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) refuse_to_write(path_, error.value());
  if (prepared()) return;
  std::remove(file("status").c_str());
  for (std::size_t t = 0; t < kSweepTargets; ++t) {
    if (point_.texts[t]) write_whole(file(kFileNames[t]), *point_.texts[t]);
  }
}

void PointFolder::write_status(int status) const {
  write_whole(file("status"), fmt::format("{}\n", status));
}

void PointFolder::restore_status() const {
  std::error_code ignored;
  if (std::filesystem::exists(file("status"), ignored)) return;
  if (const auto found = report()) write_status((*found)["passed"] ? 0 : 1);
}

std::optional<OrderedJson> PointFolder::report() const {
  try {
    if (!prepared()) return {};
    OrderedJson report = read_report(file("report.json"));
    if (!is_as_written(read_file(file("report.json"), kMaxJsonBytes)) ||
        hashes_of_outputs(path_, report) != recorded_outputs(report))
      return {};
    InputHashes inputs;
    for (const auto& [name, hash] : recorded_inputs(report)) {
      const std::string path = std::filesystem::path(name).is_absolute() ? name : file(name);
      inputs[name] = hashes_of({path}).at(path);
    }
    // The order of keys is ignored.
    Json recorded = report["provenance"];
    recorded.erase("outputs"), recorded.erase("digest"), recorded.erase("plan");
    if (Json(provenance_json(command_, inputs)) != recorded) return {};
    return report;
  } catch (const UserError&) {
    return {};  // none, or of another build
  }
}

bool PointFolder::finished() const {
  return report().has_value();
}

std::optional<int> PointFolder::status() const {
  const std::optional<std::string> text = contents(file("status"));
  return text ? std::optional(std::atoi(text->c_str())) : std::nullopt;
}

std::string PointFolder::error() const {
  const std::optional<int> ended_with = status();
  if (!prepared() || !ended_with) return "was not run";
  const int number = *ended_with;
  const std::string said = contents(file("errors.txt")).value_or("").substr(0, kMostErrorBytes);
  std::istringstream lines(said);
  std::string last;
  const std::string prefix = "tilebeat: ";
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, prefix.size(), prefix) == 0) last = line.substr(prefix.size());
  }
  if (number > 128) return fmt::format("was ended by signal {}", number - 128);
  return last.empty() ? fmt::format("ended with status {}", number) : last;
}

PointResult PointFolder::result() const {
  std::optional<OrderedJson> found = report();
  std::string problem = !found ? error() : (*found)["passed"] ? "" : failure_of(*found);
  return {std::move(found), std::move(problem)};
}

OrderedJson PointFolder::row(const std::vector<std::string>& axes) const {
  OrderedJson row{{"point", point_.name}};
  for (std::size_t a = 0; a < axes.size(); ++a) row[axes[a]] = point_.labels[a];
  const auto [found, problem] = result();
  row["result"] = !found ? "error" : (*found)["passed"] ? "passed" : "failed";
  if (found) row.update(sweep_values(*found));
  if (row["result"] != "passed") row["error"] = problem;
  return row;
}

namespace {

// While one exists, signals that end a process, and SIGCHLD, wait until `next` takes them.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGCHLD);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action {};
      sigaction(signal, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&set_, signal);  // ignored signals stay ignored
    }
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~Signals() { restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  // The next signal; 0: none came for a second.
  int next() const {
    const timespec second{1, 0};
    const int signal = sigtimedwait(&set_, nullptr, &second);
    return signal > 0 ? signal : 0;
  }

 private:
  sigset_t set_{}, before_{};
};

void redirect(const char* file, int to) {
  unlink(file);  // another name of the file keeps what it has
  const int from = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (from < 0 || dup2(from, to) < 0) _exit(126);
}

class PointRuns {
 public:
  PointRuns(const std::vector<const PointFolder*>& points, const SweepLock& lock, int jobs)
      : points_(points), lock_(lock), jobs_(to_size(jobs)) {}
  // Ends the processes, whatever ended the sweep.
  ~PointRuns() {
    for (const auto& [process, point] : running_) kill(process, SIGTERM);
    for (const auto& [process, point] : running_) {
      while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  PointRuns(const PointRuns&) = delete;
  PointRuns& operator=(const PointRuns&) = delete;

  bool all_ended() const { return next_ == points_.size() && running_.empty(); }
  std::size_t ended() const { return next_ - running_.size(); }
  std::size_t running() const { return running_.size(); }
  void start() {
    while (running_.size() < jobs_ && next_ < points_.size()) {
      const PointFolder& point = *points_[next_];
      running_[start(point)] = &point;
      ++next_;
    }
  }
  void reap() {
    for (auto run = running_.begin(); run != running_.end();) {
      int status = 0;
      if (waitpid(run->first, &status, WNOHANG) != run->first) {
        ++run;
        continue;
      }
      const PointFolder& point = *run->second;
      run = running_.erase(run);
      point.write_status(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
  }
  int wait() const { return signals_.next(); }

 private:
  pid_t start(const PointFolder& point) const {
    const std::vector<std::string> arguments = point.arguments();
    std::vector<char*> raw{const_cast<char*>("tilebeat")};
    for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
    raw.push_back(nullptr);
    const pid_t parent = getpid(), child = fork();
    if (child < 0) throw UserError(fmt::format("no process for a point: {}", std::strerror(errno)));
    if (child > 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(126);
    signals_.restore();
    fcntl(lock_.descriptor(), F_SETFD, 0);
    if (chdir(point.path().c_str()) != 0) _exit(126);
    redirect("log.txt", STDOUT_FILENO), redirect("errors.txt", STDERR_FILENO);
    execv("/proc/self/exe", raw.data());
    _exit(126);
  }

  Signals signals_;
  const std::vector<const PointFolder*>& points_;
  const SweepLock& lock_;
  std::size_t jobs_, next_ = 0;
  std::map<pid_t, const PointFolder*> running_;
};

}  // namespace

int run_points(const std::vector<const PointFolder*>& points, const SweepLock& lock,
               const SweepProcesses& how) {
  PointRuns runs(points, lock, how.jobs);
  while (!runs.all_ended()) {
    if (how.deadline && std::chrono::steady_clock::now() >= *how.deadline) return 0;
    runs.start();
    how.progress(runs.ended(), runs.running());
    if (const int signal = runs.wait(); signal != 0 && signal != SIGCHLD) return signal;
    runs.reap();
  }
  return 0;
}

namespace {

// A JSON text is also a Python text.
std::string python(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string snakemake_workflow(const std::string& name, const std::vector<PointFolder>& points,
                               const WorkflowPlaces& places) {
  std::string list, arguments, inputs;
  for (const PointFolder& point : points) list += fmt::format("    {},\n", python(point.point().name));
  for (const std::string& argument : points.front().arguments())
    arguments += fmt::format("{}{}", arguments.empty() ? "" : " ", argument);
  for (std::size_t t = 0; t < kSweepTargets; ++t) {
    constexpr std::array<const char*, kSweepTargets> kNames{"config.json", "workload.json", "mapping.json"};
    if (points.front().point().texts[t])
      inputs += fmt::format("{}OUT + \"/points/{{point}}/{}\"", inputs.empty() ? "" : ", ", kNames[t]);
  }
  return fmt::format(
      R"(# The sweep {name}: {count} points, written by `tilebeat sweep --snakemake`. On this machine:
#   snakemake --snakefile FILE --cores 4
# On Slurm, with folders that all nodes see:
#   snakemake --snakefile FILE --jobs 100 --cluster "sbatch --parsable --cpus-per-task 1 --output /dev/null"
# Another program than the one that wrote this: --config tilebeat=/path/to/tilebeat
TILEBEAT = config.get("tilebeat", {tilebeat})
SWEEP = {sweep}
OUT = {out}
POINTS = [
{list}]


localrules: collect


# The table and the page; fails when a point did not pass, and then they are there as well.
rule collect:
    input:
        expand(OUT + "/points/{{point}}/status", point=POINTS),
    shell:
        "{{TILEBEAT:q}} sweep {{SWEEP:q}} --out {{OUT:q}} --pareto {pareto} --collect"


rule point:
    input:
        {inputs},
    output:
        OUT + "/points/{{point}}/status",
    params:
        folder=lambda wildcards: OUT + "/points/" + wildcards.point,
    shell:
        "cd {{params.folder:q}} && {{{{ code=0; {{TILEBEAT:q}} {arguments}"
        " > log.txt 2> errors.txt || code=$?; echo $code > status; }}}}"
)",
      fmt::arg("name", name), fmt::arg("count", points.size()), fmt::arg("tilebeat", python(places.tilebeat)),
      fmt::arg("sweep", python(places.sweep)), fmt::arg("out", python(places.out)), fmt::arg("list", list),
      fmt::arg("pareto", places.pareto), fmt::arg("inputs", inputs), fmt::arg("arguments", arguments));
}

}  // namespace tilebeat
