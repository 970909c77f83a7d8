// Programs written by hand, as text, for a chip of two cores.
#include "config/hardware_config.h"
#include "fuzz_target.h"
#include "program/program_file.h"

namespace {

const tilebeat::HardwareConfig& chip() {
  static const tilebeat::HardwareConfig hardware = [] {
    tilebeat::HardwareConfig made;
    made.chip.emplace().cores_per_cluster = 2;
    return made;
  }();
  return hardware;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  return fuzz::tried([&] { load_programs(fuzz::MemoryFile(data, size).path(), chip()); });
}
