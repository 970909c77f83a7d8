#pragma once

#include "temporary_folder.h"
#include "workload/workload.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilebeat {

/// A good file spoilt at one place.
struct Spoilt {
  const char* pointer;  ///< place of the change
  const char* value;    ///< null: the place is removed
  const char* wanted;   ///< part of the message
};

inline nlohmann::json spoil(nlohmann::json file, const Spoilt& spoilt) {
  const nlohmann::json::json_pointer pointer(spoilt.pointer);
  if (spoilt.value == nullptr) {
    file[pointer.parent_pointer()].erase(pointer.back());
  } else {
    file[pointer] = nlohmann::json::parse(spoilt.value);
  }
  return file;
}

/// A workload with the inputs that its file names.
inline Workload load_file(const std::string& path) {
  return load_workload(path);
}

/// Tests that files are refused in lines, one for each error, that name the file.
class Malformed : public ::testing::Test {
 protected:
  template <class Load>
  void expect_refused(const std::string& what, const std::string& path, const std::string& wanted,
                      Load load) {
    const std::string message = refusal([&] { load(path); });
    EXPECT_NE(message.find(wanted), std::string::npos) << what << "\nlacks " << wanted << ": " << message;
    std::istringstream lines(message);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_EQ(line.compare(0, path.size() + 2, path + ": "), 0)
          << what << "\nmust name the file: " << message;
      for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << what << " is not text";
    }
  }
  void expect_spoilt_refused(const nlohmann::json& good, const Spoilt& spoilt) {
    const std::string what =
        std::string(spoilt.pointer) + " = " + (spoilt.value == nullptr ? "" : spoilt.value);
    expect_refused(what, folder_.write("w.json", spoil(good, spoilt).dump()), spoilt.wanted, load_file);
  }

  TemporaryFolder folder_;
};

}  // namespace tilebeat
