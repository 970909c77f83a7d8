#include "planner/program/planner.h"

#include "base/types.h"
#include "planner/fusion/choose_groups.h"
#include "planner/fusion/fusion_group.h"
#include "planner/layer/appended_tensors.h"
#include "planner/layer/estimate.h"
#include "planner/layer/placement.h"
#include "planner/program/barrier_placement.h"
#include "planner/program/fewer_cores.h"
#include "planner/program/fused_network.h"
#include "planner/program/planned_part.h"
#include "planner/program/weight_prefetch.h"
#include "planner/schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// A layer or a fusion group with its decisions, not yet lowered.
struct DecidedLayer : ProgramPart {
  const Layer* layer = nullptr;  // the last layer, of a group
  LayerPlan plan;
};

class NetworkPlanner {
 public:
  NetworkPlanner(const Workload& workload, const HardwareConfig& hardware, const NetworkMapping& asked,
                 const MappingTrial& trial, LayersChosenBefore& chosen_before)
      : workload_(workload),
        hardware_(hardware),
        asked_(asked),
        trial_(trial),
        places_(hardware, made_.plan),
        chosen_before_(chosen_before) {}

  /// Fuses these groups, beside those of the mapping file.
  void fuse(const std::vector<ChosenGroup>& groups) {
    for (const ChosenGroup& group : groups) {
      add_group(group.request);
      reasons_[groups_.back().get()] = group.reasons;
    }
  }

  PlannedNetwork run() {
    check_request();
    Plan& plan = made_.plan;
    plan.name = workload_.name;
    plan.outputs = workload_.outputs;
    for (const Layer& layer : workload_.layers) plan.graph.push_back({layer.name, layer.op, layer.inputs});
    make_asked_groups();
    places_.place_tensors(workload_, on_chip_);
    for (const Layer& layer : workload_.layers) {
      if (on_chip_.count(layer.name) > 0) continue;
      try {
        decide(layer, decided_.emplace_back());
      } catch (const UserError& error) {
        const auto place = place_of_request(layer);
        throw PlanError(layer.name, place ? place->located(error.what()) : error.what(), place.has_value());
      }
    }
    for (DecidedLayer& layer : decided_) lower(layer);
    for (ProgramImage& program : plan.programs) program.instructions.push_back({{}, {}, {}, Halt{}});
    places_.place_programs();
    plan.dram_bytes = places_.used();
    place_start_tables(plan, hardware_);
    const auto size = to_unsigned(hardware_.dram.size_bytes);
    if (plan.dram_bytes > size) {
      throw PlanError(
          "",
          fmt::format(
              "workload '{}' cannot fit: tensors, kernels and programs take {} bytes, dram.size_bytes is {}",
              workload_.name, plan.dram_bytes, size));
    }
    return std::move(made_);
  }

 private:
  bool is_board() const { return !hardware_.chip; }

  // ---- decisions ----

  // Checks that the mapping file names existing layers on matrix units of a chip.
  void check_request() {
    for (std::size_t i = 0; i < asked_.layers.size(); ++i) {
      const MappingRequest& request = asked_.layers[i];
      const Place place = Place(asked_.file).key("layers").item(i);
      const auto refuse = [&](const std::string& why) {
        place.fail(fmt::format("layer '{}' {}", request.layer, why));
      };
      const auto layer = std::find_if(workload_.layers.begin(), workload_.layers.end(),
                                      [&](const Layer& l) { return l.name == request.layer; });
      if (layer == workload_.layers.end()) refuse("is not in the workload");
      if (is_board()) refuse("cannot be mapped: the hardware has no chip");
      if (!std::holds_alternative<Conv2d>(layer->operation)) refuse("does not run on matrix units");
      if (!request.engine_choices.empty())
        chosen_hardware_.emplace(request.layer, with_choices(hardware_, request, place));
      if (request.engine && *request.engine != hardware_.dataflow)
        refuse(fmt::format("asks for the engine \"{}\", the cores have \"{}\"", *request.engine,
                           hardware_.dataflow));
    }
  }
  const MappingRequest* asked_of(const std::string& layer) const {
    const auto found = std::find_if(asked_.layers.begin(), asked_.layers.end(),
                                    [&](const MappingRequest& r) { return r.layer == layer; });
    return found == asked_.layers.end() ? nullptr : &*found;
  }

