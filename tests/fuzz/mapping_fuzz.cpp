// Mapping files.
#include "tilebeat/mapping/mapping_file.h"

#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  return fuzz::tried([&] { load_mapping(fuzz::MemoryFile(data, size).path()); });
}
