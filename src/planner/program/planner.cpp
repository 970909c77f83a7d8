#include "planner/program/planner.h"

#include "base/math.h"
#include "planner/fusion/choose_units.h"
#include "planner/fusion/fused_unit.h"
#include "planner/layer/board_job.h"
#include "planner/layer/choose_layer.h"
#include "planner/layer/estimate.h"
#include "planner/layer/kernels_ahead.h"
#include "planner/layer/matrix_tasks.h"
#include "planner/layer/placement.h"
#include "planner/program/program_borders.h"
#include "planner/schedule/synchronise.h"
#include "planner/vector/vector_tasks.h"
#include "program/plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// A layer that is decided and not yet lowered.
struct DecidedLayer {
  const Layer* layer = nullptr;
  std::shared_ptr<MatrixLayer> matrix;
  SharedLayer shared;   // on a chip: the same, as its cores compute it
  WeightPlace weights;  // on a board
  std::unique_ptr<VectorLayer> vector;
  FusedUnit* unit = nullptr;  // of which it is the last layer
  LayerMapping mapping;
  std::uint64_t parameters = 0;  // of a vector layer
  DataPath path = DataPath::kDirect;
  bool first = false;                      // of its program: processors are started for it
  std::int64_t wram_at = 0;                // of a layer on matrix units, its buffers for kernels
  std::vector<const DecidedLayer*> ahead;  // whose first kernels are loaded while it runs
  std::optional<HostTasks> tasks;          // with the loads of these, once they were asked for
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

  PlannedNetwork run() {
    check_request();
    Plan& plan = made_.plan;
    plan.name = workload_.name;
    plan.outputs = workload_.outputs;
    for (const Layer& layer : workload_.layers) plan.graph.push_back({layer.name, layer.op, layer.inputs});
    make_units();
    places_.place_tensors(workload_, on_chip_);
    for (const Layer& layer : workload_.layers) {
      if (on_chip_.count(layer.name) > 0) continue;
      try {
        decide(layer, decided_.emplace_back());
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
    place_start_tables(plan, hardware_);
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
        units_.back()->check_reductions();
      } catch (const UserError& error) {
        throw UserError(fmt::format("{}: units[{}]: {}", asked_.file, i, error.what()));
      }
    }
    if (!hardware_.fused || !asked_.units.empty()) return;
    HardwareConfig unfused = hardware_;
    unfused.fused = false;
    alone_ = NetworkPlanner(workload_, unfused, asked_, trial_, chosen_before_).run();
    const auto begin = std::chrono::steady_clock::now();
    ChosenUnits chosen = choose_units(workload_, hardware_, alone_.plan);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    for (ChosenUnit& unit : chosen.units) {
      add_unit(unit.request);
      reasons_[units_.back().get()] = std::move(unit.reasons);
    }
    made_.fusion =
        FusionSummary{totals_of(alone_.plan), {}, compulsory_bytes(workload_), chosen.visited, taken.count()};
  }
  // Units are weighed one by one; in a network they also start processors and wait at barriers (SPEC FU-5,
  // FU-8).
  static bool is_worse(const FusionSummary& f, const FusionConfig& config) {
    constexpr double kSurely = 0.98;  // estimates of units and of layers err differently
    const bool slower = static_cast<double>(f.fused.cycles) > kSurely * static_cast<double>(f.alone.cycles);
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

  void decide(const Layer& layer, DecidedLayer& d) {
    d.layer = &layer;
    d.plan.name = layer.name, d.plan.op = layer.op, d.plan.scene = layer.scene;
    d.plan.output_bytes = layer.output.size_bytes();
    std::set<int>& workers = workers_[layer.scene];
    d.first = workers.empty();
    workers.insert(0);
    if (FusedUnit* unit = unit_of(layer)) {
      decide_unit(d, *unit);
      load_ahead(d, find_ahead(d));
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
    if (hardware_.planner.map_layout != MapLayout::kNhwc)
      d.plan.choices.emplace_back("in DRAM", orders_in_dram(layer));
    if (d.matrix == nullptr && d.vector == nullptr && d.unit == nullptr) return;
    std::vector<DecidedLayer*>& earlier = earlier_[layer.scene];
    earlier.push_back(&d);
    if (earlier.size() > kFarthest) earlier[earlier.size() - 1 - kFarthest]->tasks.reset();
  }

  // How the maps of a layer lie there.
  std::string orders_in_dram(const Layer& layer) const {
    const PlannerConfig& planner = hardware_.planner;
    std::string text;
    std::set<std::string> names(layer.inputs.begin(), layer.inputs.end());
    names.insert(layer.name);
    for (const std::string& name : names) {
      const auto placed = made_.plan.tensors.find(name);
      if (placed == made_.plan.tensors.end()) continue;
      const MapLayout order = placed->second.stored ? planner.map_layout : MapLayout::kNhwc;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                          kMapLayoutNames[static_cast<std::size_t>(order)]);
      if (order == MapLayout::kNchwc) text += fmt::format(" by {}", planner.map_block_channels);
    }
    return text;
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
      d.weights = unplaced(d.matrix->weight_layout(), hardware_);
      cut_board_jobs(*d.matrix, jobs_of(d), hardware_, d.plan.choices);
      d.weights = places_.place_weights(layer.name, kernels_of(*d.matrix), {0});
    } else {
      choose(d, engine_hardware);
    }
    const MatrixLayer& explained = is_board() ? *d.matrix : *d.shared.largest().layer;
    for (auto& choice : explained.explain()) d.plan.choices.push_back(std::move(choice));
    d.plan.facts = explained.facts();
  }

