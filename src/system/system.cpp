#include "system/system.h"

#include "host/host.h"
#include "sim/upset.h"
#include "system/board.h"
#include "system/chip.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {

OverlappingLayers::OverlappingLayers(const Plan& plan) : overlaps_(plan.layers.size(), false) {
  for (std::size_t i = 1; i < plan.layers.size(); ++i) {
    overlaps_[i - 1] = plan.layers[i].overlaps;
    any_ = any_ || overlaps_[i - 1];
  }
}

LayerCounts OverlappingLayers::complete(std::uint32_t layer, const LayerCounts& all,
                                        const std::vector<int>& processors, const OwnCounts& own) {
  LayerCounts counts = all;
  if (overlaps(layer)) {
    // DRAM counts bytes when it moves them, ports when they have arrived: only the ports' counts can be
    // attributed.
    counts.bytes.dram_read = before_.dram_read, counts.bytes.dram_write = before_.dram_write;
    for (const auto& [processor, at_end] : parts_[layer]) {
      LayerCounts since = own(processor);
      since -= at_end;
      since.bytes.dram_read = moved_[processor].dram_read - at_end.bytes.dram_read;
      since.bytes.dram_write = moved_[processor].dram_write - at_end.bytes.dram_write;
      counts -= since;
      moved_[processor] = at_end.bytes;
    }
    parts_.erase(layer);
  } else if (overlaps(layer + 1)) {
    for (const int processor : processors) moved_[processor] = own(processor).bytes;
  }
  before_ = counts.bytes;
  return counts;
}

System::System(sc_core::sc_module_name name, const HardwareConfig& hardware, const Plan& plan,
               const SimulationOptions& options, DeltaJitter* jitter)
    : sc_module(name),
      context_{ClockDomain(hardware.clock_ps()), options.observers, jitter, this},
      order_(options.build_order_seed != 0 ? BuildOrder(options.build_order_seed) : BuildOrder()),
      overlapping_(plan) {
  take(plan);
  if (options.check_reads) {
    checks_.emplace(hardware.chip, *options.check_reads);
    for (const MemorySegment& segment : plan.image)
      checks_->wrote(segment.address, segment.address + segment.bytes.size());
    for (const auto& [tensor, place] : plan.tensors) {
      if (plan.hand_written) checks_->wrote(place.address, place.address + to_unsigned(place.size_bytes()));
    }
  }
  SC_METHOD(record_layers);
  sensitive << record_;
  dont_initialize();
  SC_METHOD(begin_run);
  sensitive << begin_;
  dont_initialize();
}

void System::take(const Plan& plan) {
  host_layers_ = plan.host_layers;
  hand_written_ = plan.hand_written;
  overlapping_ = OverlappingLayers(plan);
  tensors_.clear(), host_outputs_.clear(), ends_left_.clear();
  for (const HostLayer& layer : host_layers_) {
    for (const std::string& input : layer.inputs) tensors_.emplace(input, plan.tensors.at(input));
    host_outputs_.push_back(plan.tensors.at(plan.layers[layer.number].name));
  }
  for (const LayerPlan& layer : plan.layers) ends_left_.push_back(layer.ends);
}

void System::follow(const Plan& plan) {
  take(plan);
  layer_ends_.clear(), host_done_.clear(), run_end_.reset();
  follow_programs(plan);
}

namespace {

// Writes zeros into all banks at or below the modules.
void clear_banks(const std::vector<sc_core::sc_object*>& objects) {
  for (sc_core::sc_object* const object : objects) {
    if (auto* const bank = dynamic_cast<SramBank*>(object); bank != nullptr) bank->clear();
    clear_banks(object->get_child_objects());
  }
}

}  // namespace

void System::clear_memories() {
  clear_banks(get_child_objects());
  clear_main_memory();
}

void System::probe() {
  if (context_.observers.trace == nullptr && context_.observers.timeline == nullptr) return;
  show_ledgers(probes_.emplace(name(), context_));
}

namespace {

// Injects an upset into the bus among the modules at or below `objects` that is called as in reports.
// Returns whether there is one.
bool upset_bus(const std::vector<sc_core::sc_object*>& objects, const PlacedFault& fault) {
  for (sc_core::sc_object* const object : objects) {
    if (auto* const bus = dynamic_cast<Interconnect*>(object); bus != nullptr) {
      const std::string name = report_name(*bus) + ".";
      if (fault.bus.compare(0, name.size(), name) == 0 &&
          bus->upset(fault.bus.substr(name.size()), fault.cell.address, fault.cell.mask, *fault.cell.at))
        return true;
    }
    if (upset_bus(object->get_child_objects(), fault)) return true;
  }
  return false;
}

}  // namespace

void System::inject_faults(const std::vector<PlacedFault>& faults) {
  for (const PlacedFault& fault : faults) {
    const Fault& cell = fault.cell;
    if (fault.place == FaultPlace::kBus && !upset_bus(get_child_objects(), fault))
      throw UserError(
          fmt::format("--fault: there is no bus {}, or it has no byte {}; NAME.PORT.read or .write "
                      "is expected as report.json has it under /modules",
                      fault.bus, cell.address));
    if (fault.place != FaultPlace::kDram) continue;
    call_before(context_.clock, *cell.at, [this, address = to_unsigned(cell.address), mask = cell.mask] {
      std::vector<std::uint8_t> byte = read_memory(address, 1);
      byte[0] ^= mask;
      write_memory(address, byte);
    });
  }
}

