// NumPy files. What is accepted is the same tensor when it is written and read again.
#include "fuzz_target.h"
#include "workload/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  return fuzz::tried([&] {
    const Tensor tensor = read_npy(fuzz::MemoryFile(data, size).path());
    const std::string bytes = npy_bytes(tensor);
    const Tensor again =
        read_npy(fuzz::MemoryFile(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()).path());
    fuzz::require(again.shape == tensor.shape && again.dtype == tensor.dtype && again.bytes == tensor.bytes);
  });
}
