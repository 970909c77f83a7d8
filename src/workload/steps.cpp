#include "workload/steps.h"

#include "base/types.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::int64_t kMostLayersOfSteps = 1 << 20;

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& entry : map) keys.push_back(entry.first);
  return keys;
}

/// Makes the layers of one step of those that the file has for all.
class StepLayers {
 public:
  StepLayers(const StepsSpec& steps, Place place, int step)
      : steps_(steps), place_(std::move(place)), step_(step) {
    for (const Json& layer : steps.layers) {
      if (layer.contains("name") && layer["name"].is_string()) own_.insert(layer["name"].get<std::string>());
    }
  }

  /// Adds the layers to those of `workload`. Throws UserError.
  void add_to(WorkloadSpec& workload) const {
    ErrorList errors;
    for (std::size_t i = 0; i < steps_.layers.size(); ++i) {
      const Place place = place_.key("layers").item(i);
      LayerSpec layer;
      layer.of_step = OfStep{place, step_};
      const bool is_read = errors.attempt([&] {
        checked_in_step(layer.of_step,
                        [&] { LayerValue{layer}.read(in_this_step(steps_.layers[i], place), place); });
        layer.scene = fmt::format("step{}", step_);
      });
      if (is_read) workload.layers.push_back(std::move(layer));
    }
    errors.raise();
  }

  /// The name in this step of a layer of the steps.
  std::string named(const std::string& name) const { return fmt::format("{}.{}", name, step_); }

  /// Checks what does not change from step to step. Throws UserError.
  void check_names(const WorkloadSpec& workload) const {
    ErrorList errors;
    std::set<std::string> before;
    for (const InputSpec& input : workload.inputs) before.insert(input.name);
    for (const LayerSpec& layer : workload.layers) before.insert(layer.name);
    for (std::size_t i = 0; i < steps_.layers.size(); ++i) {
      const Place place = place_.key("layers").item(i).key("name");
      errors.attempt([&] { check_name(steps_.layers[i], before, place); });
    }
    for (const auto& [name, carried] : steps_.carried) {
      const Place place = place_.key("carried").key(name);
      errors.attempt([&, &name = name, &carried = carried] {
        if (before.count(name) > 0 || own_.count(name.substr(0, name.rfind('.'))) > 0)
          place.refuse(shown(name), "a name that no input and no layer has");
        need(carried.from, before, place.key("from"), "a workload input or a layer before the steps");
        need(carried.next, own_, place.key("next"), "a layer of the steps");
      });
    }
    std::set<std::string> written;
    for (std::size_t i = 0; i < steps_.outputs.size(); ++i) {
      const std::string& name = steps_.outputs[i];
      const Place place = place_.key("outputs").item(i);
      errors.attempt([&] {
        need(name, own_, place, "a layer of the steps");
        if (!written.insert(name).second) place.refuse(shown(name), "each name once");
      });
    }
    errors.raise();
  }

  /// Throws UserError for numbers and carried tensors that no layer has; the layers are right.
  void check_use() const {
    std::set<std::string> read;
    std::string text;
    for (const Json& layer : steps_.layers) {
      for (const Json& input : layer["inputs"]) read.insert(input.get<std::string>());
      text += layer.dump();
    }
    ErrorList errors;
    for (const auto& entry : steps_.carried) {
      if (read.count(entry.first) == 0)
        errors.attempt(
            [&] { place_.key("carried").key(entry.first).fail("no layer of the steps reads it"); });
    }
    for (const auto& entry : steps_.numbers) {
      const std::string use = "\"$" + entry.first;
      if (text.find(use + '"') == std::string::npos && text.find(use + ' ') == std::string::npos)
        errors.attempt([&] { place_.key("numbers").key(entry.first).fail("no layer of the steps has it"); });
    }
    errors.raise();
  }

 private:
  /// The number of a step is put behind a layer's name.
  static void check_name(const Json& layer, const std::set<std::string>& before, const Place& place) {
    const auto found = layer.find("name");
    if (found == layer.end() || !found->is_string()) return;
    const auto name = found->get<std::string>();
    if (before.count(name) > 0)
      place.refuse(shown(name), "a name that no input and no layer before the steps has");
    if (is_name(name) && !is_name(name + ".65536"))
      place.refuse(shown(name), "a name that leaves room for the number of a step, six letters");
  }

  static void need(const std::string& name, const std::set<std::string>& known, const Place& place,
                   const char* what) {
    if (known.count(name) > 0) return;
    std::string allowed = what;
    if (!known.empty())
      allowed += fmt::format(", the nearest is \"{}\"", nearest_name(name, {known.begin(), known.end()}));
    place.refuse(shown(name), allowed);
  }