System::Processor::Processor(System& whole, int its_number)
    : system(whole), number(its_number), context(whole.context_) {
  context.watch = this;
  context.bytes = whole.bytes_of(number);
}

const SimContext& System::context_of(int processor) {
  return processors_.emplace_back(*this, processor).context;
}

void System::run_ended(Cycle at) {
  if (hand_written_) run_end_ = take_snapshot(at);
  run_ended_.notify(sc_core::SC_ZERO_TIME);
}

void System::programs_ran(std::size_t labels) {
  for (std::size_t i = 0; i < host_layers_.size(); ++i) {
    if (host_layers_[i].programs == labels) compute(host_layers_[i], host_outputs_[i]);
  }
}

void System::compute(const HostLayer& layer, const Placement& output) {
  std::vector<Tensor> tensors;
  for (const std::string& input : layer.inputs) {
    const Placement& place = tensors_.at(input);
    std::vector<std::uint8_t> bytes = read_memory(place.address, place.size_bytes());
    if (place.stored) bytes = bytes_as_nhwc(*place.stored, bytes);
    tensors.push_back({place.info.shape, place.info.dtype, std::move(bytes)});
  }
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    operands.push_back({tensors[i], tensors_.at(layer.inputs[i]).info});
  const std::vector<std::uint8_t> made = compute_on_host(layer.operation, operands, output.info).bytes;
  write_memory(output.address, output.stored ? bytes_to_store(*output.stored, made) : made);
  host_done_.push_back(layer.number);
}

void System::start() {
  begin_.notify(to_sc_time(context_.clock.at(now(), Phase::kRecord) - now_ps()));
}

void System::begin_run() {
  run_begin_ = take_snapshot(now());
  last_layer_end_ = run_begin_;
  overlapping_.begin(run_begin_);
  start_host(now());
}

void System::end_layer(std::uint32_t layer, int processor, Cycle at) {
  if (layer >= ends_left_.size())
    throw SimulationError(fmt::format("layer.end names layer {}, there are {}", layer, ends_left_.size()));
  if (ends_left_[layer] == 0)
    throw SimulationError(fmt::format("layer.end names layer {}, which has ended already", layer));
  const bool complete = --ends_left_[layer] == 0;
  if (overlapping_.overlaps(layer)) ended_parts_.emplace_back(layer, processor);
  if (complete) ended_.push_back(layer);
  if (complete || overlapping_.overlaps(layer))
    record_.notify(to_sc_time(context_.clock.at(at, Phase::kRecord) - now_ps()));
}

void System::record_layers() {
  const auto own = [this](int processor) { return own_counts(processor); };
  std::vector<int> processors;
  for (const Processor& processor : processors_) processors.push_back(processor.number);
  for (const auto& [layer, processor] : ended_parts_) overlapping_.end_part(layer, processor, own(processor));
  ended_parts_.clear();
  std::sort(ended_.begin(), ended_.end());
  for (const std::uint32_t layer : ended_) {
    Snapshot snapshot = take_snapshot(now());
    LayerMark& mark = layer_ends_.emplace_back(layer, LayerMark(snapshot, last_layer_end_)).second;
    LayerCounts all = snapshot;
    if (overlapping_.counts_arrivals(layer)) all.bytes.dram_read = arrived_from_dram();
    static_cast<LayerCounts&>(mark) = overlapping_.complete(layer, all, processors, own);
    last_layer_end_ = std::move(snapshot);
  }
  ended_.clear();
}

std::string System::under_way_line(const CommandProcessor& control) {
  const std::string instructions = control.describe_under_way();
  return instructions.empty() ? "" : fmt::format("\n{} works on {}", control.name(), instructions);
}

// Moves the bytes in pieces whose length fits a payload.
void System::move_memory(tlm::tlm_command command, std::uint64_t address, std::uint8_t* data,
                         std::size_t bytes) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  for (std::size_t done = 0; done < bytes;) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address + done);
    payload.set_data_ptr(data + done);
    payload.set_data_length(static_cast<unsigned>(std::min(kMostBytes, bytes - done)));
    const unsigned moved = debug_transport(payload);
    if (moved == 0) {
      throw SimulationError(fmt::format("the loader cannot {} {} bytes at {:#x}",
                                        command == tlm::TLM_WRITE_COMMAND ? "write" : "read", bytes,
                                        address));
    }
    done += moved;
  }
}

void System::write_memory(std::uint64_t address, const std::vector<std::uint8_t>& bytes) {
  // A write does not change the data.
  move_memory(tlm::TLM_WRITE_COMMAND, address, const_cast<std::uint8_t*>(bytes.data()), bytes.size());
}

std::vector<std::uint8_t> System::read_memory(std::uint64_t address, std::int64_t bytes) {
  std::vector<std::uint8_t> data(to_size(bytes));
  move_memory(tlm::TLM_READ_COMMAND, address, data.data(), data.size());
  return data;
}

std::unique_ptr<System> make_system(const HardwareConfig& hardware, const Plan& plan,
                                    const SimulationOptions& options, DeltaJitter* jitter) {
  if (hardware.chip) return std::make_unique<Chip>("chip", hardware, plan, options, jitter);
  return std::make_unique<Board>("soc", hardware, plan, options, jitter);
}

}  // namespace tilebeat
