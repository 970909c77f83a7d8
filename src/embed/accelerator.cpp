#include "tilebeat/accelerator.h"

#include "embed/handles.h"
#include "fabric/burst_port.h"
#include "system/simulation.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <tlm_utils/simple_target_socket.h>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kOutstanding = 8;
constexpr std::uint64_t kBurstBytes = 256;  // no burst crosses a multiple of it

SimulationOptions embedded(const RunOptions& options, ExternalMemory::Port& memory) {
  SimulationOptions made;
  made.granularity = granularity_of(options);
  made.started_by = StartedBy::kOutside;
  if (options.dram == RunOptions::Dram::kExternal) made.external_memory = &memory;
  return made;
}

bool is_register(std::uint64_t address) {
  return address >= to_unsigned(AcceleratorRegister::kStart);
}

void check_size(const std::vector<std::uint8_t>& bytes, std::int64_t wanted) {
  if (ssize(bytes) != wanted)
    throw UserError(fmt::format("a tensor of {} bytes, where {} bytes belong", bytes.size(), wanted));
}

const Hardware& checked(const Hardware& hardware, const NetworkPlan& plan) {
  check_made_for(hardware, plan);
  return hardware;
}

}  // namespace

struct TensorPlace::Inner {
  Placement place;
};

std::uint64_t TensorPlace::address() const {
  return inner_->place.address;
}

std::int64_t TensorPlace::size_bytes() const {
  return inner_->place.size_bytes();
}

const std::vector<std::int64_t>& TensorPlace::shape() const {
  return inner_->place.info.shape;
}

TensorData::Type TensorPlace::type() const {
  return public_type(inner_->place.info.dtype);
}

std::int32_t TensorPlace::zero_point() const {
  return inner_->place.info.zero_point;
}

std::vector<std::uint8_t> TensorPlace::to_memory(const std::vector<std::uint8_t>& elements) const {
  check_size(elements, inner_->place.info.size_bytes());
  return inner_->place.stored ? bytes_to_store(*inner_->place.stored, elements) : elements;
}

std::vector<std::uint8_t> TensorPlace::from_memory(const std::vector<std::uint8_t>& stored) const {
  check_size(stored, size_bytes());
  return inner_->place.stored ? bytes_as_nhwc(*inner_->place.stored, stored) : stored;
}

/// The chip, and what turns accesses of the socket into bursts on its interconnect. Its modules are children
/// of the accelerator, in whose constructor it is made.
struct Accelerator::Inner : tlm::tlm_bw_transport_if<> {
  sc_core::sc_event wake;  // declared first: the port notifies it
  sc_core::sc_event reset_done;
  std::shared_ptr<const Hardware::Inner> hardware;
  const HardwareConfig& config;
  Plan plan;
  SimulationOptions options;
  ClockDomain clock;
  std::unique_ptr<System> system;
  tlm_utils::simple_target_socket<Inner> socket;
  BurstPort port;
  sc_core::sc_mutex turn;
  AcceleratorStatus status = AcceleratorStatus::kIdle;

  Inner(const Hardware& made_for, const NetworkPlan& made, const RunOptions& chosen,
        ExternalMemory::Port& memory)
      : hardware(made_for.inner()),
        config(hardware->config),
        plan(made.inner()->planned.plan),
        options(embedded(chosen, memory)),
        clock(config.clock_ps()),
        system(make_system(config, plan, options, nullptr)),
        socket("accesses"),
        port("port", SimContext{clock}, kOutstanding, wake),
        turn("turn") {
    socket.register_b_transport(this, &Inner::transport);
    socket.register_transport_dbg(this, &Inner::debug);
    port.socket.bind(*system->external_port());
  }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) override {
    throw SimulationError("memory: an answer to a request that was not made");
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64 begin, sc_dt::uint64 end) override {
    system->withdraw(begin, end);
  }
  /// Writes what the plan has for DRAM, once.
  void write_image();
  /// Throws UserError while programs run.
  void check_stopped() const;
  void reset();
  std::uint64_t memory_bytes() const { return to_unsigned(config.dram.size_bytes); }
  void transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  unsigned debug(tlm::tlm_generic_payload& payload);
  tlm::tlm_response_status access_register(tlm::tlm_generic_payload& payload);
  void access_memory(tlm::tlm_generic_payload& payload);
  /// Sends one more burst of an access of which `sent` bytes are in flight or done. Returns the burst's
  /// bytes.
  int send(tlm::tlm_generic_payload& payload, unsigned sent, Cycle now);
};

