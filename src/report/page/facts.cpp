#include "report/page/facts.h"

#include "base/activity.h"
#include "observe/statistics.h"
#include "schema/place.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

// A positive number in the configuration, of a size that the page can handle; `path` are the keys that lead
// to it.
double positive(const PageReport& page, const std::vector<std::string>& path) {
  const Json* value = &page.report["configuration"];
  Place place = Place(page.file).key("configuration");
  for (const std::string& key : path) {
    place = place.key(key);
    if (!value->is_object() || !value->contains(key)) place.fail("is missing, the page needs it");
    value = &(*value)[key];
  }
  constexpr double kLeast = 1e-6, kMost = 1e12;
  if (!value->is_number() || value->get<double>() < kLeast || value->get<double>() > kMost)
    place.refuse_value(nlohmann::json(*value), "a number from 1e-6 to 1e12");
  return value->get<double>();
}

double peak_dram_bytes_per_second(const PageReport& page) {
  constexpr double kPicoseconds = 1e12;
  const bool chip = page.report["configuration"].contains("chip");
  const double controllers = chip ? positive(page, {"chip", "memory_controllers"}) : 1;
  const double channels = positive(page, {"dram", "channels"});
  const double bytes_a_transfer = positive(page, {"dram", "data_bits"}) / 8;
  // A burst takes at least one cycle (peak_bytes_per_clock).
  const double transfers =
      std::min(positive(page, {"dram", "transfers_per_clock"}), positive(page, {"dram", "burst_length"}));
  const double clock_ps = positive(page, {"dram", "clock_ps"});
  return controllers * channels * bytes_a_transfer * transfers * kPicoseconds / clock_ps;
}

// `check_report` allows unknown keys.
void check_causes(const PageReport& page) {
  const Json& layers = page.report["layers"];
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const auto& [name, value] : layers[i]["stall_cycles"].items()) {
      if (meaning_of(name).empty())
        Place(page.file).key("layers").item(i).key("stall_cycles").key(name).fail("is no cause of stalls");
    }
  }
}

void add_causes(RunFacts& facts) {
  std::map<std::string, Cause> causes;
  std::map<std::string, std::int64_t> worst;
  const Json& layers = facts.cited.report()["layers"];
  for (std::size_t i = 0; i < layers.size(); ++i) {
    facts.beats = add_capped(facts.beats, layers[i]["beats"].get<std::int64_t>());
    facts.array_cycles = add_capped(facts.array_cycles, array_cycles(layers[i]));
    for (const auto& [name, value] : layers[i]["stall_cycles"].items()) {
      const auto cycles = value.get<std::int64_t>();
      Cause& cause = causes[name];
      cause.name = name;
      cause.cycles = add_capped(cause.cycles, cycles);
      if (cycles > worst[name]) worst[name] = cycles, cause.worst_layer = i;
    }
  }
  for (const auto& [name, cause] : causes) facts.causes.push_back(cause);
  std::stable_sort(facts.causes.begin(), facts.causes.end(),
                   [](const Cause& a, const Cause& b) { return a.cycles > b.cycles; });
}

bool begins_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

std::string_view meaning_of(const std::string& cause) {
  for (int i = 0; i < kActivityCount; ++i) {
    const auto activity = static_cast<Activity>(i);
    if (activity_name(activity) == cause) return activity_meaning(activity);
  }
  return {};
}

std::int64_t add_capped(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

RunFacts facts_of(const PageReport& page, std::size_t run) {
  const Json& report = page.report;
  RunFacts facts(Cited(run, report));
  facts.file = page.file;
  facts.whatif = page.whatif.is_null() ? nullptr : &page.whatif;
  facts.workload = report["workload"].get<std::string>();
  facts.hardware = report["hardware"].get<std::string>();
  facts.clock_mhz = positive(page, {"clock_mhz"});
  const Json& total = report["total"];
  facts.microseconds = total["cycles"].get<double>() / facts.clock_mhz;
  const double seconds = facts.microseconds / 1e6;
  facts.macs_per_second = ratio(total["macs"].get<double>(), seconds);
  facts.peak_macs_per_second = report["peak_macs_per_clock"].get<double>() * facts.clock_mhz * 1e6;
  facts.dram_bytes_per_second =
      ratio(total["dram_read_bytes"].get<double>() + total["dram_write_bytes"].get<double>(), seconds);
  facts.peak_dram_bytes_per_second = peak_dram_bytes_per_second(page);
  check_causes(page);
  add_causes(facts);
  return facts;
}

std::int64_t compared_layers(const Json& report) {
  const Json& layers = report["layers"];
  return std::count_if(layers.begin(), layers.end(), [](const Json& l) { return l["check"] != "off"; });
}

const char* check_result(const Json& report) {
  if (!report["passed"].get<bool>()) return "FAILED";
  return compared_layers(report) > 0 ? "passed" : "off";
}

std::string layer_at(std::size_t layer) {
  return fmt::format("/layers/{}", layer);
}

std::string layer_name(const Json& layer) {
  auto name = layer["name"].get<std::string>();
  if (const Json& layers = layer["layers"]; layers.size() > 1)
    name = layers.front().get<std::string>() + " to " + layers.back().get<std::string>();
  const auto scene = layer["scene"].get<std::string>();
  return scene == "main" ? name : scene + "/" + name;
}

std::string layer_kind(const Json& layer) {
  const std::size_t layers = layer["layers"].size();
  return layers == 0 ? layer["op"].get<std::string>() : fmt::format("fusion group of {} layers", layers);
}

std::int64_t array_cycles(const Json& layer) {
  auto cycles = layer["beats"].get<std::int64_t>();
  for (const auto& [name, value] : layer["stall_cycles"].items())
    cycles = add_capped(cycles, value.get<std::int64_t>());
  return cycles;
}

double dram_bytes(const Json& layer) {
  const Json& dram = layer["bytes"]["dram"];
  return dram["read"].get<double>() + dram["write"].get<double>();
}

std::vector<BusyModule> modules_of(const Json& report, const std::string& prefix) {
  std::vector<BusyModule> found;
  const Json& modules = report["modules"];
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const auto name = modules[i]["name"].get<std::string>();
    if (begins_with(name, prefix))
      found.push_back({i, name, ratio(modules[i]["busy"].get<double>(), modules[i]["cycles"].get<double>())});
  }
  return found;
}

std::optional<BusyModule> busiest_module(const Json& report, const std::string& prefix) {
  const std::vector<BusyModule> modules = modules_of(report, prefix);
  if (modules.empty()) return {};
  return *std::max_element(modules.begin(), modules.end(),
                           [](const BusyModule& a, const BusyModule& b) { return a.share < b.share; });
}

std::string largest_bound(const Json& layer) {
  const Json& bounds = layer["bound_cycles"];
  std::string largest = "compute";
  for (const char* key : {"beats", "dram", "port"}) {
    if (bounds.contains(key) && bounds[key] > bounds[largest]) largest = key;
  }
  return largest;
}

}  // namespace tilebeat::page
