#include "embed/handles.h"

#include "base/activity.h"
#include "base/types.h"
#include "config/hardware_config.h"
#include "reference/reference.h"
#include "report/report.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "system/simulation.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <systemc>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {

TensorData::Type public_type(DType type) {
  switch (type) {
    case DType::kInt8:
      return TensorData::Type::kInt8;
    case DType::kUint8:
      return TensorData::Type::kUint8;
    case DType::kInt32:
      return TensorData::Type::kInt32;
    case DType::kInt16:
      return TensorData::Type::kInt16;
    case DType::kInt64:
      return TensorData::Type::kInt64;
    case DType::kFloat32:
      break;
  }
  return TensorData::Type::kFloat32;
}

Granularity granularity_of(const RunOptions& options) {
  return options.granularity == RunOptions::Granularity::kClock ? Granularity::kClock : Granularity::kTile;
}

namespace {

std::map<std::string, TensorData> public_tensors(std::map<std::string, Tensor>&& tensors) {
  std::map<std::string, TensorData> made;
  for (auto& [name, tensor] : tensors)
    made[name] = {std::move(tensor.shape), public_type(tensor.dtype), std::move(tensor.bytes)};
  return made;
}

const Tensor& input_of(const Workload& workload, const std::string& name) {
  const auto found = workload.input_data.find(name);
  if (found == workload.input_data.end())
    throw UserError(fmt::format("network {}: has no input '{}'", workload.name, name));
  return found->second;
}

}  // namespace

Hardware Hardware::load(const std::string& path) {
  return Hardware(std::make_shared<const Inner>(Inner{load_hardware(path)}));
}

Hardware Hardware::parse(const std::string& text, const std::string& file) {
  const nlohmann::json json = parse_json(text, file);
  check_file_kind(json, FileKind::kHardware, file);
  return Hardware(std::make_shared<const Inner>(Inner{parse_hardware(json, file)}));
}

const std::string& Hardware::name() const {
  return inner_->config.name;
}

double Hardware::clock_mhz() const {
  return inner_->config.clock_mhz;
}

int Hardware::cores() const {
  return inner_->config.chip ? inner_->config.chip->cores() : 1;
}

std::int64_t Hardware::peak_macs_per_cycle() const {
  return inner_->config.macs_per_clock() * cores();
}

std::string Hardware::json() const {
  return hardware_to_json(inner_->config).dump(2) + "\n";
}

Network Network::load(const std::string& path) {
  return Network(std::make_shared<const Inner>(Inner{load_workload(path)}));
}

const std::string& Network::name() const {
  return inner_->workload.name;
}

std::vector<std::string> Network::inputs() const {
  std::vector<std::string> names;
  for (const auto& entry : inner_->workload.inputs) names.push_back(entry.first);
  return names;
}

const std::vector<std::string>& Network::outputs() const {
  return inner_->workload.outputs;
}

TensorData Network::input(const std::string& name) const {
  const Tensor& tensor = input_of(inner_->workload, name);
  return {tensor.shape, public_type(tensor.dtype), tensor.bytes};
}

void Network::set_input(const std::string& name, std::vector<std::uint8_t> bytes) {
  const std::size_t wanted = input_of(inner_->workload, name).bytes.size();
  if (bytes.size() != wanted)
    throw UserError(fmt::format("network {}: input '{}' takes {} bytes, not {}", inner_->workload.name, name,
                                wanted, bytes.size()));
  auto changed = std::make_shared<Inner>(*inner_);
  changed->workload.input_data.at(name).bytes = std::move(bytes);
  // Neither belongs to these elements.
  changed->workload.expected.clear();
  changed->workload.float_references.clear();
  inner_ = std::move(changed);
}

std::map<std::string, TensorData> Network::reference_outputs() const {
  return public_tensors(run_reference(inner_->workload));
}

std::vector<NetworkPlan::Layer> NetworkPlan::layers() const {
  std::vector<Layer> made;
  for (const LayerPlan& plan : inner_->planned.plan.layers) {
    Layer& layer = made.emplace_back();
    layer.name = plan.name, layer.op = plan.op, layer.layers = plan.layers;
    layer.macs = plan.macs;
    layer.estimated_cycles = plan.estimated_cycles, layer.bound_cycles = plan.bound.cycles();
    layer.dram_read_bytes = plan.input_bytes + plan.kernel_bytes;
    layer.dram_write_bytes = plan.output_bytes;
  }
  return made;
}

std::uint64_t NetworkPlan::dram_bytes() const {
  return inner_->planned.plan.dram_bytes;
}

std::string NetworkPlan::text() const {
  const Plan& plan = inner_->planned.plan;
  return layers_text(plan) + programs_text(plan, inner_->hardware->config);
}

std::string NetworkPlan::mapping() const {
  return mapping_text(inner_->planned.mappings, inner_->planned.groups);
}

