#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace tilebeat::page {

/// An axis with a logarithmic scale; `begin` and `end` are exponents of ten.
struct Axis {
  double begin = 0, end = 1;
  double from = 0, to = 0;  ///< pixels

  double at(double value) const { return from + (to - from) * (std::log10(value) - begin) / (end - begin); }
  double first() const { return std::pow(10, begin); }
};

/// Room around the values of an axis, in decades, and the fewest decades that it shows.
struct AxisRoom {
  double before, behind, least;
};
/// `values` are positive and not empty; a short axis grows towards smaller values.
Axis axis_over(const std::vector<double>& values, double from, double to, AxisRoom room);

/// Round numbers along an axis: its decades; of a short one, some between them, too.
std::vector<double> ticks(const Axis& axis);
/// A round number: "10 T".
std::string tick_text(double value);

/// `<line>` of a drawing, with further attributes.
std::string line(double x1, double y1, double x2, double y2, const std::string& style);

}  // namespace tilebeat::page
