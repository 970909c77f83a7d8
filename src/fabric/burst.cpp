#include "tilebeat/fabric/burst.h"

#include "tilebeat/base/error.h"

#include <fmt/format.h>

namespace tilebeat {

tlm::tlm_generic_payload& BurstPool::acquire(tlm::tlm_command command, std::uint64_t address,
                                             std::uint8_t* data, int bytes) {
  if (unused_.empty()) {
    all_.push_back(std::make_unique<tlm::tlm_generic_payload>(this));
    all_.back()->set_extension(new BurstExtension);  // the payload owns it and frees it in its destructor
    unused_.push_back(all_.back().get());
  }
  tlm::tlm_generic_payload& burst = *unused_.back();
  unused_.pop_back();
  burst.acquire();
  burst.set_command(command);
  burst.set_address(address);
  burst.set_data_ptr(data);
  burst.set_data_length(static_cast<unsigned>(bytes));
  burst.set_streaming_width(static_cast<unsigned>(bytes));
  burst.set_byte_enable_ptr(nullptr);
  burst.set_dmi_allowed(false);
  burst.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  burst.get_extension<BurstExtension>()->trail.clear();
  return burst;
}

BurstExtension& BurstPool::extension(const tlm::tlm_generic_payload& burst) {
  BurstExtension* extension = burst.get_extension<BurstExtension>();
  if (extension == nullptr) {
    throw SimulationError(
        fmt::format("a burst at address {:#x} carries no BurstExtension; take it from a BurstPool",
                    static_cast<std::uint64_t>(burst.get_address())));
  }
  return *extension;
}

}  // namespace tilebeat