NetworkPlan plan(const Hardware& hardware, const Network& network, const PlanOptions& options) {
  const NetworkMapping asked =
      options.mapping.empty() ? NetworkMapping{} : parse_mapping(options.mapping, "mapping");
  const Workload& workload = network.inner()->workload;
  try {
    return NetworkPlan(std::make_shared<const NetworkPlan::Inner>(
        NetworkPlan::Inner{hardware.inner(), plan_network(workload, hardware.inner()->config, asked)}));
  } catch (const PlanError& error) {
    if (error.layer().empty()) throw UserError(fmt::format("network {}: {}", workload.name, error.what()));
    throw UserError(fmt::format("network {}: layer '{}': {}", workload.name, error.layer(), error.what()));
  }
}

void check_made_for(const Hardware& hardware, const NetworkPlan& plan) {
  const std::shared_ptr<const Hardware::Inner>& other = plan.inner()->hardware;
  if (hardware.inner() == other) return;
  if (hardware_to_json(hardware.inner()->config) == hardware_to_json(other->config)) return;
  throw UserError(
      fmt::format("the plan of {} was made for hardware '{}', not for '{}' as it is configured here",
                  plan.inner()->planned.plan.name, other->config.name, hardware.name()));
}

Result make_result(RunResult run, std::shared_ptr<const Hardware::Inner> hardware) {
  auto inner = std::make_shared<Result::Inner>();
  for (const LayerResult& from : run.layers) {
    Result::Layer& layer = inner->layers.emplace_back();
    layer.name = from.name, layer.op = from.op, layer.layers = from.layers;
    layer.cycles = from.cycles, layer.estimated_cycles = from.estimated_cycles;
    layer.macs = from.macs, layer.utilization = from.utilization;
    layer.dram_read_bytes = from.bytes.dram_read, layer.dram_write_bytes = from.bytes.dram_write;
  }
  inner->outputs = public_tensors(std::move(run.outputs));
  run.outputs.clear();
  inner->run = std::move(run);
  inner->hardware = std::move(hardware);
  return Result(std::move(inner));
}

const std::vector<std::string>& Result::failures() const {
  return inner_->run.failures;
}

std::int64_t Result::cycles() const {
  return inner_->run.cycles;
}

std::int64_t Result::macs() const {
  return inner_->run.macs;
}

double Result::utilization() const {
  return inner_->run.utilization;
}

const std::vector<Result::Layer>& Result::layers() const {
  return inner_->layers;
}

const std::map<std::string, TensorData>& Result::outputs() const {
  return inner_->outputs;
}

namespace {

// The nearest of `known` in a message about `name`.
[[noreturn]] void refuse_name(const std::string& what, const std::string& name,
                              const std::vector<std::string>& known) {
  throw UserError(known.empty() ? fmt::format("there is no {}", what)
                                : fmt::format("there is no {} {}, the nearest name is {}", what, shown(name),
                                              nearest_name(name, known)));
}

}  // namespace

std::int64_t value_of(const std::vector<Counter>& counters, const std::string& module,
                      const std::string& name) {
  std::vector<std::string> modules, names;
  for (const Counter& counter : counters) {
    modules.push_back(counter.module);
    if (counter.module != module) continue;
    if (counter.name == name) return counter.value;
    names.push_back(counter.name);
  }
  if (names.empty()) refuse_name("module with counters", module, modules);
  refuse_name(fmt::format("counter of {}", module), name, names);
}

std::int64_t Result::counter(const std::string& module, const std::string& name) const {
  return value_of(inner_->run.counters, module, name);
}

std::int64_t Result::module_cycles(const std::string& module, const std::string& cause) const {
  std::vector<std::string> modules, causes;
  for (int i = 0; i < kActivityCount; ++i) causes.emplace_back(activity_name(static_cast<Activity>(i)));
  const auto activity = std::find(causes.begin(), causes.end(), cause);
  if (activity == causes.end()) refuse_name("activity", cause, causes);
  for (const ModuleCycles& known : inner_->run.modules) {
    if (known.name == module) return nth(known.activity, activity - causes.begin());
    modules.push_back(known.name);
  }
  refuse_name("module", module, modules);
}

std::string Result::report() const {
  std::string text;
  write_report(inner_->run, hardware_to_json(inner_->hardware->config), nullptr,
               [&](std::string_view part) { text += part; });
  return text;
}

std::string Result::table() const {
  return report_table(inner_->run);
}

Result simulate(const Hardware& hardware, const NetworkPlan& plan, const RunOptions& options) {
  if (options.dram == RunOptions::Dram::kExternal)
    throw UserError("an external memory needs a top level of its own: tilebeat::Accelerator");
  check_made_for(hardware, plan);
  if (sc_core::sc_get_status() != sc_core::SC_ELABORATION)
    throw UserError(
        "simulate: SystemC has elaborated in this process already, and does so once; fork a "
        "process for every simulation");
  SimulationOptions chosen;
  chosen.granularity = granularity_of(options);
  return make_result(simulate(hardware.inner()->config, plan.inner()->planned.plan, chosen),
                     hardware.inner());
}

}  // namespace tilebeat