  // How cores compute the layer, with the places of its kernels.
  void choose(DecidedLayer& d, const HardwareConfig& engine_hardware) {
    const Layer& layer = *d.layer;
    const Problem& p = d.matrix->problem();
    const OperandLayouts lie = layouts(layer, p);
    OperandPlaces places{lie.input, std::nullopt};
    if (p.kernel_tensor) places.kernels = made_.plan.tensors.at(layer.inputs.at(1)).address;
    LayerQuestion question{workload_,
                           layer,
                           hardware_,
                           engine_hardware,
                           d.matrix,
                           places,
                           lie.output,
                           d.first,
                           false,
                           workers_.at(layer.scene),
                           asked_of(layer.name),
                           trial_of(layer)};
    ChosenLayer chosen = chosen_before_.choose(question);
    d.shared = std::move(chosen.layer), d.mapping = chosen.mapping;
    KernelPlan ahead = find_ahead(d);
    // Other mappings are the fastest when kernels are there already.
    if (may_look_ahead(d) && !ahead_asked_of(d).loads && !earlier_[layer.scene].empty()) {
      question.kernels_loaded = true, question.trial = {};
      ChosenLayer other = chosen_before_.choose(question);
      std::swap(d.shared, other.layer), std::swap(d.mapping, other.mapping);
      const KernelPlan with = find_ahead(d);
      if (with.cycles < kClearlyFaster * ahead.cycles && with.cycles + kClearlyFewer < ahead.cycles)
        ahead = with, chosen.reason = std::move(other.reason);
      else
        std::swap(d.shared, other.layer), std::swap(d.mapping, other.mapping);
    }
    cut_jobs(d.shared, d.mapping, hardware_);
    d.mapping.engine = hardware_.dataflow;
    d.mapping.engine_choices = d.shared.largest().layer->choices();
    load_ahead(d, ahead);
    for (const int processor : processors_of(*hardware_.chip, d.mapping))
      workers_[layer.scene].insert(processor);
    d.plan.choices.emplace_back("cores", in_words(d.mapping, *hardware_.chip));
    if (d.shared.adds_sums()) d.plan.choices.emplace_back("sums", in_words(d.shared));
    d.plan.choices.emplace_back("chosen", chosen.reason);
    made_.mappings.push_back(d.mapping);
    std::vector<int> parts;  // of the kernels of each share: the first block
    int first = 0;
    for (std::size_t share = 0; share < d.shared.shares.size(); ++share) {
      const int blocks = d.shared.shares[share].layer->problem().kernel_blocks();
      for (int part = 0; part < d.mapping.kernel_parts; ++part)
        parts.push_back(first + part_of(blocks, d.mapping.kernel_parts, part, 1).begin);
      first += static_cast<int>(d.shared.shares[share].weights.blocks.size());
    }
    set_places(d.shared, places_.place_weights(layer.name, kernels_of(d.shared), parts));
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
      const int working = d.vector->add_tasks(graph, cores, d.path, d.parameters, bytes);
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
    return operand_layouts(p, made_.plan.tensors.at(layer.inputs.front()), made_.plan.tensors.at(layer.name));
  }
  std::vector<MatrixJob> jobs_of(const DecidedLayer& d) const {
    const Problem& p = d.matrix->problem();
    return board_jobs(p, layouts(*d.layer, p), d.weights);
  }

