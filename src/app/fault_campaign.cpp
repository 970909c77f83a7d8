#include "app/faults.h"
#include "base/types.h"
#include "report/text_table.h"
#include "system/simulation.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <exception>
#include <random>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat {
namespace {

constexpr int kLate = 4;  // times the cycles of a run without a fault

// Whether the hardware has places of a kind that no other kind has.
bool is_there(FaultPlace place, const HardwareConfig& hardware) {
  const EngineConfig& engine = hardware.matrix_engine();
  switch (place) {
    case FaultPlace::kPe:
      return engine.pe_space().banks > 0;
    case FaultPlace::kEngine: {
      const FaultSpace own = engine.fault_space(hardware), pe = engine.pe_space();
      return own.banks > 0 && own.cells == FaultSpace::Cells::kOwn &&
             (own.banks != pe.banks || own.bytes != pe.bytes);
    }
    case FaultPlace::kNram:
    case FaultPlace::kWram:
    case FaultPlace::kSram:
      return hardware.chip.has_value();
    case FaultPlace::kDram:
    case FaultPlace::kBus:
      break;
  }
  return true;
}

// A text that a process sends to its parent before it ends.
class Child {
 public:
  // Runs `work` in a process of its own.
  template <class Work>
  explicit Child(const Work& work) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) refuse();
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ < 0) refuse();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::signal(SIGINT, SIG_DFL), std::signal(SIGTERM, SIG_DFL);
      if (getppid() != parent) _exit(1);
      close(ends[0]);
      const std::string text = text_of(work);
      for (std::size_t done = 0; done < text.size();) {
        const ssize_t written = write(ends[1], text.data() + done, text.size() - done);
        if (written <= 0) _exit(1);
        done += to_size(written);
      }
      _exit(0);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  Child(Child&& other) noexcept : process_(std::exchange(other.process_, -1)), from_(other.from_) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (process_ > 0) kill(process_, SIGKILL), end();
  }
  // Waits for the text. Throws UserError when the process ended without one.
  nlohmann::json take() {
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = read(from_, part.data(), part.size())) > 0;)
      text.append(part.data(), to_size(got));
    const int status = end();
    if (text.empty())
      throw UserError(fmt::format("--fault-campaign: a simulation ended by {}",
                                  WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an error"));
    return nlohmann::json::parse(text);
  }

 private:
  // Nothing may leave the process by an exception: it would go on as its parent does.
  template <class Work>
  static std::string text_of(const Work& work) {
    try {
      return work();
    } catch (const std::exception& error) {
      return nlohmann::json{{"outcome", "stopped"},
                            {"error", error.what()},
                            {"wrong", nlohmann::json::array()},
                            {"failures", {error.what()}}}
          .dump();
    }
  }
  [[noreturn]] static void refuse() {
    throw UserError(fmt::format("--fault-campaign: no process for a simulation: {}", std::strerror(errno)));
  }
  int end() {
    int status = 0;
    close(from_);
    waitpid(std::exchange(process_, -1), &status, 0);
    return status;
  }

  pid_t process_ = -1;
  int from_ = -1;
};

// The run without a fault: its cycles, and the buses that carried something.
nlohmann::json run_without(const HardwareConfig& hardware, const Plan& plan,
                           const SimulationOptions& options) {
  const RunResult result = simulate(hardware, plan, options);
  nlohmann::json buses = nlohmann::json::array();
  for (const Counter& counter : result.counters) {
    if (counter.value == 0) continue;
    if (counter.name == "read_bursts") buses.push_back(counter.module + ".read");
    if (counter.name == "write_bursts") buses.push_back(counter.module + ".write");
  }
  return {{"cycles", result.cycles}, {"buses", buses}, {"failures", result.failures}};
}

std::int64_t wrong_elements(const Tensor& wanted, const Tensor& got) {
  const auto size = to_size(dtype_size(wanted.dtype));
  std::int64_t wrong = 0;
  for (std::size_t at = 0; at < wanted.bytes.size(); at += size)
    wrong += std::memcmp(&wanted.bytes[at], &got.bytes[at], size) != 0 ? 1 : 0;
  return wrong;
}

