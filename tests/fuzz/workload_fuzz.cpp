// Workload files.
#include "tilebeat/workload/workload.h"

#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  return fuzz::tried([&] { load_workload(fuzz::MemoryFile(data, size).path()); });
}