  // ---- kernels ahead ----

  // Layers on matrix units, and fused units, may have kernels loaded while an earlier one runs, one of the
  // last few: into a part of WRAM that nobody uses until then.
  static constexpr std::size_t kFarthest = 8;  // layers before
  struct KernelPlan {
    DecidedLayer* host = nullptr;  // nothing: all are loaded while the layer itself runs
    int loads = 0;
    std::int64_t wram_at = 0;
    double cycles = 0;  // of the layer, and those that the host takes longer; estimated, where it may choose
  };

  bool may_look_ahead(const DecidedLayer& d) const {
    return hardware_.planner.kernels_ahead && (d.matrix == nullptr || !d.matrix->problem().kernel_tensor);
  }

  KernelPlan find_ahead(const DecidedLayer& d) {
    const AheadRequest asked = ahead_asked_of(d);
    if (asked.loads ? *asked.loads == 0 : !may_look_ahead(d)) return {};
    if (d.matrix != nullptr && d.matrix->problem().kernel_tensor)
      refuse_ahead(*asked.loads, "the kernels are a tensor");
    const std::vector<std::int64_t> bytes =
        d.unit != nullptr ? d.unit->wram_of_loads() : wram_of_loads(work_of(d));
    if (bytes.empty()) {
      if (asked.loads) refuse_ahead(*asked.loads, "there are no kernels, or they are streamed");
      return {};
    }
    const auto place_of = [&](const WramInUse& in_use, int loads) {
      return in_use.find(bytes[static_cast<std::size_t>(loads - 1)], wram_of(d), alignment_of(d));
    };
    const std::vector<DecidedLayer*>& earlier = earlier_[d.layer->scene];
    std::vector<AheadHost> hosts;  // the last one first
    std::vector<WramInUse> in_use{WramInUse(hardware_.chip->core.wram.size_bytes)};
    for (std::size_t i = earlier.size(); i-- > 0 && (asked.loads || hosts.size() < kFarthest);) {
      DecidedLayer& host = *earlier[i];
      // While the processors start one after the other the estimate knows least.
      if (host.first && !asked.loads) break;
      in_use.push_back(in_use.back());
      in_use.back().add(host.wram_at, wram_of(host));
      hosts.push_back(ahead_host(host));
      for (int& most = hosts.back().most = static_cast<int>(bytes.size()); most > 0; --most) {
        if (place_of(in_use.back(), most)) break;
      }
      if (hosts.back().most == 0) break;
    }
    const auto layer_of = [&](std::size_t host) { return earlier[earlier.size() - 1 - host]; };
    const AheadTarget target = ahead_target(d);
    KernelsAhead chosen;
    if (asked.loads) {
      std::size_t host = 0;
      while (host < hosts.size() && asked.during && layer_of(host)->layer->name != *asked.during) ++host;
      chosen = {host, *asked.loads};
      if (chosen.loads > static_cast<int>(bytes.size()))
        refuse_ahead(chosen.loads, fmt::format("there are {}", bytes.size()));
      if (host == hosts.size() || hosts[host].most < chosen.loads)
        refuse_ahead(chosen.loads, fmt::format("there is no {} from which on WRAM has room for them",
                                               asked.during ? fmt::format("earlier layer '{}'", *asked.during)
                                                            : "layer before"));
      if (!fits_sram(hosts[host], target, chosen.loads))
        refuse_ahead(chosen.loads, fmt::format("the SRAM of a cluster has no room for them beside '{}'",
                                               layer_of(host)->layer->name));
    } else {
      chosen = choose_kernels_ahead(hosts, target, hardware_);
    }
    if (chosen.loads == 0) return {nullptr, 0, 0, chosen.cycles};
    return {layer_of(chosen.host), chosen.loads, *place_of(in_use[chosen.host + 1], chosen.loads),
            chosen.cycles};
  }

