#pragma once

// An access of a bank's port that nobody planned, beside those of the port's own initiator.

#include "systemc_test.h"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat::testing {

/// Reads byte 0 of a bank through a port of it at time `at`, and does so before anything else happens.
class SecondAccess : public sc_core::sc_module {
 public:
  /// `port` is how the port's name ends.
  SecondAccess(const sc_core::sc_module_name& name, std::string port, Picoseconds at)
      : sc_module(name), port_(std::move(port)), at_(at) {}

 private:
  void start_of_simulation() override {
    auto* const found = find(sc_core::sc_get_top_level_objects());
    auto* const socket = dynamic_cast<tlm::tlm_target_socket<>*>(found);
    if (socket == nullptr) throw std::runtime_error("no port " + port_);
    std::uint8_t byte = 0;
    tlm::tlm_generic_payload payload;
    payload.set_command(tlm::TLM_READ_COMMAND);
    payload.set_data_ptr(&byte);
    payload.set_data_length(1);
    sc_core::sc_time delay = to_sc_time(at_);
    socket->get_base_interface().b_transport(payload, delay);
  }
  sc_core::sc_object* find(const std::vector<sc_core::sc_object*>& objects) const {
    for (sc_core::sc_object* object : objects) {
      const std::string_view name = object->name();
      if (name.size() >= port_.size() && name.substr(name.size() - port_.size()) == port_) return object;
      if (sc_core::sc_object* const below = find(object->get_child_objects()); below != nullptr) return below;
    }
    return nullptr;
  }

  std::string port_;
  Picoseconds at_;
};

}  // namespace tilebeat::testing
