#include "app/whatif_knobs.h"

#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fnmatch.h>

namespace tilebeat {
namespace {

// Numbers outside of engines, by JSON pointer; those that the effective configuration lacks do not exist.
// What moves bytes comes first: with a budget the first steps are the ones that are measured.
constexpr const char* kNumbers[] = {
    "/interconnect/bytes_per_clock",
    "/dram/channels",
    "/dram/port_bytes_per_clock",
    "/chip/memory_controllers",
    "/chip/core/nram/size_bytes",
    "/chip/core/wram/size_bytes",
    "/chip/sram/size_bytes",
    "/chip/core/bus/bytes_per_clock",
    "/chip/cluster_bus/bytes_per_clock",
    "/chip/cluster_link/bytes_per_clock",
    "/chip/core/vector/lanes",
    "/chip/cores_per_cluster",
    "/chip/clusters",
    "/dma/burst_bytes",
    "/dma/max_outstanding",
    "/dma/buffer_bytes",
    "/dma/command_queue",
    "/chip/core/copy/burst_bytes",
    "/chip/core/copy/max_outstanding",
    "/chip/core/copy/buffer_bytes",
    "/chip/copy/burst_bytes",
    "/chip/copy/max_outstanding",
    "/chip/copy/buffer_bytes",
    "/interconnect/max_outstanding",
    "/dram/queue_depth",
    "/chip/core/nram/banks",
    "/chip/core/wram/banks",
    "/chip/core/nram/request_queue",
    "/chip/core/wram/request_queue",
    "/chip/sram/request_queue",
    "/host/instruction_buffer_bytes",
};
// The knobs of the ways of bytes; a step up widens one.
constexpr std::array<std::string_view, 8> kWays{"interconnect.bytes_per_clock",
                                                "dram.preset",
                                                "dram.channels",
                                                "dram.port_bytes_per_clock",
                                                "chip.memory_controllers",
                                                "chip.core.bus.bytes_per_clock",
                                                "chip.cluster_bus.bytes_per_clock",
                                                "chip.cluster_link.bytes_per_clock"};
constexpr const char* kWramBanks = "/chip/core/wram/banks";

// "/dram/channels" as "dram.channels".
std::string name_of(const std::string& pointer) {
  std::string name = pointer.substr(1);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// A number of cycles is no knob: a shorter latency has no price here.
bool is_latency(const std::string& field) {
  return ends_with(field, "_cycles") || ends_with(field, "_stages") ||
         field.find("_clocks_") != std::string::npos;
}

class Steps {
 public:
  Steps(const HardwareConfig& hardware, const Json& file, const std::string& config, const Json& workload)
      : hardware_(hardware),
        file_(file),
        config_(config),
        workload_(workload),
        effective_(Json(hardware_to_json(hardware))) {}

  std::vector<KnobStep> all() {
    number(kNumbers[0]);
    presets();
    if (hardware_.chip) {
      other("/fused", {!hardware_.fused});
      others("/chip/core/stores", kStoreOrderNames);
    }
    for (std::size_t i = 1; i < std::size(kNumbers); ++i) number(kNumbers[i]);
    const EngineDescription& engine = engine_description(hardware_.dataflow);
    engine_fields(std::string("/") + engine.key, Json(hardware_.matrix_engine().schema()), engine);
    std::vector<std::string_view> engines;
    for (const EngineDescription& description : engine_descriptions())
      engines.emplace_back(description.dataflow);
    others("/dataflow", engines);
    batch();
    return std::move(steps_);
  }

 private:
  // The reason why the hardware file with the change is refused; empty: it is not.
  std::string problem_of(const SweepSettings& set) const {
    Json changed = file_;
    try {
      for (const auto& [pointer, value] : set) set_at(changed, pointer, value, config_, Place(config_));
      parse_hardware(changed, config_);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }

  KnobStep made(const std::string& knob, const Json& from, const Json& to) const {
    KnobStep step;
    step.knob = knob, step.values = {from, to};
    step.change.label = fmt::format("{}={}", knob, text_of(to));
    return step;
  }

  KnobStep& add(const std::string& pointer, const Json& from, const Json& to) {
    KnobStep step = made(name_of(pointer), from, to);
    step.widens =
        std::find(kWays.begin(), kWays.end(), step.knob) != kWays.end() && (to.is_string() || to > from);
    SweepSettings& set = nth(step.change.set, SweepTarget::kConfig);
    set[pointer] = to;
    step.refused = problem_of(set);
    return steps_.emplace_back(std::move(step));
  }

  const Json* value_at(const std::string& pointer) const {
    const Json::json_pointer place(pointer);
    return effective_.contains(place) ? &effective_[place] : nullptr;
  }

  void number(const std::string& pointer) {
    const Json* value = value_at(pointer);
    if (value == nullptr || !value->is_number_integer()) return;
    auto from = value->get<std::int64_t>();
    if (pointer == "/chip/sram/size_bytes") from = hardware_.chip->sram_bytes();
    if (pointer == "/chip/cluster_link/bytes_per_clock" && hardware_.chip->clusters == 1) return;
    if (from <= 0) return;  // not there, or chosen by the planner
    add(pointer, from, 2 * from);
    if (from % 2 == 0) add(pointer, from, from / 2);
  }

  void other(const std::string& pointer, const std::vector<Json>& values) {
    for (const Json& value : values) add(pointer, effective_[Json::json_pointer(pointer)], value);
  }

  // A step to each of `names` but the one that is there.
  template <class Names>
  void others(const std::string& pointer, const Names& names) {
    std::vector<Json> values;
    for (const auto& name : names) {
      if (name != *value_at(pointer)) values.emplace_back(name);
    }
    other(pointer, values);
  }

  void presets() {
    std::vector<std::string_view> names;
    std::copy_if(kDramPresetNames.begin(), kDramPresetNames.end(), std::back_inserter(names),
                 [](std::string_view name) { return name.find("ecc") == std::string_view::npos; });
    others("/dram/preset", names);
  }

  void engine_fields(const std::string& object, const Json& schema, const EngineDescription& engine) {
    for (const auto& [field, description] : schema["properties"].items()) {
      const std::string pointer = object + "/" + field;
      const auto& programs = engine.layer_choices;
      if (is_latency(field) || std::find(programs.begin(), programs.end(), field) != programs.end()) continue;
      if (description.contains("properties")) {
        engine_fields(pointer, description, engine);
      } else if (description.contains("enum")) {
        if (value_at(pointer) != nullptr) others(pointer, description["enum"]);
      } else {
        const std::size_t before = steps_.size();
        number(pointer);
        for (std::size_t i = before; engine.wram_regions && i < steps_.size(); ++i) with_regions(steps_[i]);
      }
    }
  }

  // Where the WRAM has a region for each of something, both change together.
  void with_regions(KnobStep& step) const {
    if (step.refused.empty()) return;
    const auto banks = effective_[Json::json_pointer(kWramBanks)].get<std::int64_t>();
    const auto to = step.to().get<std::int64_t>(), from = step.from().get<std::int64_t>();
    SweepSettings set = nth(step.change.set, SweepTarget::kConfig);
    set[kWramBanks] = to > from ? banks * (to / from) : banks / (from / to);
    if (!problem_of(set).empty()) return;
    nth(step.change.set, SweepTarget::kConfig) = std::move(set);
    step.refused.clear();
  }

  // The first axis of all inputs; a workload whose inputs have other first axes has no batch.
  void batch() {
    if (!workload_.is_object() || !workload_.contains("inputs") || !workload_["inputs"].is_array()) return;
    std::int64_t images = 0;
    for (const Json& input : workload_["inputs"]) {
      const Json shape = input.value("shape", Json::array());
      if (!shape.is_array() || shape.empty() || !shape[0].is_number_integer()) return;
      if (images != 0 && shape[0] != images) return;
      images = shape[0].get<std::int64_t>();
    }
    if (images <= 0) return;
    std::vector<std::int64_t> others{2 * images};
    if (images % 2 == 0) others.push_back(images / 2);
    for (const std::int64_t other : others) {
      KnobStep step = made("batch", images, other);
      step.images_before = images, step.images = other;
      for (std::size_t i = 0; i < workload_["inputs"].size(); ++i)
        nth(step.change.set, SweepTarget::kLayer)[fmt::format("/inputs/{}/shape/0", i)] = other;
      steps_.push_back(std::move(step));
    }
  }

  const HardwareConfig& hardware_;
  const Json& file_;
  const std::string& config_;
  const Json& workload_;
  Json effective_;
  std::vector<KnobStep> steps_;
};

bool is_named(const std::string& knob, const std::string& name) {
  return knob == name || knob.compare(0, name.size() + 1, name + ".") == 0 ||
         fnmatch(name.c_str(), knob.c_str(), 0) == 0;
}

}  // namespace

std::vector<KnobStep> knob_steps(const HardwareConfig& hardware, const Json& file, const std::string& config,
                                 const Json& workload) {
  return Steps(hardware, file, config, workload).all();
}

std::vector<KnobStep> chosen_steps(const std::vector<KnobStep>& steps,
                                   const std::vector<std::string>& names) {
  std::vector<std::string> groups, known;  // the words in front of dots, and all that can be named
  const auto add = [](std::vector<std::string>& list, const std::string& name) {
    if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
  };
  for (const KnobStep& step : steps) {
    add(groups, step.knob.substr(0, step.knob.find('.')));
    for (std::size_t dot = step.knob.find('.'); dot != std::string::npos; dot = step.knob.find('.', dot + 1))
      add(known, step.knob.substr(0, dot));
    add(known, step.knob);
  }
  for (const std::string& name : names) {
    if (std::none_of(steps.begin(), steps.end(), [&](const auto& step) { return is_named(step.knob, name); }))
      throw UserError(
          fmt::format("--knobs {}: is no knob of this hardware, the nearest name is {}; they begin with {}",
                      name, nearest_name(name, known), fmt::join(groups, ", ")));
  }
  std::vector<KnobStep> chosen;
  for (const KnobStep& step : steps) {
    if (names.empty() ||
        std::any_of(names.begin(), names.end(), [&](const auto& name) { return is_named(step.knob, name); }))
      chosen.push_back(step);
  }
  return chosen;
}

}  // namespace tilebeat