  void load_ahead(DecidedLayer& d, const KernelPlan& plan) {
    if (plan.host == nullptr) return;
    plan.host->ahead.push_back(&d), plan.host->tasks.reset();
    d.wram_at = plan.wram_at;
    d.mapping.kernels_ahead = plan.loads, d.mapping.kernels_during = plan.host->layer->name;
    if (d.unit == nullptr) return;
    d.unit->load_ahead(plan.loads, plan.host->layer->name, d.wram_at);
    *std::find_if(made_.units.begin(), made_.units.end(), [&](const UnitMapping& m) {
      return m.layers == d.unit->mapping().layers;
    }) = d.unit->mapping();
  }

  // What a mapping file asks for.
  struct AheadRequest {
    std::optional<int> loads;
    std::optional<std::string> during;
  };
  AheadRequest ahead_asked_of(const DecidedLayer& d) const {
    if (d.unit == nullptr) {
      const MappingRequest* request = asked_of(d.layer->name);
      return request == nullptr ? AheadRequest{}
                                : AheadRequest{request->kernels_ahead, request->kernels_during};
    }
    const auto unit = std::find_if(asked_.units.begin(), asked_.units.end(), [&](const UnitRequest& request) {
      return !request.layers.empty() && request.layers.back() == d.layer->name;
    });
    return unit == asked_.units.end() ? AheadRequest{}
                                      : AheadRequest{unit->kernels_ahead, unit->kernels_during};
  }
  [[noreturn]] static void refuse_ahead(int loads, const std::string& why) {
    throw UserError(fmt::format("mapping: kernels_ahead {} is not possible: {}", loads, why));
  }

  AheadTarget ahead_target(const DecidedLayer& d) const {
    AheadTarget made;
    made.add_tasks = [this, &d](TaskGraph& graph, int loads) {
      if (d.unit != nullptr) return d.unit->add_tasks(graph, loads);
      LayerMapping mapping = d.mapping;
      mapping.kernels_ahead = loads;
      return add_estimated_tasks(graph, work_of(d, mapping));
    };
    made.add_loads = [this, &d](TaskGraph& graph, int loads, std::int64_t sram) {
      if (d.unit != nullptr) return d.unit->add_kernels_ahead(graph, loads, sram);
      LayerMapping mapping = d.mapping;
      mapping.kernels_ahead = loads;
      return add_kernels_ahead(graph, work_of(d, mapping), sram);
    };
    return made;
  }
  AheadHost ahead_host(DecidedLayer& host) const {
    AheadHost made;
    made.machine = machine_of(hardware_, host.first ? workers(host) : std::vector<int>{});
    made.tasks = [this, &host]() -> HostTasks& {
      if (!host.tasks) add_tasks(host, host.tasks.emplace());
      return *host.tasks;
    };
    return made;
  }
  void add_tasks(const DecidedLayer& host, HostTasks& tasks) const {
    TaskGraph& graph = tasks.graph;
    tasks.sram =
        (host.matrix != nullptr ? add_estimated_tasks(graph, work_of(host)) : add_tasks(host, graph)).sram;
    for (const DecidedLayer* later : host.ahead)
      tasks.sram = ahead_target(*later).add_loads(graph, later->mapping.kernels_ahead, tasks.sram).sram;
  }
  std::int64_t wram_of(const DecidedLayer& d) const {
    if (d.matrix != nullptr) return footprint_of(work_of(d)).wram;
    return d.unit != nullptr ? d.unit->wram_bytes() : 0;
  }
  static std::int64_t alignment_of(const DecidedLayer& d) {
    return kBufferAlignment *
           (d.unit != nullptr ? d.unit->regions() : d.shared.shares.front().weights.layout.regions);
  }
  MatrixWork work_of(const DecidedLayer& d) const { return work_of(d, d.mapping); }
  MatrixWork work_of(const DecidedLayer& d, const LayerMapping& mapping) const {
    return {d.shared, hardware_, mapping, layouts(*d.layer, d.matrix->problem()).output, d.wram_at};
  }
  std::vector<int> workers(const DecidedLayer& d) const {
    const std::set<int>& of_scene = workers_.at(d.layer->scene);
    return {of_scene.begin(), of_scene.end()};
  }

