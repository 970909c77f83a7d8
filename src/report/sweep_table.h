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
/// The columns whose lower values are better: those that a Pareto front can use, besides numeric axes.
std::vector<std::string> sweep_costs();

/// A run's values in a sweep: an object with some of `sweep_columns`. `report` has passed `check_report`.
nlohmann::ordered_json sweep_values(const nlohmann::ordered_json& report);

/// The two columns of a Pareto front.
using ParetoAxes = std::array<std::string, 2>;
/// The numbers of the rows that passed, have both values and are not dominated in both by another row, in
/// rising order of the first column. Rows with equal values are all on the front.
std::vector<std::size_t> pareto_front(const SweepTable& table, const ParetoAxes& axes);

/// Comma-separated values (RFC 4180, lines end with a line feed): a heading, then a line for every point.
/// Columns of energy are there where some report has them. Same table, same bytes.
std::string sweep_csv(const SweepTable& table, const ParetoAxes& axes);
/// The points of the front as a text table, and the errors.
std::string sweep_summary(const SweepTable& table, const ParetoAxes& axes);
/// One self-contained HTML page: the points over both columns with their front, coloured by the axis
/// `colour`, or by the one with the largest effect, what each axis does, and the table. It needs no script
/// and no other file.
std::string sweep_page(const SweepTable& table, const ParetoAxes& axes, const std::string& colour = "");

/// The columns of a table in order, without optional columns that no row has.
std::vector<std::string> shown_columns(const SweepTable& table);
/// The numeric value of a row's column, or the numeric label of an axis.
std::optional<double> number_in(const nlohmann::ordered_json& row, const std::string& column);
/// A value formatted for people.
std::string shown_number(const nlohmann::ordered_json& value);

/// What a value of an axis does: points that differ from one another in this axis alone are compared, those
/// of this value with those of the axis's first value.
struct ValueEffect {
  std::string value;
  std::size_t points = 0;                        ///< that passed
  std::size_t compared = 0;                      ///< of them, those with a partner at the first value
  std::array<std::optional<double>, 2> times{};  ///< by Pareto axis: the geometric mean of the quotients
};

/// What an axis of a sweep does.
struct AxisEffect {
  std::string axis;
  std::vector<ValueEffect> values;  ///< in the order of the points
  /// The most that its values differ by in the first Pareto axis: the largest mean quotient over the
  /// smallest.
  double spread = 1;
};

/// The effects of all axes, the largest first; of a list of points without axes none.
std::vector<AxisEffect> axis_effects(const SweepTable& table, const ParetoAxes& costs);

/// The text of a row's axis.
std::string axis_text(const nlohmann::ordered_json& row, const std::string& axis);

}  // namespace tilebeat
