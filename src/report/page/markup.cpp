#include "report/page/markup.h"

#include "base/types.h"
#include "report/text_table.h"
#include "schema/place.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

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

namespace {

// The name of a file may contain any bytes.
std::string valid_utf8(const std::string& text) {
  const nlohmann::json json(text);
  return nlohmann::json::parse(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      .get<std::string>();
}

// A count, or a number with a fraction.
std::string exact(const Json& value) {
  return value.is_number_float() ? page::exact(value.get<double>()) : value.dump();
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string made;
  for (const char c : valid_utf8(one_line(text))) {
    switch (c) {
      case '<':
        made += "&lt;";
        break;
      case '>':
        made += "&gt;";
        break;
      case '&':
        made += "&amp;";
        break;
      case '"':
        made += "&quot;";
        break;
      case '\'':
        made += "&#39;";
        break;
      default:
        made += c;
    }
  }
  return made;
}

std::string exact(double value) {
  return fmt::format("{}", value);
}

std::string prefixed(double value) {
  constexpr std::array<const char*, 7> kPrefixes{"", " k", " M", " G", " T", " P", " E"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < kPrefixes.size()) value /= 1000, ++prefix;
  if (prefix == 0 && value == std::floor(value)) return fmt::format("{:.0f}", value);
  const int decimals = std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, decimals, kPrefixes[prefix]);
}

std::string four_digits(double value) {
  constexpr std::array<const char*, 13> kPrefixes{"a", "f", "p", "n", "µ", "m", "",
                                                  "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 6;
  while (std::abs(value) >= 999.95 && prefix + 1 < kPrefixes.size()) value /= 1000, ++prefix;
  while (value != 0 && std::abs(value) < 0.99995 && prefix > 0) value *= 1000, --prefix;
  return fmt::format("{:.4g} {}", value, kPrefixes[prefix]);
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string drawn(double pixels) {
  return fmt::format("{:.1f}", pixels);
}

std::string shade(double share) {
  constexpr std::array<int, 3> kLight{240, 245, 250}, kDark{8, 48, 107};
  const double part = std::clamp(share, 0.0, 1.0);
  const auto mixed = [&](std::size_t i) {
    return to_int(std::lround(kLight[i] + part * (kDark[i] - kLight[i])));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2));
}

const char* ink_on(double share) {
  return share > 0.45 ? "#fff" : kInk;
}

std::string text_at(double x, double y, const std::string& text, const std::string& more) {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", drawn(x), drawn(y), more.empty() ? "" : " ",
                     more, escaped(text));
}

std::string rect_at(double x, double y, double width, double height, const std::string& fill,
                    const std::string& hint, const std::string& more) {
  const std::string inside = hint.empty() ? "" : fmt::format("<title>{}</title>", escaped(hint));
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}>{}</rect>\n", drawn(x),
                     drawn(y), drawn(width), drawn(height), fill, more, inside);
}

std::string legend_entry(const std::string& colour, const std::string& text) {
  return fmt::format("<span class=\"key\"><svg width=\"12\" height=\"12\">{}</svg> {}</span>\n",
                     fmt::format("<rect width=\"12\" height=\"12\" fill=\"{}\"/>", colour), escaped(text));
}

const Json& Cited::at(const std::string& pointer) const {
  return report_->at(Json::json_pointer(pointer));
}

std::string Cited::attributes(const std::string& pointer) const {
  return fmt::format(" data-at=\"{}:{}\" data-value=\"{}\"", run_, escaped(pointer), exact(at(pointer)));
}

std::string Cited::attributes(const std::string& name, double value) const {
  return fmt::format(" data-of=\"{}:{}\" data-value=\"{}\"", run_, escaped(name), exact(value));
}

std::string Cited::count(const std::string& pointer) const {
  return fmt::format("<span{}>{}</span>", attributes(pointer), grouped(integer(pointer)));
}

std::string Cited::short_count(const std::string& pointer) const {
  return fmt::format("<span{} title=\"{}\">{}</span>", attributes(pointer), grouped(integer(pointer)),
                     prefixed(number(pointer)));
}

std::string Cited::count_in(const std::string& pointer, const std::string& unit) const {
  constexpr std::int64_t kFiveDigits = 10'000;
  const std::string all = grouped(integer(pointer));
  const std::string shown = integer(pointer) < kFiveDigits ? all + " " : four_digits(number(pointer));
  return fmt::format("<span{} title=\"{}\">{}{}</span>", attributes(pointer), all, shown, unit);
}

std::string Cited::share(const std::string& pointer) const {
  return fmt::format("<span{}>{}</span>", attributes(pointer), percent(number(pointer)));
}

std::string Cited::computed(const std::string& name, double value, const std::string& shown) const {
  return fmt::format("<span{}>{}</span>", attributes(name, value), shown);
}

}  // namespace tilebeat::page