  // ---- programs ----

  // The layer's own tasks.
  PlannedUse add_tasks(const DecidedLayer& d, TaskGraph& graph) const {
    PlannedUse use;
    if (d.unit != nullptr) return d.unit->add_tasks(graph);
    if (d.matrix != nullptr && is_board()) {
      const MatrixLowering::ReadBytes read = add_board_tasks(graph, *d.matrix, jobs_of(d));
      use.bytes.maps = read.maps, use.bytes.kernels = read.kernels;
    } else if (d.matrix != nullptr) {
      return add_matrix_tasks(graph, work_of(d), [&](TaskGraph& g, const EnginePlace& place, int share) {
        return d.shared.shares[static_cast<std::size_t>(share)].layer->lower(g, place);
      });
    } else if (d.vector != nullptr) {
      d.vector->add_tasks(graph, d.mapping.cores(), d.path, d.parameters, use.bytes);
      use.sram = d.path == DataPath::kSram ? hardware_.chip->sram_bytes() : 0;
    }
    return use;
  }

  // The first kernels of later layers: they change the bytes and the bounds of both.
  void add_ahead(DecidedLayer& d, TaskGraph& graph, PlannedUse use) {
    for (const DecidedLayer* later : d.ahead) {
      use = ahead_target(*later).add_loads(graph, later->mapping.kernels_ahead, use.sram);
      d.plan.kernel_bytes += use.bytes.kernels, d.plan.bytes_ahead += use.bytes.kernels;
      d.plan.bound.dram += dram_bound(use.bytes.kernels, hardware_);
      bytes_before_[later->layer->name] = use.bytes.kernels;
    }
    const auto before = bytes_before_.find(d.layer->name);
    if (before == bytes_before_.end()) return;
    d.plan.bytes_before = before->second;
    d.plan.bound.dram = std::max<Cycle>(0, d.plan.bound.dram - dram_bound(before->second, hardware_) - 1);
    d.plan.choices.emplace_back("ahead", fmt::format("{} bytes of the kernels are loaded while '{}' runs",
                                                     before->second, d.mapping.kernels_during));
  }

  // Equal bytes of a network lie in DRAM once.
  std::uint64_t constant(const std::string& layer, std::vector<std::uint8_t>& bytes) {
    const auto known = constants_.find(bytes);
    if (known != constants_.end()) return known->second;
    const std::uint64_t address = places_.place("constants of " + layer, bytes);
    constants_.emplace(std::move(bytes), address);
    return address;
  }

