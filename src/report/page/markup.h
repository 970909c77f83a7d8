#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat::page {

/// A page from its first byte to its heading; `title` is HTML, `style` further rules.
std::string opening(const std::string& title, const std::string& style = "");
/// The end of a page.
constexpr const char* kClosing = "</body>\n</html>\n";

using Json = nlohmann::ordered_json;

/// Colours that are told apart without seeing red and green (Okabe and Ito).
constexpr const char *kBlue = "#0072b2", *kOrange = "#e69f00", *kGrey = "#b8b8b8", *kInk = "#222";
constexpr std::array<const char*, 6> kCauseColours{"#e69f00", "#56b4e9", "#009e73",
                                                   "#d55e00", "#cc79a7", "#f0e442"};

/// `text` escaped for HTML, also inside an attribute: one line, valid UTF-8.
std::string escaped(const std::string& text);
/// `value` with the fewest digits that read back to it.
std::string exact(double value);
/// A count or a rate with three digits and a metric prefix: 1234567 as "1.23 M".
std::string prefixed(double value);
/// A value with at most four digits and a metric prefix, from atto to exa, with a blank behind the number:
/// 0.0001234 as "123.4 µ".
std::string four_digits(double value);
/// A share as "12.3 %".
std::string percent(double share);
/// A length or a place in a drawing, with one decimal.
std::string drawn(double pixels);
/// White at 0 to dark blue at 1.
std::string shade(double share);
/// The colour of text on `shade(share)`.
const char* ink_on(double share);

/// `<text>` of a drawing. `more`: further attributes.
std::string text_at(double x, double y, const std::string& text, const std::string& more = "");
/// `<rect>` of a drawing, with `hint` as its tooltip where that is not empty.
std::string rect_at(double x, double y, double width, double height, const std::string& fill,
                    const std::string& hint = "", const std::string& more = "");
/// A coloured square and its meaning.
std::string legend_entry(const std::string& colour, const std::string& text);

/// A report whose numbers are shown: it writes the attributes with their origin (`report_page`).
class Cited {
 public:
  /// `report` outlives the object.
  Cited(std::size_t run, const Json& report) : run_(run), report_(&report) {}

  const Json& report() const { return *report_; }
  const Json& at(const std::string& pointer) const;
  double number(const std::string& pointer) const { return at(pointer).get<double>(); }
  std::int64_t integer(const std::string& pointer) const { return at(pointer).get<std::int64_t>(); }

  /// The attributes of an element that shows the value at `pointer`.
  std::string attributes(const std::string& pointer) const;
  /// The attributes of an element that shows the computed `value`.
  std::string attributes(const std::string& name, double value) const;

  /// A `<span>` with the count at `pointer`, all digits.
  std::string count(const std::string& pointer) const;
  /// A `<span>` with the count at `pointer`, three digits, and all of them in a tooltip.
  std::string short_count(const std::string& pointer) const;
  /// A `<span>` with the count at `pointer`, at most four digits and `unit`, and all of them in a tooltip.
  std::string count_in(const std::string& pointer, const std::string& unit) const;
  /// A `<span>` with the share at `pointer`.
  std::string share(const std::string& pointer) const;
  /// A `<span>` with `shown`, which is the computed `value`.
  std::string computed(const std::string& name, double value, const std::string& shown) const;

 private:
  std::size_t run_;
  const Json* report_;
};

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

/// Round numbers along an axis: its decades, and for a short axis some numbers in between.
std::vector<double> ticks(const Axis& axis);
/// A round number: "10 T".
std::string tick_text(double value);

/// `<line>` of a drawing, with further attributes.
std::string line(double x1, double y1, double x2, double y2, const std::string& style);

}  // namespace tilebeat::page
