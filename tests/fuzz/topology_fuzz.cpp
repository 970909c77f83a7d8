// Topologies of SCALE-Sim: read, and made into a workload.
#include "fuzz_target.h"
#include "import/topology.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  return fuzz::tried(
      [&] { import_topology(std::string(reinterpret_cast<const char*>(data), size), "file", {}); });
}