  // The request of a mapping file for the layer, or for the group that ends with it; null: there is none.
  std::optional<Place> place_of_request(const Layer& layer) const {
    if (asked_.file.empty()) return {};
    const Place root(asked_.file);
    if (const MappingRequest* request = asked_of(layer.name))
      return root.key("layers").item(to_size(request - asked_.layers.data()));
    const auto group = std::find_if(asked_.groups.begin(), asked_.groups.end(), [&](const GroupRequest& g) {
      return !g.layers.empty() && g.layers.back() == layer.name;
    });
    if (group == asked_.groups.end()) return {};
    return root.key("groups").item(to_size(group - asked_.groups.begin()));
  }

  // Makes the fusion groups of the mapping file.
  void make_asked_groups() {
    for (std::size_t i = 0; i < asked_.groups.size(); ++i) {
      try {
        add_group(asked_.groups[i]);
        groups_.back()->check_reductions();
      } catch (const UserError& error) {
        Place(asked_.file).key("groups").item(i).fail(error.what());
      }
    }
  }
  void add_group(const GroupRequest& request) {
    groups_.push_back(std::make_unique<FusionGroup>(index_, hardware_, request));
    on_chip_.merge(groups_.back()->inner_tensors());
    made_.groups.push_back(groups_.back()->mapping());
  }
  FusionGroup* group_of(const Layer& layer) const {
    for (const auto& group : groups_) {
      if (group->mapping().layers.back() == layer.name) return group.get();
    }
    return nullptr;
  }
  void decide_group(DecidedLayer& d, FusionGroup& group) {
    d.part = std::make_unique<GroupPart>(group, made_.plan.tensors);
    d.part->place(places_);
    d.plan = group.plan();
    for (auto& reason : reasons_[&group]) d.plan.choices.push_back(std::move(reason));
    d.plan.facts = std::exchange(d.plan.choices, {});  // reports have them, too
    const PrefetchRequest asked = asked_of_group(d.name);
    if (asked.loads ? *asked.loads == 0 : !hardware_.planner.weight_prefetch) return;
    load_ahead(d, prefetch_of(*d.layer).find(*d.part, asked));
    if (d.prefetch.loads == 0) return;
    GroupMapping& mapping =
        *std::find_if(made_.groups.begin(), made_.groups.end(),
                      [&](const GroupMapping& m) { return m.layers == group.mapping().layers; });
    mapping.weight_prefetch = d.prefetch.loads, mapping.weight_prefetch_during = d.during;
  }

  void decide(const Layer& layer, DecidedLayer& d) {
    d.layer = &layer, d.name = layer.name;
    d.plan.name = layer.name, d.plan.op = layer.op, d.plan.scene = layer.scene;
    if (on_host(layer)) return;
    d.plan.output_bytes = layer.output.size_bytes();
    std::set<int>& workers = workers_[layer.scene];
    d.started = workers.empty();
    workers.insert(0);
    if (FusionGroup* group = group_of(layer)) {
      decide_group(d, *group);
    } else if (std::holds_alternative<Conv2d>(layer.operation)) {
      decide_matrix(d);
    } else if (is_board()) {
      throw UserError(fmt::format("layer '{}': op {} needs a vector unit, which this hardware does not have",
                                  layer.name, layer.op));
    } else if (std::holds_alternative<Reshape>(layer.operation)) {
      d.part = std::make_unique<ReshapePart>();
      d.plan.output_bytes = 0;
      d.plan.choices.emplace_back("why", "the tensor stays where it is");
    } else {
      decide_vector(d);
    }
    for (const int processor : d.part->processors()) workers.insert(processor);
    if (hardware_.planner.map_layout != MapLayout::kNhwc)
      d.plan.choices.emplace_back("in DRAM", orders_in_dram(layer, made_.plan.tensors, hardware_.planner));
    if (d.part->works()) prefetch_of(layer).add(d);
  }

