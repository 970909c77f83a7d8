// Files of offset tables. The case has no checksum: it is put behind, so that more than the checksum is
// tried.
#include "engines/offset_table/table_file.h"
#include "fuzz_target.h"

#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  std::vector<std::uint8_t> bytes(data, data + size);
  const std::uint32_t sum = offset_table::checksum(bytes.data(), bytes.size());
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(sum >> (8 * i)));
  return fuzz::tried([&] { offset_table::read_tables(bytes, "tables"); });
}