class Campaign {
 public:
  Campaign(const FaultCampaign& asked, const HardwareConfig& hardware, const Plan& plan,
           const SimulationOptions& options, const std::map<std::string, Tensor>& wanted)
      : asked_(asked),
        hardware_(hardware),
        plan_(plan),
        options_(options),
        wanted_(wanted),
        random_(asked.seed) {
    options_.observers = {}, options_.memory_after = {}, options_.bank_after = {}, options_.progress = {};
    choose_kinds();
    const int cores = hardware.chip ? hardware.chip->cores_per_cluster : 0;
    for (const ProgramImage& program : plan.programs) {
      if (program.processor % (cores + 1) < cores || !hardware.chip) cores_.insert(program.processor);
    }
  }

  std::vector<FaultEffect> run(Progress& progress) {
    const nlohmann::json without =
        Child([this] { return run_without(hardware_, plan_, options_).dump(); }).take();
    if (!without["failures"].empty())
      throw UserError("--fault-campaign: the run without a fault fails: " +
                      without["failures"][0].get<std::string>());
    cycles_ = without["cycles"].get<Cycle>();
    buses_ = without["buses"].get<std::vector<std::string>>();
    std::vector<FaultEffect> effects(to_size(asked_.faults));
    std::vector<PlacedFault> faults;
    for (FaultEffect& effect : effects) {
      const auto& [name, place] = kinds_[below(kinds_.size())];
      faults.push_back(draw(place));
      effect.place = name, effect.fault = fault_text(faults.back(), hardware_);
    }
    simulate_all(faults, effects, progress);
    return effects;
  }

 private:
  void choose_kinds() {
    for (const FaultKind& kind : kFaultKinds) {
      const bool named =
          std::find(asked_.places.begin(), asked_.places.end(), kind.name) != asked_.places.end();
      const bool there = is_there(kind.place, hardware_);
      if (named && !there)
        throw UserError(fmt::format("--fault-in {}: the hardware has no such place of its own", kind.name));
      if (there && (named || asked_.places.empty())) kinds_.push_back(kind);
    }
  }

  // A random number from 0 on, less than `count`; the standard's distributions differ between libraries.
  std::uint64_t below(std::uint64_t count) { return random_() % count; }

  PlacedFault draw(FaultPlace place) {
    PlacedFault fault;
    fault.place = place;
    if (hardware_.chip) {
      const int processor = *std::next(cores_.begin(), to_signed(below(cores_.size())));
      fault.cluster = processor / (hardware_.chip->cores_per_cluster + 1);
      fault.core = processor % (hardware_.chip->cores_per_cluster + 1);
    }
    const FaultSpace space = fault_space(fault, hardware_);
    std::uint64_t bytes = to_unsigned(space.bytes);
    if (place == FaultPlace::kDram) bytes = plan_.dram_bytes;
    if (place == FaultPlace::kBus) {
      fault.bus = buses_[below(buses_.size())];
      bytes = to_unsigned(least_width());
    }
    fault.cell.bank = to_int(below(to_unsigned(space.banks)));
    fault.cell.address = to_signed(below(bytes));
    fault.cell.mask = static_cast<std::uint8_t>(1U << below(8));
    fault.cell.at = 1 + to_signed(below(to_unsigned(std::max<Cycle>(1, cycles_ - 1))));
    return fault;
  }

  // The bytes that every bus of the hardware has.
  int least_width() const {
    int width = hardware_.interconnect.bytes_per_clock;
    if (!hardware_.chip) return width;
    const ChipConfig& chip = *hardware_.chip;
    return std::min({width, chip.cluster_link.bytes_per_clock, chip.cluster_bus.bytes_per_clock,
                     chip.core.bus.bytes_per_clock});
  }

  void simulate_all(const std::vector<PlacedFault>& faults, std::vector<FaultEffect>& effects,
                    Progress& progress) {
    const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
    std::deque<Child> running;  // the oldest first
    std::size_t begun = 0;
    for (std::size_t ended = 0; ended < faults.size(); ++ended) {
      for (; begun < faults.size() && running.size() < most; ++begun)
        running.emplace_back([this, &fault = faults[begun]] { return simulate_with(fault).dump(); });
      progress.tell(fmt::format("fault {} of {}", ended + 1, faults.size()), ratio_of(ended, faults.size()));
      const nlohmann::json got = running.front().take();
      running.pop_front();
      FaultEffect& effect = effects[ended];
      effect.outcome = got["outcome"], effect.error = got["error"];
      for (const auto& wrong : got["wrong"]) {
        effect.by_layer.emplace_back(wrong[0], wrong[1]);
        effect.elements += wrong[1].get<std::int64_t>();
      }
    }
    progress.clear();
  }