  void decide_matrix(DecidedLayer& d) {
    const Layer& layer = *d.layer;
    const auto chosen = chosen_hardware_.find(layer.name);
    const HardwareConfig& engine_hardware = chosen == chosen_hardware_.end() ? hardware_ : chosen->second;
    auto matrix = make_matrix_layer(workload_, layer, engine_hardware);
    const Problem& p = matrix->problem();
    const OperandLayouts layouts =
        operand_layouts(p, made_.plan.tensors.at(layer.inputs.front()), made_.plan.tensors.at(layer.name));
    d.plan.macs = useful_macs(workload_, layer);
    d.plan.bound = bound_of(p, layer, d.plan.macs, hardware_);
    if (is_board()) {
      d.plan.facts = matrix->facts();
      d.part = std::make_unique<BoardPart>(std::move(matrix), layouts, hardware_, d.plan.choices);
    } else {
      auto part = choose(d, engine_hardware, std::move(matrix), layouts);
      d.plan.choices = part->explain(), d.plan.facts = part->facts();
      LayerMapping& mapping = made_.mappings.emplace_back(part->mapping());
      mapping.weight_prefetch = d.prefetch.loads, mapping.weight_prefetch_during = d.during;
      d.part = std::move(part);
    }
    d.part->place(places_);
  }

  // Chooses the mapping of a layer on matrix units.
  std::unique_ptr<MatrixPart> choose(DecidedLayer& d, const HardwareConfig& engine_hardware,
                                     std::shared_ptr<MatrixLayer> matrix, const OperandLayouts& layouts) {
    const Layer& layer = *d.layer;
    const bool tensor_kernels = matrix->problem().kernel_tensor.has_value();
    OperandPlaces places{layouts.input, std::nullopt};
    if (tensor_kernels) places.kernels = kernels_at(made_.plan.tensors.at(layer.inputs.at(1)));
    LayerQuestion question{workload_,
                           layer,
                           hardware_,
                           engine_hardware,
                           std::move(matrix),
                           places,
                           layouts.output,
                           d.started,
                           false,
                           workers_.at(layer.scene),
                           asked_of(layer.name),
                           trial_of(layer)};
    const auto chosen_part = [&] {
      ChosenLayer chosen = chosen_before_.choose(question);
      chosen.mapping.engine = hardware_.dataflow;
      chosen.mapping.engine_choices = chosen.layer.largest().layer->choices();
      return std::make_unique<MatrixPart>(std::move(chosen), layouts.output, hardware_);
    };
    const PrefetchRequest asked = asked_of_layer(layer.name);
    const bool looks_ahead = hardware_.planner.weight_prefetch && !tensor_kernels;
    if (asked.loads ? *asked.loads == 0 : !looks_ahead) return chosen_part();
    if (tensor_kernels) refuse_prefetch(*asked.loads, "the kernels are a tensor");
    const WeightPrefetch& prefetch = prefetch_of(layer);
    const bool compares = looks_ahead && !asked.loads && !prefetch.empty();
    const bool simulates = static_cast<bool>(question.trial);
    question.refines = !compares || simulates;
    std::unique_ptr<MatrixPart> part = chosen_part();
    const bool may_change = part->mapping().cores() == 1;  // else single fields are not changed
    PrefetchPlan ahead = prefetch.find(*part, asked);
    const auto compare = [&](double faster, double fewer) {
      std::unique_ptr<MatrixPart> other = chosen_part();
      const PrefetchPlan with = prefetch.find(*other, asked);
      if (with.cycles < faster * ahead.cycles && with.cycles + fewer < ahead.cycles)
        ahead = with, part = std::move(other);
    };
    if (compares) {
      // Prefetched kernels may make other mappings the fastest; those that are not need small loads.
      question.trial = {}, question.kernels_loaded = true, question.refines = false;
      compare(kClearlyFaster, kClearlyFewer);
      question.kernels_loaded = false, question.refines = true;
      if (!simulates && may_change && ahead.cycles > kShortLayer)
        compare(kWorthChanging, kWorthChangingCycles);
    }
    load_ahead(d, ahead);
    return part;
  }

