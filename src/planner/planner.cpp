#include "tilebeat/planner/planner.h"

#include "tilebeat/base/math.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "board_job.h"
#include "choose_layer.h"
#include "choose_units.h"
#include "estimate.h"
#include "explain.h"
#include "fused_unit.h"
#include "matrix_tasks.h"
#include "placement.h"
#include "processors.h"
#include "task/synchronise.h"
#include "vector_tasks.h"

namespace tilebeat {
namespace {

// A layer that is decided and not yet lowered.
struct DecidedLayer {
  const Layer* layer = nullptr;
  std::shared_ptr<MatrixLayer> matrix;
  SharedLayer shared;   // on a chip: the same, as its cores compute it
  WeightPlace weights;  // on a board
  std::unique_ptr<VectorLayer> vector;
  const FusedUnit* unit = nullptr;  // of which it is the last layer
  LayerMapping mapping;
  std::uint64_t parameters = 0;  // of a vector layer
  DataPath path = DataPath::kDirect;
  bool first = false;  // of its program: processors are started for it
  LayerPlan plan;
};

class NetworkPlanner {
 public:
  NetworkPlanner(const Workload& workload, const HardwareConfig& hardware, const NetworkMapping& asked,
                 const MappingTrial& trial)
      : workload_(workload),
        hardware_(hardware),
        asked_(asked),
        trial_(trial),
        places_(hardware, made_.plan) {}

