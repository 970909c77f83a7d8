// TensorFlow Lite files: read, and made into a workload.
#include "fuzz_target.h"
#include "import/imported.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  return fuzz::tried([&] { import_model(fuzz::MemoryFile(data, size).path(), ModelFormat::kTflite, {}); });
}