  /// A layer with the numbers and the names of this step.
  Json in_this_step(const Json& layer, const Place& place) const {
    if (layer.contains("scene"))
      place.key("scene").fail("layers of steps have none: every step is a scene of its own");
    Json made = with_numbers(layer, place);
    if (made.contains("name") && made["name"].is_string()) made["name"] = named(made["name"]);
    if (!made.contains("inputs") || !made["inputs"].is_array()) return made;
    for (Json& input : made["inputs"]) {
      if (input.is_string()) input = read_in_step(input);
    }
    return made;
  }

  std::string read_in_step(const std::string& name) const {
    if (own_.count(name) > 0) return named(name);
    const auto carried = steps_.carried.find(name);
    if (carried == steps_.carried.end()) return name;
    return step_ == 1 ? carried->second.from : fmt::format("{}.{}", carried->second.next, step_ - 1);
  }

  /// `json` with a number for every text that begins with a dollar sign, where a number can stand.
  Json with_numbers(const Json& json, const Place& place) const {
    if (json.is_string()) {
      const auto& text = json.get_ref<const std::string&>();
      return text.rfind('$', 0) == 0 ? Json(number(text, place)) : json;
    }
    Json made = json;
    if (json.is_object()) {
      static const std::set<std::string> texts{"comment", "name", "op", "inputs", "file"};
      for (const auto& [key, value] : json.items())
        if (texts.count(key) == 0) made[key] = with_numbers(value, place.key(key));
    } else if (json.is_array()) {
      for (std::size_t i = 0; i < json.size(); ++i) made[i] = with_numbers(json[i], place.item(i));
    }
    return made;
  }

  /// The value in this step of "$name", "$name + 3" or "$name - 3".
  std::int64_t number(const std::string& text, const Place& place) const {
    const std::size_t end = std::min(text.find(' '), text.size());
    const auto found = steps_.numbers.find(text.substr(1, end - 1));
    std::int64_t more = 0;
    bool is_right = true;
    if (end < text.size()) {
      const std::string sign = text.substr(end, 3);
      const char* const first = text.data() + std::min(end + 3, text.size());
      const char* const last = text.data() + text.size();
      const auto read = std::from_chars(first, last, more);
      is_right = (sign == " + " || sign == " - ") && first < last && *first != '-' &&
                 read.ec == std::errc() && read.ptr == last && more <= kMostOfNumber;
      if (sign == " - ") more = -more;
    }
    if (!is_right || found == steps_.numbers.end()) {
      const std::vector<std::string> known = keys_of(steps_.numbers);
      place.refuse(shown(text),
                   known.empty()
                       ? "a value without dollar signs, as the steps have no `numbers`"
                       : fmt::format(R"("$name", "$name + 3" or "$name - 3" with a name of `numbers`: {})",
                                     fmt::join(known, ", ")));
    }
    return found->second.from + found->second.by * (step_ - 1) + more;
  }

  const StepsSpec& steps_;
  Place place_;
  int step_;                   // from 1 on
  std::set<std::string> own_;  // names of the layers of the steps
};

}  // namespace

void expand_steps(const StepsSpec& steps, const Place& place, WorkloadSpec& workload) {
  for (std::size_t i = 0; i < workload.layers.size(); ++i) {
    const std::string& scene = workload.layers[i].scene;
    if (scene.rfind("step", 0) == 0)
      Place(place.file(), "/layers")
          .item(i)
          .key("scene")
          .refuse(shown(scene), "a label that does not begin with \"step\", as those of `steps` do");
  }
  const auto most = kMostLayersOfSteps / std::max<std::int64_t>(1, ssize(steps.layers));
  if (steps.count > most)
    place.key("count").refuse(std::to_string(steps.count),
                              fmt::format("1 to {}, as {} layers a step are at most {} in all", most,
                                          steps.layers.size(), kMostLayersOfSteps));
  StepLayers(steps, place, 1).check_names(workload);
  const bool has_outputs = workload.outputs.has_value();
  const std::set<std::string> before =
      has_outputs ? std::set<std::string>(workload.outputs->begin(), workload.outputs->end())
                  : std::set<std::string>();
  if (!steps.outputs.empty() && !has_outputs) workload.outputs.emplace();
  for (int step = 1; step <= steps.count; ++step) {
    const StepLayers layers(steps, place, step);
    layers.add_to(workload);
    if (step == 1) layers.check_use();
    for (std::size_t i = 0; i < steps.outputs.size(); ++i) {
      const std::string name = layers.named(steps.outputs[i]);
      if (before.count(name) > 0)
        place.key("outputs").item(i).refuse(
            shown(steps.outputs[i]),
            fmt::format("a layer whose {} the workload's outputs do not name", name));
      workload.outputs->push_back(name);
    }
  }
}

}  // namespace tilebeat
