// Mapping files.
#include "fuzz_target.h"
#include "planner/language/mapping_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  return fuzz::tried([&] { load_mapping(fuzz::MemoryFile(data, size).path()); });
}