void Accelerator::Inner::transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  sc_core::wait(delay);
  delay = sc_core::SC_ZERO_TIME;
  const std::uint64_t address = payload.get_address(), bytes = payload.get_data_length();
  if (payload.get_byte_enable_ptr() != nullptr) {
    payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  } else if (payload.get_streaming_width() < bytes) {
    payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
  } else if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) {
    payload.set_response_status(tlm::TLM_COMMAND_ERROR_RESPONSE);
  } else if (is_register(address)) {
    payload.set_response_status(access_register(payload));
  } else if (bytes > memory_bytes() || address > memory_bytes() - bytes) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  } else {
    turn.lock();
    access_memory(payload);
    turn.unlock();
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
}

tlm::tlm_response_status Accelerator::Inner::access_register(tlm::tlm_generic_payload& payload) {
  const unsigned bytes = payload.get_data_length();
  if (bytes != 4 && bytes != 8) return tlm::TLM_BURST_ERROR_RESPONSE;
  switch (static_cast<AcceleratorRegister>(payload.get_address())) {
    case AcceleratorRegister::kStart:
      if (!payload.is_write()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
      if (status == AcceleratorStatus::kIdle) {
        status = AcceleratorStatus::kRunning;
        system->start();
      }
      return tlm::TLM_OK_RESPONSE;
    case AcceleratorRegister::kStatus: {
      if (!payload.is_read()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
      const auto value = to_unsigned(status);
      std::memcpy(payload.get_data_ptr(), &value, bytes);
      return tlm::TLM_OK_RESPONSE;
    }
    case AcceleratorRegister::kReset:
      if (!payload.is_write()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
      if (status == AcceleratorStatus::kRunning) return tlm::TLM_GENERIC_ERROR_RESPONSE;
      reset();
      return tlm::TLM_OK_RESPONSE;
  }
  return tlm::TLM_ADDRESS_ERROR_RESPONSE;
}

void Accelerator::Inner::write_image() {
  for (MemorySegment& segment : plan.image) {
    system->write_memory(segment.address, segment.bytes);
    std::vector<std::uint8_t>().swap(segment.bytes);
  }
}

void Accelerator::Inner::check_stopped() const {
  if (status == AcceleratorStatus::kRunning)
    throw UserError(
        fmt::format("{}: programs run, which no reset ends", system->get_parent_object()->name()));
}

void Accelerator::Inner::reset() {
  status = AcceleratorStatus::kIdle;
  system->follow(plan);
  reset_done.notify(sc_core::SC_ZERO_TIME);
}

int Accelerator::Inner::send(tlm::tlm_generic_payload& payload, unsigned sent, Cycle now) {
  const std::uint64_t address = payload.get_address() + sent;
  const auto bytes =
      to_int(std::min<std::uint64_t>(payload.get_data_length() - sent, kBurstBytes - address % kBurstBytes));
  std::vector<std::uint8_t> data;
  if (payload.is_write()) data.assign(payload.get_data_ptr() + sent, payload.get_data_ptr() + sent + bytes);
  port.issue(payload.get_command(), address, bytes, std::move(data), now);
  return bytes;
}

void Accelerator::Inner::access_memory(tlm::tlm_generic_payload& payload) {
  sc_core::wait(to_sc_time(clock.at(clock.round_up(now_ps())) - now_ps()));
  unsigned sent = 0, done = 0;
  while (done < payload.get_data_length()) {
    const Cycle now = clock.cycle_of(now_ps());
    while (port.front_ready(now)) {
      const std::vector<std::uint8_t> data = port.take_front();
      if (payload.is_read()) std::copy(data.begin(), data.end(), payload.get_data_ptr() + done);
      done += static_cast<unsigned>(data.size());
    }
    if (sent < payload.get_data_length() && port.granted(now) && port.has_room())
      sent += static_cast<unsigned>(send(payload, sent, now));
    if (done < payload.get_data_length()) sc_core::wait(wake);
  }
}

unsigned Accelerator::Inner::debug(tlm::tlm_generic_payload& payload) {
  if (is_register(payload.get_address())) return 0;
  return port.socket->transport_dbg(payload);
}

Accelerator::Accelerator(sc_core::sc_module_name name, const Hardware& hardware, const NetworkPlan& plan,
                         const RunOptions& options)
    : sc_module(name),
      socket("socket"),
      memory("memory"),
      interrupt("interrupt"),
      inner_(std::make_unique<Inner>(checked(hardware, plan), plan, options, memory)) {
  socket.bind(inner_->socket);
  memory.bind(*inner_);
  SC_METHOD(show_interrupt);
  sensitive << inner_->system->run_ended() << inner_->reset_done;
  dont_initialize();
}

Accelerator::~Accelerator() = default;

void Accelerator::start_of_simulation() {
  const bool external = inner_->options.external_memory != nullptr;
  if (external != (memory.size() > 0))
    throw UserError(fmt::format("{}: {}", memory.name(),
                                external ? "the external memory of RunOptions is not bound to it"
                                         : "a memory is bound to it, which RunOptions::Dram::kExternal asks "
                                           "for"));
  inner_->write_image();
}

void Accelerator::load(const NetworkPlan& plan, Memories memories) {
  check_made_for(Hardware(inner_->hardware), plan);
  inner_->check_stopped();
  inner_->plan = plan.inner()->planned.plan;
  inner_->reset();
  if (memories == Memories::kCleared) inner_->system->clear_memories();
  if (sc_core::sc_get_status() >= sc_core::SC_START_OF_SIMULATION) inner_->write_image();
}

void Accelerator::reset() {
  inner_->check_stopped();
  inner_->reset();
}

void Accelerator::show_interrupt() {
  if (inner_->system->finished() && inner_->status == AcceleratorStatus::kRunning)
    inner_->status = AcceleratorStatus::kDone;
  if (interrupt.size() > 0) interrupt->write(inner_->status == AcceleratorStatus::kDone);
}

AcceleratorStatus Accelerator::status() const {
  return inner_->status;
}

std::uint64_t Accelerator::memory_bytes() const {
  return inner_->memory_bytes();
}

TensorPlace Accelerator::placement(const std::string& tensor) const {
  const auto found = inner_->plan.tensors.find(tensor);
  if (found == inner_->plan.tensors.end())
    throw UserError(fmt::format("{}: no tensor '{}' lies in DRAM", inner_->plan.name, tensor));
  return TensorPlace(std::make_shared<const TensorPlace::Inner>(TensorPlace::Inner{found->second}));
}

Result Accelerator::result() {
  if (inner_->status != AcceleratorStatus::kDone)
    throw UserError(fmt::format("{}: the run has not ended", name()));
  return make_result(collect_result(inner_->config, inner_->plan, inner_->options, *inner_->system),
                     inner_->hardware);
}

std::int64_t Accelerator::counter(const std::string& module, const std::string& name) {
  return value_of(inner_->system->snapshot_now().counters, module, name);
}

std::string Accelerator::describe_state() const {
  return inner_->system->describe_state();
}

}  // namespace tilebeat
