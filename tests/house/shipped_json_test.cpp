// What is shipped as JSON is JSON (RFC 8259), which any program reads: comments are fields.
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;

TEST(ShippedJson, UI_2_every_file_is_json_without_comments_and_repeated_keys) {
  std::size_t files = 0;
  for (const char* folder : {"configs", "models", "examples", "tests/baselines"}) {
    if (!fs::exists(fs::path(TILEBEAT_SOURCE_DIR) / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TILEBEAT_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".json") continue;
      ++files;
      std::vector<std::set<std::string>> keys;
      const auto unique = [&](int /*depth*/, nlohmann::json::parse_event_t event, nlohmann::json& value) {
        if (event == nlohmann::json::parse_event_t::object_start) keys.emplace_back();
        if (event == nlohmann::json::parse_event_t::object_end) keys.pop_back();
        if (event == nlohmann::json::parse_event_t::key) {
          EXPECT_TRUE(keys.back().insert(value.get<std::string>()).second) << entry.path() << ": " << value;
        }
        return true;
      };
      std::ifstream stream(entry.path());
      EXPECT_FALSE(nlohmann::json::parse(stream, unique, false).is_discarded()) << entry.path();
    }
  }
  EXPECT_GT(files, 45U) << "they were found";
}

}  // namespace
}  // namespace tilebeat::testing
