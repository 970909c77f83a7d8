#pragma once

// Sweep files of tests.

#include "tilebeat_command.h"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat::testing {

/// A sweep of a small layer on the switch array, without axes.
inline nlohmann::json small_sweep() {
  return {{"tilebeat_sweep", 1},
          {"name", "small"},
          {"config", source_path("configs/switch16.json")},
          {"layer", source_path("models/worked_dilated.json")}};
}

/// An axis over values of one place of the hardware.
inline nlohmann::json config_axis(const std::string& name, const std::string& pointer,
                                  const nlohmann::json& values) {
  return {{"name", name}, {"target", "config"}, {"pointer", pointer}, {"values", values}};
}

/// Lines of a CSV file as cells; no cell of the tests' own tables has a line feed.
inline std::vector<std::vector<std::string>> csv_cells(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      lines.back().back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      lines.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      lines.push_back({""});
    } else {
      lines.back().back() += c;
    }
  }
  lines.pop_back();
  return lines;
}

/// The cell of a point, which stands in the first column, under a heading.
inline std::string cell_of(const std::vector<std::vector<std::string>>& csv, const std::string& point,
                           const std::string& column) {
  const auto at = std::find(csv.at(0).begin(), csv.at(0).end(), column) - csv.at(0).begin();
  for (const auto& line : csv) {
    if (line.at(0) == point) return line.at(static_cast<std::size_t>(at));
  }
  throw std::runtime_error("no point " + point);
}

}  // namespace tilebeat::testing