  LayerTrial trial_of(const Layer& layer) const {
    if (!trial_ || hardware_.planner.search.value_or(0) == 0) return {};
    const MappingRequest* asked = asked_of(layer.name);
    std::string choices;  // the engine's choices of the request, if any
    if (asked != nullptr && !asked->engine_choices.empty()) choices = asked->engine_choices.begin()->second;
    return [this, &layer, choices](LayerMapping mapping) {
      mapping.engine = hardware_.dataflow, mapping.engine_choices = choices;
      return trial_(layer, mapping);
    };
  }

  void decide_vector(DecidedLayer& d) {
    const Layer& layer = *d.layer;
    std::vector<Placement> inputs;
    for (const std::string& name : layer.inputs) inputs.push_back(made_.plan.tensors.at(name));
    const Placement& output = made_.plan.tensors.at(layer.name);
    auto vector = make_vector_work(layer, hardware_, inputs, output);
    d.plan.output_bytes = vector->result_bytes();
    d.plan.bound.dram = dram_bound(vector->touched_bytes(), hardware_);
    auto part = std::make_unique<VectorPart>(std::move(vector), layer.name, d.started, hardware_);
    part->place(places_);
    d.plan.choices.emplace_back("cores",
                                fmt::format("{} of {} cores", part->cores(), hardware_.chip->cores()));
    d.plan.choices.emplace_back("why", "vector unit");
    if (d.plan.output_bytes < layer.output.size_bytes())
      d.plan.choices.emplace_back("concat", appended_in_words(layer, d.plan.output_bytes));
    d.part = std::move(part);
  }

  // ---- weight prefetch ----

  WeightPrefetch& prefetch_of(const Layer& layer) {
    return prefetches_.try_emplace(layer.scene, hardware_).first->second;
  }

  static void load_ahead(DecidedLayer& d, const PrefetchPlan& plan) {
    if (plan.host == nullptr) return;
    plan.host->guests.push_back(&d), plan.host->tasks.reset();
    d.prefetch = plan.prefetch, d.during = plan.host->name;
  }

  PrefetchRequest asked_of_layer(const std::string& layer) const {
    const MappingRequest* request = asked_of(layer);
    return request == nullptr ? PrefetchRequest{}
                              : PrefetchRequest{request->weight_prefetch, request->weight_prefetch_during};
  }
  PrefetchRequest asked_of_group(const std::string& last_layer) const {
    const auto group =
        std::find_if(asked_.groups.begin(), asked_.groups.end(), [&](const GroupRequest& request) {
          return !request.layers.empty() && request.layers.back() == last_layer;
        });
    return group == asked_.groups.end()
               ? PrefetchRequest{}
               : PrefetchRequest{group->weight_prefetch, group->weight_prefetch_during};
  }

  // ---- programs ----

  // Adds the weight prefetch of later layers: it changes the bytes and bounds of both layers.
  void add_ahead(DecidedLayer& d, TaskGraph& graph, PlannedUse use) {
    for (const ProgramPart* later : d.guests) {
      use = later->part->build_prefetch(graph, later->prefetch, use.sram);
      d.plan.kernel_bytes += use.bytes.kernels, d.plan.bytes_ahead += use.bytes.kernels;
      d.plan.bound.dram += dram_bound(use.bytes.kernels, hardware_);
      bytes_before_[later->name] = use.bytes.kernels;
    }
    const auto before = bytes_before_.find(d.name);
    if (before == bytes_before_.end()) return;
    d.plan.bytes_before = before->second;
    d.plan.bound.dram = std::max<Cycle>(0, d.plan.bound.dram - dram_bound(before->second, hardware_) - 1);
    d.plan.choices.emplace_back("prefetch", fmt::format("{} bytes of the kernels are loaded while '{}' runs",
                                                        before->second, d.during));
  }

