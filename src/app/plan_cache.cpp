#include "app/plan_cache.h"

#include "app/command_options.h"
#include "app/output_files.h"
#include "app/planning.h"
#include "app/provenance.h"
#include "program/plan.h"
#include "schema/json_file.h"
#include "schema/values.h"
#include "tilebeat/error.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tilebeat {
namespace {

constexpr int kPlanVersion = 1;

// What a plan depends on, as one digest; nothing where a file cannot be read twice.
std::optional<std::string> key_of(const HardwareConfig& hardware, const std::string& file,
                                  const NetworkMapping& asked) {
  std::vector<std::string> files = files_read({}, file);
  files.erase(files.begin());
  if (!asked.file.empty()) files.push_back(asked.file);
  std::string all = version_text() + "\n" + hardware_to_json(hardware).dump() + "\n";
  const InputHashes hashes = hashes_of(files);
  for (const std::string& name : files) {
    const std::optional<std::string>& hash = hashes.at(name);
    if (!hash) return std::nullopt;
    all += *hash + "\n";
  }
  return sha256_of_bytes(all);
}

std::string digest_of_programs(const Plan& plan, const HardwareConfig& hardware) {
  return sha256_of_bytes(programs_text(plan, hardware));
}

using Texts = std::vector<std::pair<std::string, std::string>>;

OrderedJson json_of(const FusionSummary& summary) {
  const auto totals = [](const FusionSummary::Totals& t) {
    return OrderedJson{t.maps, t.kernels, t.instructions, t.tables, t.cycles};
  };
  return {{"alone", totals(summary.alone)},
          {"fused", totals(summary.fused)},
          {"compulsory", totals(summary.compulsory)},
          {"visited", summary.visited},
          {"kept_alone", summary.kept_alone}};
}
FusionSummary summary_of(const OrderedJson& json) {
  const auto whole = [](const OrderedJson& number) {
    if (!number.is_number_integer()) throw UserError("no whole number");
    return number.get<std::int64_t>();
  };
  const auto totals = [&](const char* key) {
    const OrderedJson& t = json.at(key);
    return FusionSummary::Totals{whole(t.at(0)), whole(t.at(1)), whole(t.at(2)), whole(t.at(3)),
                                 whole(t.at(4))};
  };
  return {totals("alone"),
          totals("fused"),
          totals("compulsory"),
          static_cast<int>(whole(json.at("visited"))),
          0,
          json.at("kept_alone").get<bool>()};
}

OrderedJson json_of(const PlannedNetwork& network, const HardwareConfig& hardware) {
  OrderedJson json{{"mapping", OrderedJson::parse(mapping_text(network.mappings, network.groups))},
                   {"layers", OrderedJson::array()},
                   {"programs", digest_of_programs(network.plan, hardware)}};
  for (const LayerPlan& layer : network.plan.layers)
    json["layers"].push_back({{"choices", layer.choices}, {"facts", layer.facts}});
  if (network.fusion) json["fusion"] = json_of(*network.fusion);
  if (network.by_rules) json["by_rules"] = json_of(*network.by_rules);
  return json;
}

// The kept plan, planned with its mappings; nothing where it does not give the programs that it names.
std::optional<PlannedNetwork> planned_as(const OrderedJson& json, const Workload& workload,
                                         const HardwareConfig& hardware, const std::string& file,
                                         const NetworkMapping& asked) {
  const NetworkMapping mapping = parse_mapping(json.at("mapping").dump(), "");
  HardwareConfig decided = hardware;
  decided.planner.search = 0;
  decided.fused = hardware.fused && !mapping.groups.empty();
  PlannedNetwork network = plan_workload(workload, decided, file, mapping);
  const OrderedJson& layers = json.at("layers");
  const bool fuses = hardware.fused && asked.groups.empty();
  const bool by_cost = fuses && hardware.fusion.planner == FusionPlanner::kOptimal;
  if (json.contains("fusion") != fuses || json.contains("by_rules") != by_cost) return std::nullopt;
  if (digest_of_programs(network.plan, hardware) != json.at("programs") ||
      layers.size() != network.plan.layers.size())
    return std::nullopt;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    network.plan.layers[i].choices = layers[i].at("choices").get<Texts>();
    network.plan.layers[i].facts = layers[i].at("facts").get<Texts>();
  }
  if (json.contains("fusion")) network.fusion = summary_of(json["fusion"]);
  if (json.contains("by_rules")) network.by_rules = summary_of(json["by_rules"]);
  return network;
}

std::optional<PlannedNetwork> read_plan(const std::string& path, const std::string& key,
                                        const Workload& workload, const HardwareConfig& hardware,
                                        const std::string& file, const NetworkMapping& asked) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::string why = "is damaged";
  try {
    const std::string text = read_file(path, kMaxJsonBytes);
    parse_json(text, path);  // refuses what is nested too deeply
    const OrderedJson entry = OrderedJson::parse(text);
    const OrderedJson& plan = entry.at("plan");
    if (entry.at("tilebeat_plan") == kPlanVersion && entry.at("key") == key &&
        entry.at("digest") == sha256_of_bytes(plan.dump())) {
      if (auto network = planned_as(plan, workload, hardware, file, asked)) return network;
      why = "gives other programs than it says";
    }
  } catch (const std::exception&) {
    // It is no JSON, lacks a key, or has a mapping that cannot be planned.
  }
  print_message(fmt::format("{}: {}; planned again", path, why));
  return std::nullopt;
}

void write_plan(const std::string& path, const std::string& key, const PlannedNetwork& network,
                const HardwareConfig& hardware) {
  const OrderedJson plan = json_of(network, hardware);
  const OrderedJson entry{{"tilebeat_plan", kPlanVersion},
                          {"key", key},
                          {"digest", sha256_of_bytes(plan.dump())},
                          {"plan", plan}};
  int descriptor = -1;
  const std::string temporary = make_file_beside(path, path, descriptor);
  try {
    OutputFile made(descriptor, path, path, temporary);
    made.write(entry.dump(1) + "\n");
    made.close();
    made.check();
    if (std::rename(temporary.c_str(), path.c_str()) != 0) refuse_to_write(path, errno);
  } catch (const UserError&) {
    std::remove(temporary.c_str());
    throw;
  }
}

}  // namespace

PlanCache::PlanCache(std::string folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) throw UserError(fmt::format("--plan-cache {}: cannot be made: {}", folder_, error.message()));
  if (access(folder_.c_str(), W_OK | X_OK) != 0)
    throw UserError(fmt::format("--plan-cache {}: cannot be written: {}", folder_,
                                std::error_code(errno, std::generic_category()).message()));
}

PlannedNetwork PlanCache::plan(const Workload& workload, const HardwareConfig& hardware,
                               const std::string& file, const NetworkMapping& asked) {
  found_ = false;
  const std::optional<std::string> key = folder_.empty() ? std::nullopt : key_of(hardware, file, asked);
  if (!key) return plan_workload(workload, hardware, file, asked);
  const std::string path = (std::filesystem::path(folder_) / (*key + ".json")).string();
  if (auto kept = read_plan(path, *key, workload, hardware, file, asked)) {
    found_ = true;
    return std::move(*kept);
  }
  PlannedNetwork made = plan_workload(workload, hardware, file, asked);
  try {
    write_plan(path, *key, made, hardware);
  } catch (const UserError& error) {
    print_message(fmt::format("{}; the plan is not kept", error.what()));
  }
  return made;
}

}  // namespace tilebeat
