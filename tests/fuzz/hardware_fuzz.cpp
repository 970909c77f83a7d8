// Hardware files. What is accepted means the same when it is written down and read again.
#include "config/hardware_config.h"
#include "fuzz_target.h"

#include <nlohmann/json.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  return fuzz::tried([&] {
    const HardwareConfig hardware = load_hardware(fuzz::MemoryFile(data, size).path());
    const std::string text = hardware_to_json(hardware).dump();
    const HardwareConfig again = parse_hardware(nlohmann::json::parse(text), "again");
    fuzz::require(hardware_to_json(again).dump() == text);
  });
}
