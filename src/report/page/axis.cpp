#include "axis.h"

#include <algorithm>

#include <fmt/format.h>

#include "markup.h"

namespace tilebeat::page {

Axis axis_over(const std::vector<double>& values, double from, double to, AxisRoom room) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  Axis axis{std::log10(*least) - room.before, std::log10(*most) + room.behind, from, to};
  axis.begin = std::min(axis.begin, axis.end - room.least);
  return axis;
}

std::vector<double> ticks(const Axis& axis) {
  constexpr double kShort = 3, kVeryShort = 1;
  const double decades = axis.end - axis.begin;
  const std::vector<double> steps = decades < kVeryShort ? std::vector<double>{1, 1.5, 2, 3, 4, 5, 6, 8}
                                    : decades < kShort   ? std::vector<double>{1, 2, 5}
                                                         : std::vector<double>{1};
  std::vector<double> values;
  for (int e = static_cast<int>(std::floor(axis.begin)); e <= axis.end; ++e) {
    for (const double step : steps) {
      const double value = step * std::pow(10, e), exponent = std::log10(value);
      if (exponent >= axis.begin && exponent <= axis.end) values.push_back(value);
    }
  }
  return values;
}

std::string tick_text(double value) {
  std::string text = prefixed(value);
  const std::size_t point = text.find('.');
  if (point == std::string::npos) return text;
  const std::size_t end = std::min(text.find(' '), text.size());
  std::size_t last = end;
  while (text[last - 1] == '0') --last;
  if (last - 1 == point) --last;
  return text.erase(last, end - last);
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", drawn(x1), drawn(y1), drawn(x2),
                     drawn(y2), style);
}

}  // namespace tilebeat::page
