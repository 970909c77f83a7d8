#include "embed/accelerator.h"

#include "system/simulation.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kOutstanding = 8;
constexpr std::uint64_t kBurstBytes = 256;  // no burst crosses a multiple of it

SimulationOptions embedded(Granularity granularity) {
  SimulationOptions options;
  options.granularity = granularity;
  options.started_by = StartedBy::kOutside;
  return options;
}

bool is_register(std::uint64_t address) {
  return address >= to_unsigned(AcceleratorRegister::kStart);
}

}  // namespace

Accelerator::Accelerator(sc_core::sc_module_name name, HardwareConfig hardware, Plan plan,
                         Granularity granularity)
    : sc_module(name),
      socket("socket"),
      interrupt("interrupt"),
      hardware_(std::move(hardware)),
      plan_(std::move(plan)),
      options_(embedded(granularity)),
      clock_(hardware_.clock_ps()),
      system_(make_system(hardware_, plan_, options_, nullptr)),
      port_("port", SimContext{clock_}, kOutstanding, wake_),
      turn_("turn") {
  socket.register_b_transport(this, &Accelerator::transport);
  socket.register_transport_dbg(this, &Accelerator::debug);
  port_.socket.bind(*system_->external_port());
  SC_METHOD(finish);
  sensitive << system_->run_ended();
  dont_initialize();
}

void Accelerator::start_of_simulation() {
  for (MemorySegment& segment : plan_.image) {
    system_->write_memory(segment.address, segment.bytes);
    std::vector<std::uint8_t>().swap(segment.bytes);
  }
}

void Accelerator::transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  wait(delay);
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
    turn_.lock();
    access_memory(payload);
    turn_.unlock();
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
}

tlm::tlm_response_status Accelerator::access_register(tlm::tlm_generic_payload& payload) {
  const unsigned bytes = payload.get_data_length();
  if (bytes != 4 && bytes != 8) return tlm::TLM_BURST_ERROR_RESPONSE;
  switch (static_cast<AcceleratorRegister>(payload.get_address())) {
    case AcceleratorRegister::kStart:
      if (!payload.is_write()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
      if (status_ == AcceleratorStatus::kIdle) {
        status_ = AcceleratorStatus::kRunning;
        system_->start();
      }
      return tlm::TLM_OK_RESPONSE;
    case AcceleratorRegister::kStatus: {
      if (!payload.is_read()) return tlm::TLM_COMMAND_ERROR_RESPONSE;
      const auto value = to_unsigned(status_);
      std::memcpy(payload.get_data_ptr(), &value, bytes);
      return tlm::TLM_OK_RESPONSE;
    }
  }
  return tlm::TLM_ADDRESS_ERROR_RESPONSE;
}

int Accelerator::send(tlm::tlm_generic_payload& payload, unsigned sent, Cycle now) {
  const std::uint64_t address = payload.get_address() + sent;
  const auto bytes =
      to_int(std::min<std::uint64_t>(payload.get_data_length() - sent, kBurstBytes - address % kBurstBytes));
  std::vector<std::uint8_t> data;
  if (payload.is_write()) data.assign(payload.get_data_ptr() + sent, payload.get_data_ptr() + sent + bytes);
  port_.issue(payload.get_command(), address, bytes, std::move(data), now);
  return bytes;
}

void Accelerator::access_memory(tlm::tlm_generic_payload& payload) {
  wait(to_sc_time(clock_.at(clock_.round_up(now_ps())) - now_ps()));
  unsigned sent = 0, done = 0;
  while (done < payload.get_data_length()) {
    const Cycle now = clock_.cycle_of(now_ps());
    while (port_.front_ready(now)) {
      const std::vector<std::uint8_t> data = port_.take_front();
      if (payload.is_read()) std::copy(data.begin(), data.end(), payload.get_data_ptr() + done);
      done += static_cast<unsigned>(data.size());
    }
    if (sent < payload.get_data_length() && port_.granted(now) && port_.has_room())
      sent += static_cast<unsigned>(send(payload, sent, now));
    if (done < payload.get_data_length()) wait(wake_);
  }
}

unsigned Accelerator::debug(tlm::tlm_generic_payload& payload) {
  if (is_register(payload.get_address())) return 0;
  return port_.socket->transport_dbg(payload);
}

void Accelerator::finish() {
  status_ = AcceleratorStatus::kDone;
  if (interrupt.size() > 0) interrupt->write(true);
}

const Placement& Accelerator::placement(const std::string& tensor) const {
  const auto found = plan_.tensors.find(tensor);
  if (found == plan_.tensors.end())
    throw UserError(fmt::format("{}: no tensor '{}' lies in DRAM", plan_.name, tensor));
  return found->second;
}

RunResult Accelerator::result() {
  if (status_ != AcceleratorStatus::kDone) throw UserError(fmt::format("{}: the run has not ended", name()));
  return collect_result(hardware_, plan_, options_, *system_);
}

std::vector<std::uint8_t> to_memory(const Placement& placement, const std::vector<std::uint8_t>& elements) {
  return placement.stored ? bytes_to_store(*placement.stored, elements) : elements;
}

std::vector<std::uint8_t> from_memory(const Placement& placement, const std::vector<std::uint8_t>& stored) {
  return placement.stored ? bytes_as_nhwc(*placement.stored, stored) : stored;
}

}  // namespace tilebeat