  void lower(DecidedLayer& d) {
    if (on_host(*d.layer)) return add_host_layer(workload_, *d.layer, std::move(d.plan), made_.plan);
    const std::int64_t fetched = program_bytes(d.layer->scene);
    TaskGraph graph;
    graph.place_constants([&](std::vector<std::uint8_t> bytes) {
      return places_.place_constant("constants of " + d.name, std::move(bytes));
    });
    const PlannedUse use = d.part->build(graph, d.prefetch);
    d.plan.input_bytes = use.bytes.maps, d.plan.kernel_bytes = use.bytes.kernels;
    d.plan.macs -= use.hidden_macs;
    if (group_of(*d.layer) != nullptr)
      d.plan.facts.emplace_back(
          "takes", fmt::format("{} of {} bytes of a cluster's SRAM, {} of {} of a core's WRAM", use.sram,
                               hardware_.chip->sram_bytes(), use.wram, hardware_.chip->core.wram.size_bytes));
    add_ahead(d, graph, use);
    const std::set<int>& workers = workers_.at(d.layer->scene);
    const std::vector<Dependency> dependencies = dependencies_of(graph);
    Machine machine = machine_of(
        hardware_, d.started ? std::vector<int>(workers.begin(), workers.end()) : std::vector<int>{},
        decided_.size() == 1 && !is_board() ? std::optional(cores_among(*hardware_.chip, workers))
                                            : std::nullopt);
    if (d.started && decided_.size() > 1)  // starting processors fill their instruction buffers
      machine.fetched_bytes = later_instruction_bytes(graph, workers, hardware_);
    const Schedule times = schedule(graph, dependencies, machine);
    for (const Task& task : graph.tasks()) d.plan.beats += task.cost.beats, count_tables(task, d.plan);
    d.plan.bound.beats = ceil_div<std::int64_t>(d.plan.beats, is_board() ? 1 : hardware_.chip->cores());
    d.plan.estimated_cycles = std::max<Cycle>(
        std::llround(times.cycles) + end_cycles(hardware_, count_of(workers)), d.plan.bound.cycles());
    const auto number = static_cast<std::uint32_t>(made_.plan.layers.size());
    if (workers.size() > 1)
      separate(d, workers, {number, false, {}, {}, graph, dependencies, machine, times.cycles});
    for (auto& [processor, instructions] :
         synchronise(graph, dependencies, times, is_board() ? 1 : cluster_size(*hardware_.chip))) {
      std::vector<Instruction>& program = program_of(d.layer->scene, processor);
      program.insert(program.end(), instructions.begin(), instructions.end());
    }
    d.plan.ends = count_of(workers);
    for (const int processor : workers)
      program_of(d.layer->scene, processor).push_back({{}, {}, {}, LayerEnd{number}});
    d.plan.instruction_bytes = program_bytes(d.layer->scene) - fetched;
    made_.plan.layers.push_back(std::move(d.plan));
    d.part.reset();
  }

