// YAML: what it becomes can be written as JSON and read again.
#include "fuzz_target.h"
#include "schema/yaml_file.h"

#include <nlohmann/json.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  return fuzz::tried([&] {
    const nlohmann::json json = parse_yaml(std::string(reinterpret_cast<const char*>(data), size), "file");
    fuzz::require(nlohmann::json::parse(json.dump()) == json);
  });
}
