// Workload files.
#include "fuzz_target.h"
#include "workload/workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  return fuzz::tried([&] { load_workload(fuzz::MemoryFile(data, size).path()); });
}
