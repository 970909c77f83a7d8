#pragma once

#include "tilebeat/report/sweep_table.h"

#include <optional>

namespace tilebeat {

/// The columns of a table in their order, without those that no row has and only some reports do.
std::vector<std::string> shown_columns(const SweepTable& table);
/// A number of a row, or the label of an axis that is one.
std::optional<double> number_in(const nlohmann::ordered_json& row, const std::string& column);
/// A value for the eye.
std::string shown_number(const nlohmann::ordered_json& value);

}  // namespace tilebeat