  PlannedNetwork run() {
    check_request();
    Plan& plan = made_.plan;
    plan.name = workload_.name;
    plan.outputs = workload_.outputs;
    make_units();
    places_.place_tensors(workload_, on_chip_);
    for (const Layer& layer : workload_.layers) {
      if (on_chip_.count(layer.name) > 0) continue;
      try {
        decided_.push_back(decide(layer));
      } catch (const UserError& error) {
        throw PlanError(layer.name, error.what());
      }
    }
    for (DecidedLayer& layer : decided_) lower(layer);
    if (made_.fusion) made_.fusion->fused = totals_of(plan);
    if (made_.fusion && is_worse(*made_.fusion, hardware_.fusion)) {
      alone_.fusion = made_.fusion;
      alone_.fusion->fused = made_.fusion->alone, alone_.fusion->kept_alone = true;
      return std::move(alone_);
    }
    for (ProgramImage& program : plan.programs) program.instructions.push_back({{}, {}, {}, Halt{}});
    places_.place_programs();
    plan.dram_bytes = places_.used();
    const auto size = static_cast<std::uint64_t>(hardware_.dram.size_bytes);
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

  // A mapping file speaks of layers that are there, on matrix units of a chip.
  void check_request() {
    for (std::size_t i = 0; i < asked_.layers.size(); ++i) {
      const MappingRequest& request = asked_.layers[i];
      const auto refuse = [&](const std::string& why) {
        throw UserError(fmt::format("{}: layers[{}]: layer '{}' {}", asked_.file, i, request.layer, why));
      };
      const auto layer = std::find_if(workload_.layers.begin(), workload_.layers.end(),
                                      [&](const Layer& l) { return l.name == request.layer; });
      if (layer == workload_.layers.end()) refuse("is not in the workload");
      if (is_board()) refuse("cannot be mapped: the hardware has no chip");
      if (!std::holds_alternative<Conv2d>(layer->operation)) refuse("does not run on matrix units");
      const Place place = Place(asked_.file).key("layers").item(i);
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

  // Those of the mapping file; where it names none, those that the rules choose.
  void make_units() {
    for (std::size_t i = 0; i < asked_.units.size(); ++i) {
      try {
        add_unit(asked_.units[i]);
      } catch (const UserError& error) {
        throw UserError(fmt::format("{}: units[{}]: {}", asked_.file, i, error.what()));
      }
    }
    if (!hardware_.fused || !asked_.units.empty()) return;
    HardwareConfig unfused = hardware_;
    unfused.fused = false;
    alone_ = plan_network(workload_, unfused, asked_, trial_);
    ChosenUnits chosen = choose_units(workload_, hardware_, alone_.plan);
    for (ChosenUnit& unit : chosen.units) {
      add_unit(unit.request);
      reasons_[units_.back().get()] = std::move(unit.reasons);
    }
    made_.fusion = FusionSummary{totals_of(alone_.plan), {}, compulsory_bytes(workload_), chosen.visited};
  }
  // Units are weighed one by one; in a network they also start processors and wait at barriers (SPEC FU-5,
  // FU-8).
  static bool is_worse(const FusionSummary& f, const FusionConfig& config) {
    const bool slower = f.fused.cycles > f.alone.cycles;
    const bool more = f.fused.maps + f.fused.kernels > f.alone.maps + f.alone.kernels;
    if (config.planner == FusionPlanner::kRules) return slower || more;
    return config.objective == FusionObjective::kCycles ? slower : more;
  }
  static FusionSummary::Totals totals_of(const Plan& plan) {
    FusionSummary::Totals totals;
    for (const LayerPlan& layer : plan.layers) {
      totals.maps += layer.input_bytes + layer.output_bytes, totals.kernels += layer.kernel_bytes;
      totals.cycles += layer.estimated_cycles;
    }
    return totals;
  }
  void add_unit(const UnitRequest& request) {
    units_.push_back(std::make_unique<FusedUnit>(workload_, hardware_, request));
    on_chip_.merge(units_.back()->inner_tensors());
    made_.units.push_back(units_.back()->mapping());
  }
  FusedUnit* unit_of(const Layer& layer) const {
    for (const auto& unit : units_) {
      if (unit->mapping().layers.back() == layer.name) return unit.get();
    }
    return nullptr;
  }
  void decide_unit(DecidedLayer& d, FusedUnit& unit) {
    unit.place(places_, made_.plan.tensors);
    d.unit = &unit;
    d.plan = unit.plan();
    for (auto& reason : reasons_[&unit]) d.plan.choices.push_back(std::move(reason));
    for (const int processor : unit.processors()) workers_[d.layer->scene].insert(processor);
  }

  DecidedLayer decide(const Layer& layer) {
    DecidedLayer d;
    d.layer = &layer;
    d.plan.name = layer.name, d.plan.op = layer.op, d.plan.scene = layer.scene;
    d.plan.output_bytes = layer.output.size_bytes();
    std::set<int>& workers = workers_[layer.scene];
    d.first = workers.empty();
    workers.insert(0);
    if (FusedUnit* unit = unit_of(layer)) {
      decide_unit(d, *unit);
    } else if (std::holds_alternative<Conv2d>(layer.operation)) {
      decide_matrix(d);
    } else if (is_board()) {
      throw UserError(fmt::format("layer '{}': op {} needs a vector unit, which this hardware does not have",
                                  layer.name, layer.op));
    } else if (std::holds_alternative<Reshape>(layer.operation)) {
      d.plan.output_bytes = 0;
      d.plan.choices.emplace_back("why", "the tensor stays where it is");
    } else {
      decide_vector(d);
    }
    return d;
  }

  void decide_matrix(DecidedLayer& d) {
    const Layer& layer = *d.layer;
    const auto chosen = chosen_hardware_.find(layer.name);
    const HardwareConfig& engine_hardware = chosen == chosen_hardware_.end() ? hardware_ : chosen->second;
    d.matrix = make_matrix_layer(workload_, layer, engine_hardware);
    d.plan.macs = useful_macs(workload_, layer);
    d.plan.bound = bound_of(d.matrix->problem(), layer, d.plan.macs, hardware_);
    if (is_board()) {
      check_board(d.matrix->problem());
      WeightImage packed = d.matrix->pack_weights();
      d.weights = unplaced(packed, hardware_);
      d.matrix->cut_jobs(whole_job(d, 0), dram_path(hardware_, hardware_.dma, Direction::kRead),
                         machine_of(hardware_, {}).dram_bytes_per_clock);
      d.weights = places_.place_weights(layer.name, std::move(packed), {0});
    } else {
      choose(d, engine_hardware);
    }
    const MatrixLayer& explained = is_board() ? *d.matrix : *d.shared.largest().layer;
    for (auto& choice : explained.explain()) d.plan.choices.push_back(std::move(choice));
  }

  // How cores compute the layer, with the places of its kernels.
  void choose(DecidedLayer& d, const HardwareConfig& engine_hardware) {
    const Layer& layer = *d.layer;
    const Problem& p = d.matrix->problem();
    const OperandLayouts lie = layouts(layer, p);
    OperandPlaces places{lie.input, std::nullopt};
    if (p.kernel_tensor) places.kernels = made_.plan.tensors.at(layer.inputs.at(1)).address;
    ChosenLayer chosen =
        choose_layer({workload_, layer, hardware_, engine_hardware, d.matrix, places, lie.output, d.first,
                      workers_.at(layer.scene), asked_of(layer.name), trial_of(layer)});
    d.shared = std::move(chosen.layer), d.mapping = chosen.mapping;
    cut_jobs(d.shared, d.mapping, hardware_);
    d.mapping.engine = hardware_.dataflow;
    d.mapping.engine_choices = d.shared.largest().layer->choices();
    for (const int processor : processors_of(*hardware_.chip, d.mapping))
      workers_[layer.scene].insert(processor);
    d.plan.choices.emplace_back("cores", in_words(d.mapping, *hardware_.chip));
    if (d.shared.adds_sums()) d.plan.choices.emplace_back("sums", in_words(d.shared));
    d.plan.choices.emplace_back("chosen", chosen.reason);
    made_.mappings.push_back(d.mapping);
    std::vector<int> parts;  // of the kernels of each share: the first block
    int first = 0;
    for (const WeightImage& packed : d.shared.packed) {
      for (int part = 0; part < d.mapping.kernel_parts; ++part)
        parts.push_back(first +
                        part_of(d.shared.problem.kernel_blocks(), d.mapping.kernel_parts, part, 1).begin);
      first += static_cast<int>(packed.blocks.size()) - 1;
    }
    set_places(d.shared, places_.place_weights(layer.name, take_packed(d.shared), parts));
  }

  LayerTrial trial_of(const Layer& layer) const {
    if (!trial_ || hardware_.planner.search == 0) return {};
    const MappingRequest* asked = asked_of(layer.name);
    std::string choices;  // of the engine, where some are asked for
    if (asked != nullptr && !asked->engine_choices.empty()) choices = asked->engine_choices.begin()->second;
    return [this, &layer, choices](LayerMapping mapping) {
      mapping.engine = hardware_.dataflow, mapping.engine_choices = choices;
      return trial_(layer, mapping);
    };
  }

  void decide_vector(DecidedLayer& d) {
    const Layer& layer = *d.layer;
    const ChipConfig& chip = *hardware_.chip;
    std::vector<Placement> inputs;
    for (const std::string& name : layer.inputs) inputs.push_back(made_.plan.tensors.at(name));
    d.vector = make_vector_layer(layer, hardware_, inputs, made_.plan.tensors.at(layer.name));
    d.plan.bound.dram = dram_bound(d.vector->touched_bytes(), hardware_);
    d.parameters = places_.place("factors of " + layer.name, d.vector->parameters());
    d.path = chip.dram_path == DramPath::kSram ? DataPath::kSram : DataPath::kDirect;
    double best = 0;
    for (int cores = 1; cores <= chip.cores(); cores *= 2) {
      LayerMapping mapping;
      mapping.kernel_parts = cores, mapping.results = d.path;
      TaskGraph graph;
      PlannedBytes bytes;
      const int working =
          d.vector->add_tasks(graph, cores, d.path, d.parameters, stored_buffers(graph), bytes);
      if (working < cores && cores > 1) break;
      const std::vector<int> started = d.first ? processors_of(chip, mapping) : std::vector<int>{};
      const double cycles = schedule(graph, dependencies_of(graph), machine_of(hardware_, started)).cycles;
      if (best == 0 || cycles < kClearlyFaster * best) best = cycles, d.mapping = mapping;
    }
    for (const int processor : processors_of(chip, d.mapping)) workers_[layer.scene].insert(processor);
    d.plan.choices.emplace_back("cores", fmt::format("{} of {} cores", d.mapping.cores(), chip.cores()));
    d.plan.choices.emplace_back("why", "vector unit");
  }

  OperandLayouts layouts(const Layer& layer, const Problem& p) const {
    return operand_layouts(p, made_.plan.tensors.at(layer.inputs.front()).address,
                           made_.plan.tensors.at(layer.name).address);
  }
  MatrixJob whole_job(const DecidedLayer& d, int number) const {
    const Problem& p = d.matrix->problem();
    return board_job(p, number, layouts(*d.layer, p), d.weights);
  }

  std::vector<BufferId> stored_buffers(TaskGraph& graph) const {
    std::vector<BufferId> stored;
    const int processors = is_board() ? 1 : hardware_.chip->processors();
    for (int i = 0; i < processors; ++i) stored.push_back(graph.add_buffer(BufferRole::kStored));
    return stored;
  }

  // ---- programs ----

  void lower(DecidedLayer& d) {
    TaskGraph graph;
    const std::vector<BufferId> stored = stored_buffers(graph);
    PlannedBytes bytes;
    if (d.unit != nullptr) {
      const UnitUse use = d.unit->add_tasks(graph, stored);
      bytes = use.bytes;
      d.plan.choices.emplace_back(
          "takes", fmt::format("{} of {} bytes of a cluster's SRAM, {} of {} of a core's WRAM", use.sram,
                               hardware_.chip->sram_bytes(), use.wram, hardware_.chip->core.wram.size_bytes));
    } else if (d.matrix != nullptr && is_board()) {
      const auto lowering = d.matrix->lower(graph, {});
      for (int i = 0; i < jobs_of_board(d.matrix->problem()); ++i) lowering->add(whole_job(d, i));
      const MatrixLowering::ReadBytes read = lowering->read_bytes();
      bytes.maps = read.maps, bytes.kernels = read.kernels;
    } else if (d.matrix != nullptr) {
      const MatrixWork work{d.shared, hardware_, d.mapping, layouts(*d.layer, d.matrix->problem()).output};
      bytes = add_matrix_tasks(
          graph, work,
          [&](TaskGraph& g, const EnginePlace& place, int share) {
            return d.shared.shares[static_cast<std::size_t>(share)].layer->lower(g, place);
          },
          stored);
    } else if (d.vector != nullptr) {
      d.vector->add_tasks(graph, d.mapping.cores(), d.path, d.parameters, stored, bytes);
    }
    d.plan.input_bytes = bytes.maps, d.plan.kernel_bytes = bytes.kernels;
    const auto number = static_cast<std::uint32_t>(made_.plan.layers.size());
    const std::set<int>& workers = workers_.at(d.layer->scene);
    add_barriers(graph, number, workers, stored);
    const std::vector<Dependency> dependencies = dependencies_of(graph);
    const Schedule times =
        schedule(graph, dependencies,
                 machine_of(hardware_,
                            d.first ? std::vector<int>(workers.begin(), workers.end()) : std::vector<int>{}));
    d.plan.estimated_cycles =
        std::max<Cycle>(std::llround(times.cycles) + end_cycles(hardware_, static_cast<int>(workers.size())),
                        d.plan.bound.cycles());
    for (auto& [processor, instructions] :
         synchronise(graph, dependencies, times, is_board() ? 1 : cluster_size(*hardware_.chip))) {
      std::vector<Instruction>& program = program_of(d.layer->scene, processor);
      program.insert(program.end(), instructions.begin(), instructions.end());
    }
    for (const int processor : workers) {
      std::vector<Instruction>& program = program_of(d.layer->scene, processor);
      if (processor == 0) program.push_back({{}, {}, {}, LayerEnd{number}});
      if (workers.size() > 1) program.push_back({{}, {}, {}, barrier(number, 1, workers)});
    }
    made_.plan.layers.push_back(std::move(d.plan));
    d.matrix.reset(), d.vector.reset(), d.shared = {};
  }

  // Nobody reads what others have not stored. The second barrier of a layer holds the others back until
  // processor 0 has ended it: nothing of the next one is in its statistics.
  static Barrier barrier(std::uint32_t layer, int which, const std::set<int>& workers) {
    return {static_cast<std::uint16_t>(2 * layer + static_cast<std::uint32_t>(which)),
            static_cast<std::uint16_t>(workers.size())};
  }
  void add_barriers(TaskGraph& graph, std::uint32_t layer, const std::set<int>& workers,
                    const std::vector<BufferId>& stored) const {
    if (workers.size() == 1) return;
    for (const int processor : workers) {
      Task task;
      task.processor = processor;
      task.instruction.operation = barrier(layer, 0, workers);
      task.accesses = {{stored[static_cast<std::size_t>(processor)], 0, AccessKind::kRead}};
      graph.add(std::move(task));
    }
  }
  std::vector<Instruction>& program_of(const std::string& scene, int processor) {
    auto& programs = made_.plan.programs;
    const auto found = std::find_if(programs.begin(), programs.end(), [&](const ProgramImage& p) {
      return p.label == scene && p.processor == processor;
    });
    if (found != programs.end()) return found->instructions;
    programs.push_back({scene, processor, 0, {}});
    return programs.back().instructions;
  }

  const Workload& workload_;
  const HardwareConfig& hardware_;
  const NetworkMapping& asked_;
  const MappingTrial& trial_;
  std::map<std::string, HardwareConfig> chosen_hardware_;  // by layer with choices of its own for the engine
  PlannedNetwork made_, alone_;  // the plan, and without units where the planner chooses them
  DramPlaces places_;
  std::vector<std::unique_ptr<FusedUnit>> units_;
  std::map<const FusedUnit*, std::vector<std::pair<std::string, std::string>>> reasons_;
  std::set<std::string> on_chip_;  // tensors inside units
  std::vector<DecidedLayer> decided_;
  std::map<std::string, std::set<int>> workers_;  // by scene: the processors that have a program
};

}  // namespace

PlannedNetwork plan_network(const Workload& workload, const HardwareConfig& hardware,
                            const NetworkMapping& asked, const MappingTrial& trial) {
  return NetworkPlanner(workload, hardware, asked, trial).run();
}

Plan make_plan(const Workload& workload, const HardwareConfig& hardware) {
  return std::move(plan_network(workload, hardware).plan);
}

}  // namespace tilebeat