  // A layer ends when all processors have finished their parts.
  void separate(DecidedLayer& d, const std::set<int>& workers, BarrierPlacement::Next next) {
    BarrierPlacement& program =
        programs_.try_emplace(d.layer->scene, workload_, *hardware_.chip).first->second;
    const FusionGroup* group = group_of(*d.layer);
    next.works = d.part->works();
    next.makes = group != nullptr ? group->mapping().layers : std::vector<std::string>{d.name};
    next.reads = group != nullptr ? group->inputs() : d.layer->inputs;
    const std::optional<std::uint32_t> before = program.last();
    const BarrierPlacement::Border border = program.add(next);
    d.plan.overlaps = border == BarrierPlacement::Border::kOpen;
    if (d.plan.overlaps) {
      d.plan.facts.emplace_back("begins", fmt::format("without a barrier, while others may still end '{}'",
                                                      made_.plan.layers[*before].name));
    }
    if (border != BarrierPlacement::Border::kBarrier) return;
    const Barrier operation{static_cast<std::uint16_t>(*before), static_cast<std::uint16_t>(workers.size())};
    for (const int processor : workers)
      program_of(d.layer->scene, processor).push_back({{}, {}, {}, operation});
  }
  // Bytes of a scene's programs so far. Scenes are planned one after the other: those of this one are the
  // last.
  std::int64_t program_bytes(const std::string& scene) const {
    const auto& programs = made_.plan.programs;
    std::int64_t bytes = 0;
    for (auto program = programs.rbegin(); program != programs.rend() && program->label == scene; ++program)
      bytes += ssize(program->instructions) * kInstructionBytes;
    return bytes;
  }
  // Counts the tables that the task's unit reads, unless they are those that it has read last.
  void count_tables(const Task& task, LayerPlan& plan) {
    if (task.cost.table_bytes == 0) return;
    std::uint64_t& held = tables_held_[task.processor];
    if (task.cost.table == 0 || task.cost.table != held) plan.table_bytes += task.cost.table_bytes;
    held = task.cost.table;
  }
  std::vector<Instruction>& program_of(const std::string& scene, int processor) {
    auto& programs = made_.plan.programs;
    for (auto program = programs.rbegin(); program != programs.rend() && program->label == scene; ++program)
      if (program->processor == processor) return program->instructions;
    programs.push_back({scene, processor, 0, {}});
    return programs.back().instructions;
  }

  const Workload& workload_;
  const LayerIndex index_{workload_};
  const HardwareConfig& hardware_;
  const NetworkMapping& asked_;
  const MappingTrial& trial_;
  std::map<std::string, HardwareConfig> chosen_hardware_;  // by layer with engine choices of its own
  PlannedNetwork made_;
  DramPlaces places_;
  std::vector<std::unique_ptr<FusionGroup>> groups_;
  std::map<const FusionGroup*, std::vector<std::pair<std::string, std::string>>> reasons_;
  std::set<std::string> on_chip_;  // tensors inside fusion groups
  LayersChosenBefore& chosen_before_;
  std::deque<DecidedLayer> decided_;
  std::map<std::string, WeightPrefetch> prefetches_;  // by scene
  // by layer: kernel bytes that an earlier layer prefetches
  std::map<std::string, std::int64_t> bytes_before_;
  std::map<int, std::uint64_t> tables_held_;          // by processor: address of its unit's tables; 0: none
  std::map<std::string, std::set<int>> workers_;      // by scene: the processors that have a program
  std::map<std::string, BarrierPlacement> programs_;  // by scene
};

}  // namespace

PlannedNetwork plan_network(const Workload& workload, const HardwareConfig& hardware,
                            const NetworkMapping& asked, const MappingTrial& trial) {
  LayersChosenBefore chosen_before;
  const bool is_free =
      asked.layers.empty() && asked.groups.empty() && hardware.planner.search.value_or(0) == 0;
  const auto plan_with = [&](const HardwareConfig& chosen, const std::vector<ChosenGroup>& groups) {
    NetworkPlanner planner(workload, chosen, asked, trial, chosen_before);
    planner.fuse(groups);
    PlannedNetwork planned = planner.run();
    if (!is_free || chosen.fused) return planned;
    return or_as_on_fewer_cores(workload, chosen, std::move(planned),
                                [&](const HardwareConfig& other, const NetworkMapping& requests) {
                                  LayersChosenBefore chosen_there;
                                  return NetworkPlanner(workload, other, requests, trial, chosen_there).run();
                                });
  };
  if (hardware.fused && asked.groups.empty()) return plan_fused(workload, hardware, plan_with);
  if (asked.groups.empty()) return plan_with(hardware, {});
  // Groups that a mapping asks for are those of fused hardware, whatever the hardware says.
  HardwareConfig fused = hardware;
  fused.fused = true;
  return plan_with(fused, {});
}

Plan make_plan(const Workload& workload, const HardwareConfig& hardware) {
  return std::move(plan_network(workload, hardware).plan);
}

}  // namespace tilebeat
