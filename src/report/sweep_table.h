#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// The results of a sweep (SPEC UI-9). A row is a flat object: `point`, a text for every axis, `result`
/// (`passed`, `failed`: a check or the simulation failed, `error`: there is no report), the values of
/// `sweep_values` where there is a report, and `error`, a text, where not all passed.
struct SweepTable {
  std::string name;
  std::vector<std::string> axes;
  std::vector<nlohmann::ordered_json> rows;  ///< in the order of the points
};

/// The names of all columns besides those of axes.
std::vector<std::string> sweep_columns();
/// The columns that are less where a point is better: those that a Pareto front may be of, besides axes of
/// numbers.
std::vector<std::string> sweep_costs();

/// What a sweep tells of a run: an object with some of `sweep_columns`. `report` has passed `check_report`.
nlohmann::ordered_json sweep_values(const nlohmann::ordered_json& report);

/// Two columns that a Pareto front is of.
using ParetoAxes = std::array<std::string, 2>;
/// The numbers of the rows that passed, have both values and are not beaten in both by another one, least
/// first in the first column. Rows with equal values are all on the front.
std::vector<std::size_t> pareto_front(const SweepTable& table, const ParetoAxes& axes);

/// Comma-separated values (RFC 4180, lines end with a line feed): a heading, then a line for every point.
/// Columns of energy are there where some report has them. Same table, same bytes.
std::string sweep_csv(const SweepTable& table, const ParetoAxes& axes);
/// The points of the front as a text table, and the errors.
std::string sweep_summary(const SweepTable& table, const ParetoAxes& axes);
/// One self-contained HTML page: the points over both columns with their front, and the table. It needs no
/// script and no other file.
std::string sweep_page(const SweepTable& table, const ParetoAxes& axes);

/// The columns of a table in their order, without those that no row has and only some reports do.
std::vector<std::string> shown_columns(const SweepTable& table);
/// A number of a row, or the label of an axis that is one.
std::optional<double> number_in(const nlohmann::ordered_json& row, const std::string& column);
/// A value for the eye.
std::string shown_number(const nlohmann::ordered_json& value);

}  // namespace tilebeat