  void lower(DecidedLayer& d) {
    TaskGraph graph;
    graph.place_constants([&](std::vector<std::uint8_t> bytes) { return constant(d.layer->name, bytes); });
    const PlannedUse use = add_tasks(d, graph);
    d.plan.input_bytes = use.bytes.maps, d.plan.kernel_bytes = use.bytes.kernels;
    if (d.unit != nullptr)
      d.plan.choices.emplace_back(
          "takes", fmt::format("{} of {} bytes of a cluster's SRAM, {} of {} of a core's WRAM", use.sram,
                               hardware_.chip->sram_bytes(), use.wram, hardware_.chip->core.wram.size_bytes));
    add_ahead(d, graph, use);
    const auto number = static_cast<std::uint32_t>(made_.plan.layers.size());
    const std::set<int>& workers = workers_.at(d.layer->scene);
    const std::vector<Dependency> dependencies = dependencies_of(graph);
    Machine machine = machine_of(hardware_, d.first ? this->workers(d) : std::vector<int>{});
    if (d.first && decided_.size() > 1)  // processors that start fill their buffers of instructions
      machine.fetched_bytes = static_cast<double>(workers.size()) * hardware_.host.instruction_buffer_bytes;
    const Schedule times = schedule(graph, dependencies, machine);
    for (const Task& task : graph.tasks()) d.plan.beats += task.cost.beats;
    d.plan.bound.beats = ceil_div<std::int64_t>(d.plan.beats, is_board() ? 1 : hardware_.chip->cores());
    d.plan.estimated_cycles =
        std::max<Cycle>(std::llround(times.cycles) + end_cycles(hardware_, static_cast<int>(workers.size())),
                        d.plan.bound.cycles());
    if (workers.size() > 1)
      separate(d, workers, {number, false, {}, {}, graph, dependencies, machine, times.cycles});
    for (auto& [processor, instructions] :
         synchronise(graph, dependencies, times, is_board() ? 1 : cluster_size(*hardware_.chip))) {
      std::vector<Instruction>& program = program_of(d.layer->scene, processor);
      program.insert(program.end(), instructions.begin(), instructions.end());
    }
    d.plan.ends = static_cast<int>(workers.size());
    for (const int processor : workers)
      program_of(d.layer->scene, processor).push_back({{}, {}, {}, LayerEnd{number}});
    made_.plan.layers.push_back(std::move(d.plan));
    d.matrix.reset(), d.vector.reset(), d.shared = {};
  }

  // A layer ends when all processors have ended their parts.
  void separate(DecidedLayer& d, const std::set<int>& workers, ProgramBorders::Next next) {
    ProgramBorders& program = programs_.try_emplace(d.layer->scene, workload_, *hardware_.chip).first->second;
    next.works = d.unit != nullptr || !std::holds_alternative<Reshape>(d.layer->operation);
    next.makes = d.unit != nullptr ? d.unit->mapping().layers : std::vector<std::string>{d.layer->name};
    next.reads = d.unit != nullptr ? d.unit->inputs() : d.layer->inputs;
    const std::optional<std::uint32_t> before = program.last();
    const ProgramBorders::Border border = program.add(next);
    d.plan.overlaps = border == ProgramBorders::Border::kOpen;
    if (d.plan.overlaps) {
      d.plan.facts.emplace_back("begins", fmt::format("without a barrier, while others may still end '{}'",
                                                      made_.plan.layers[*before].name));
    }
    if (border != ProgramBorders::Border::kBarrier) return;
    const Barrier operation{static_cast<std::uint16_t>(*before), static_cast<std::uint16_t>(workers.size())};
    for (const int processor : workers)
      program_of(d.layer->scene, processor).push_back({{}, {}, {}, operation});
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
  LayersChosenBefore& chosen_before_;
  std::deque<DecidedLayer> decided_;
  std::map<std::string, std::vector<DecidedLayer*>> earlier_;     // by scene: those that do something
  std::map<std::vector<std::uint8_t>, std::uint64_t> constants_;  // that instructions name: their places
  std::map<std::string, std::int64_t> bytes_before_;  // by layer: of kernels that an earlier one loads
  std::map<std::string, std::set<int>> workers_;      // by scene: the processors that have a program
  std::map<std::string, ProgramBorders> programs_;    // by scene
};

}  // namespace

PlannedNetwork plan_network(const Workload& workload, const HardwareConfig& hardware,
                            const NetworkMapping& asked, const MappingTrial& trial) {
  LayersChosenBefore chosen_before;
  return NetworkPlanner(workload, hardware, asked, trial, chosen_before).run();
}

Plan make_plan(const Workload& workload, const HardwareConfig& hardware) {
  return std::move(plan_network(workload, hardware).plan);
}

}  // namespace tilebeat