  nlohmann::json simulate_with(const PlacedFault& fault) {
    SimulationOptions options = options_;
    options.faults = {fault};
    bool late = false;
    options.progress = [&, most = kLate * cycles_](Cycle now, std::size_t) {
      late = now > most;
      if (late) throw SimulationError("it is late");
    };
    const RunResult result = simulate(hardware_, plan_, options);
    nlohmann::json wrong = nlohmann::json::array();
    for (const GraphLayer& layer : plan_.graph) {
      const auto got = result.outputs.find(layer.name);
      const auto wanted = wanted_.find(layer.name);
      if (got == result.outputs.end() || wanted == wanted_.end()) continue;
      if (const std::int64_t elements = wrong_elements(wanted->second, got->second); elements > 0)
        wrong.push_back({layer.name, elements});
    }
    const bool stopped = !result.failures.empty();
    const char* outcome = late ? "late" : stopped ? "stopped" : wrong.empty() ? "masked" : "wrong";
    return {
        {"outcome", outcome}, {"error", stopped && !late ? result.failures.front() : ""}, {"wrong", wrong}};
  }

  const FaultCampaign& asked_;
  const HardwareConfig& hardware_;
  const Plan& plan_;
  SimulationOptions options_;
  const std::map<std::string, Tensor>& wanted_;
  std::mt19937_64 random_;
  std::vector<FaultKind> kinds_;
  std::set<int> cores_;  // processors of cores with programs
  Cycle cycles_ = 0;
  std::vector<std::string> buses_;
};

constexpr std::array<std::string_view, 4> kOutcomes{"masked", "wrong", "stopped", "late"};

}  // namespace

std::vector<FaultEffect> run_campaign(const FaultCampaign& campaign, const HardwareConfig& hardware,
                                      const Plan& plan, const SimulationOptions& options,
                                      const std::map<std::string, Tensor>& wanted, Progress& progress) {
  return Campaign(campaign, hardware, plan, options, wanted).run(progress);
}

std::string campaign_text(const std::vector<FaultEffect>& effects) {
  struct Line {
    std::int64_t faults = 0, elements = 0, layers = 0;
    std::map<std::string_view, std::int64_t> outcomes;
  };
  std::map<std::string, Line> places;
  std::vector<std::string> layers;
  std::map<std::string, Line> by_layer;
  for (const FaultEffect& effect : effects) {
    Line& line = places[effect.place];
    ++line.faults, ++line.outcomes[effect.outcome];
    line.elements += effect.elements, line.layers += to_signed(effect.by_layer.size());
    for (const auto& [layer, elements] : effect.by_layer) {
      if (by_layer.count(layer) == 0) layers.push_back(layer);
      ++by_layer[layer].faults, by_layer[layer].elements += elements;
    }
  }
  std::vector<std::vector<std::string>> rows{
      {"place", "faults", "masked", "wrong", "stopped", "late", "wrong elements", "wrong layers"}};
  for (const auto& [place, line] : places) {
    std::vector<std::string> row{place, grouped(line.faults)};
    for (const std::string_view outcome : kOutcomes) {
      const auto count = line.outcomes.find(outcome);
      row.push_back(grouped(count == line.outcomes.end() ? 0 : count->second));
    }
    row.push_back(grouped(line.elements)), row.push_back(grouped(line.layers));
    rows.push_back(row);
  }
  std::string text = format_rows(rows);
  if (layers.empty()) return text;
  rows = {{"layer", "made wrong by", "wrong elements"}};
  std::sort(layers.begin(), layers.end());
  for (const std::string& layer : layers)
    rows.push_back({layer, grouped(by_layer[layer].faults), grouped(by_layer[layer].elements)});
  return text + "\n" + format_rows(rows);
}

std::string campaign_csv(const std::vector<FaultEffect>& effects) {
  std::string text =
      csv_line({"fault", "place", "outcome", "wrong_elements", "wrong_layers", "first_layer", "error"});
  for (const FaultEffect& effect : effects)
    text += csv_line({effect.fault, effect.place, effect.outcome, std::to_string(effect.elements),
                      std::to_string(effect.by_layer.size()),
                      effect.by_layer.empty() ? "" : effect.by_layer.front().first, effect.error});
  return text;
}

}  // namespace tilebeat
