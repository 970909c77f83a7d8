#include "report/page/markup.h"
#include "report/sweep_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using page::drawn;
using page::escaped;

// Pixels of the drawing.
constexpr double kWidth = 960, kHeight = 460, kLeft = 70, kRight = 20, kTop = 14, kBottom = 44;
constexpr page::AxisRoom kRoom{0.08, 0.12, 0.3};
constexpr std::size_t kMostLabels = 12;

// How a column is shown: its heading, and the unit of its values, which are multiples of `scale` of it.
struct ColumnStyle {
  std::string_view column, heading, unit;
  double scale;
};
constexpr std::array<ColumnStyle, 8> kColumnStyles{{{"cycles", "cycles", "", 1},
                                                    {"time_us", "time", "s", 1e-6},
                                                    {"dram_read_bytes", "DRAM read", "B", 1},
                                                    {"dram_write_bytes", "DRAM written", "B", 1},
                                                    {"dram_bytes", "DRAM", "B", 1},
                                                    {"energy_pj", "energy", "J", 1e-12},
                                                    {"edp_joule_seconds", "energy-delay", "J s", 1},
                                                    {"area_mm2", "area", "mm²", 1}}};

const ColumnStyle* style_of(const std::string& column) {
  const auto found = std::find_if(kColumnStyles.begin(), kColumnStyles.end(),
                                  [&](const ColumnStyle& shown) { return shown.column == column; });
  return found == kColumnStyles.end() ? nullptr : &*found;
}

std::string heading(const std::string& column) {
  if (column == "largest_stall_share") return "share";
  const ColumnStyle* shown = style_of(column);
  return escaped(shown != nullptr ? std::string(shown->heading) : column);
}

// A number of a column with its unit and at most four digits.
std::string with_unit(const std::string& column, double value) {
  const ColumnStyle* shown = style_of(column);
  if (shown == nullptr) return fmt::format("{:.4g}", value);
  value *= shown->scale;
  if (shown->unit == "mm²") return fmt::format("{:.4g} mm²", value);
  return page::four_digits(value) + std::string(shown->unit);
}

struct Dot {
  std::size_t row;
  double a, b;
};

// The axis whose values colour the points, and the colour of each value, in their order.
struct Colouring {
  std::string axis;
  std::vector<std::pair<std::string, std::string>> colours;

  std::string of(const nlohmann::ordered_json& row) const {
    const std::string value = axis_text(row, axis);
    const auto found = std::find_if(colours.begin(), colours.end(),
                                    [&](const auto& colour) { return colour.first == value; });
    return found == colours.end() ? page::kBlue : found->second;
  }
};

// A colour for every value; more than there are that can be told apart go from light to dark.
Colouring colouring_of(const AxisEffect& effect) {
  Colouring colouring{effect.axis, {}};
  const std::size_t count = effect.values.size();
  for (std::size_t i = 0; i < count; ++i) {
    constexpr double kLightest = 0.25;
    const double share =
        kLightest + (1 - kLightest) * static_cast<double>(i) / static_cast<double>(count - 1);
    std::string colour = page::shade(share);
    if (count <= page::kCauseColours.size()) colour = i == 0 ? page::kBlue : page::kCauseColours[i];
    colouring.colours.emplace_back(effect.values[i].value, colour);
  }
  return colouring;
}

struct Drawing {
  const SweepTable& table;
  const ParetoAxes& axes;
  const std::optional<Colouring>& colouring;
  std::vector<std::size_t> front;  ///< rows
  std::vector<Dot> dots;           ///< points that both logarithmic axes can show
  page::Axis x, y;

  bool best(std::size_t row) const { return std::find(front.begin(), front.end(), row) != front.end(); }
  const Dot* dot_of(std::size_t row) const {
    const auto found =
        std::find_if(dots.begin(), dots.end(), [row](const Dot& dot) { return dot.row == row; });
    return found == dots.end() ? nullptr : &*found;
  }
};

Drawing drawing_of(const SweepTable& table, const ParetoAxes& axes,
                   const std::optional<Colouring>& colouring) {
  Drawing drawing{table, axes, colouring, pareto_front(table, axes), {}, {}, {}};
  std::vector<double> xs, ys;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto& row = table.rows[i];
    const std::optional<double> a = number_in(row, axes[0]), b = number_in(row, axes[1]);
    if (row["result"] != "passed" || !a || !b || *a <= 0 || *b <= 0) continue;
    drawing.dots.push_back({i, *a, *b});
    xs.push_back(*a), ys.push_back(*b);
  }
  if (xs.empty()) return drawing;
  drawing.x = page::axis_over(xs, kLeft, kWidth - kRight, kRoom);
  drawing.y = page::axis_over(ys, kHeight - kBottom, kTop, kRoom);
  return drawing;
}

std::string grid(const Drawing& d) {
  const std::string style = "stroke=\"#ddd\"";
  std::string svg;
  for (const double value : page::ticks(d.x)) {
    svg += page::line(d.x.at(value), kTop, d.x.at(value), kHeight - kBottom, style);
    svg += page::text_at(d.x.at(value), kHeight - kBottom + 16, page::tick_text(value),
                         "text-anchor=\"middle\"");
  }
  for (const double value : page::ticks(d.y)) {
    svg += page::line(kLeft, d.y.at(value), kWidth - kRight, d.y.at(value), style);
    svg += page::text_at(kLeft - 6, d.y.at(value) + 4, page::tick_text(value), "text-anchor=\"end\"");
  }
  svg += page::text_at((kLeft + kWidth) / 2, kHeight - 8, d.axes[0], "text-anchor=\"middle\"");
  return svg + page::text_at(-kHeight / 2, 14, d.axes[1], "text-anchor=\"middle\" transform=\"rotate(-90)\"");
}

// Steps: between two points of the front nothing better than the worse of both is known.
std::string front_line(const Drawing& d) {
  std::string points;
  double height = 0;
  for (const std::size_t row : d.front) {
    const Dot* dot = d.dot_of(row);
    if (dot == nullptr) continue;
    if (!points.empty()) points += fmt::format(" {},{}", drawn(d.x.at(dot->a)), drawn(height));
    height = d.y.at(dot->b);
    points += fmt::format("{}{},{}", points.empty() ? "" : " ", drawn(d.x.at(dot->a)), drawn(height));
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", points,
                     page::kOrange);
}

// Form and colour both tell the front.
std::string dot_at(const Drawing& d, const Dot& dot) {
  const auto& row = d.table.rows[dot.row];
  const std::string attributes = fmt::format(" data-point=\"{}\"", escaped(row["point"].get<std::string>()));
  const std::string hint = fmt::format(
      "<title>{}: {} {}, {} {}</title>", escaped(row["point"].get<std::string>()), heading(d.axes[0]),
      with_unit(d.axes[0], dot.a), heading(d.axes[1]), with_unit(d.axes[1], dot.b));
  const std::string colour = d.colouring       ? d.colouring->of(row)
                             : d.best(dot.row) ? page::kOrange
                                               : page::kBlue;
  const double x = d.x.at(dot.a), y = d.y.at(dot.b);
  if (!d.best(dot.row))
    return fmt::format(
        "<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.75\"{}>{}</circle>\n", drawn(x),
        drawn(y), colour, attributes, hint);
  constexpr double kHalf = 6;
  return fmt::format(
      "<path d=\"M {0} {2} L {3} {1} L {0} {4} L {5} {1} Z\" fill=\"{6}\" stroke=\"{7}\"{8}>{9}</path>\n",
      drawn(x), drawn(y), drawn(y - kHalf), drawn(x + kHalf), drawn(y + kHalf), drawn(x - kHalf), colour,
      page::kInk, attributes, hint);
}

// The front's names, where they meet neither each other nor another point of the front.
std::string labels(const Drawing& d) {
  constexpr double kCharacter = 6.6, kLine = 13, kGap = 9;
  struct Box {
    double left, top, right, bottom;
  };
  std::vector<Box> taken;
  for (const Dot& dot : d.dots) {
    const double x = d.x.at(dot.a), y = d.y.at(dot.b);
    taken.push_back({x - 4, y - 4, x + 4, y + 4});
  }
  std::string svg;
  std::size_t shown = 0;
  for (const std::size_t row : d.front) {
    const Dot* dot = d.dot_of(row);
    if (dot == nullptr || shown == kMostLabels) continue;
    const std::string name = d.table.rows[row]["point"].get<std::string>();
    const double width = kCharacter * static_cast<double>(name.size());
    const double x = d.x.at(dot->a), y = d.y.at(dot->b);
    for (const auto& [left, top] :
         {std::pair(x + kGap, y - kLine - 1), std::pair(x + kGap, y + 2), std::pair(x - kGap - width, y + 2),
          std::pair(x - kGap - width, y - kLine - 1), std::pair(x, y - kLine - kGap),
          std::pair(x, y + kGap)}) {
      const Box box{left, top, left + width, top + kLine};
      const bool free =
          box.left > kLeft && box.right < kWidth && box.top > 0 && box.bottom < kHeight - kBottom &&
          std::none_of(taken.begin(), taken.end(), [&](const Box& b) {
            return box.left < b.right && b.left < box.right && box.top < b.bottom && b.top < box.bottom;
          });
      if (!free) continue;
      taken.push_back(box);
      svg += page::text_at(left, top + kLine - 3, name,
                           "font-size=\"12\" paint-order=\"stroke\" stroke=\"#fff\" stroke-width=\"3\"");
      ++shown;
      break;
    }
  }
  return svg;
}

std::string picture(const Drawing& d) {
  if (d.dots.empty())
    return fmt::format("<p>No point that passed has both {} and {}.</p>\n", escaped(d.axes[0]),
                       escaped(d.axes[1]));
  std::string svg = fmt::format(
      "<svg class=\"drawing\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{} over {}\">\n",
      kWidth, kHeight, escaped(d.axes[1]), escaped(d.axes[0]));
  svg += grid(d) + front_line(d);
  for (const bool best : {false, true}) {
    for (const Dot& dot : d.dots) {
      if (d.best(dot.row) == best) svg += dot_at(d, dot);
    }
  }
  return svg + labels(d) + "</svg>\n";
}

std::string cell(const nlohmann::ordered_json& row, const std::string& column) {
  if (!row.contains(column)) return "<td></td>";
  const auto& value = row[column];
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    return text == "failed" || text == "error"
               ? fmt::format("<td class=\"failed\">{}</td>", text)
               : fmt::format("<td{}>{}</td>", number_in(row, column) ? " class=\"n\"" : "", escaped(text));
  }
  const bool share = column == "utilization" || column == "largest_stall_share";
  return fmt::format("<td class=\"n\"><span data-value=\"{}\">{}</span></td>",
                     value.is_number_float() ? page::exact(value.get<double>()) : value.dump(),
                     share ? page::percent(value.get<double>()) : with_unit(column, value.get<double>()));
}

// The columns of the page; the CSV also has names that the axes repeat, and parts of sums.
std::vector<std::string> page_columns(const SweepTable& table) {
  std::vector<std::string> columns = shown_columns(table);
  const auto left_out = [&table](const std::string& column) {
    const bool errors = std::any_of(table.rows.begin(), table.rows.end(),
                                    [](const auto& row) { return row.contains("error"); });
    return (column == "point" && !table.axes.empty()) || (column == "error" && !errors) || column == "macs" ||
           column == "dram_read_bytes" || column == "dram_write_bytes";
  };
  columns.erase(std::remove_if(columns.begin(), columns.end(), left_out), columns.end());
  return columns;
}

std::string rows_of(const Drawing& d) {
  const std::vector<std::string> columns = page_columns(d.table);
  std::string html = "<table><thead><tr>";
  for (const std::string& column : columns) html += fmt::format("<th>{}</th>", heading(column));
  html += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < d.table.rows.size(); ++i) {
    html += d.best(i) ? "<tr class=\"best\">" : "<tr>";
    for (const std::string& column : columns)
      html += column == "pareto" ? fmt::format("<td>{}</td>", d.best(i) ? "&#9670;" : "")
                                 : cell(d.table.rows[i], column);
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

// What each axis does: its values beside its first one.
std::string effects_of(const std::vector<AxisEffect>& effects, const ParetoAxes& axes) {
  constexpr double kBar = 160, kBarHeight = 10, kMostTimes = 4;
  if (effects.empty()) return "";
  std::string rows;
  for (const AxisEffect& effect : effects) {
    for (const ValueEffect& value : effect.values) {
      const bool first = &value == &effect.values.front();
      rows +=
          fmt::format("<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
                      first ? escaped(effect.axis) : "", escaped(value.value), value.points, value.compared);
      for (const std::optional<double>& times : value.times) {
        if (!times) {
          rows += "<td class=\"n\"></td><td></td>";
          continue;
        }
        // One in the middle, four times as much at the right end.
        const double at = kBar / 2 * (1 + std::clamp(std::log(*times) / std::log(kMostTimes), -1.0, 1.0));
        rows += fmt::format(
            "<td class=\"n\"><span data-effect=\"{}\">{:.3f}</span></td><td><svg width=\"{:.0f}\" "
            "height=\"{:.0f}\">{}{}</svg></td>",
            page::exact(*times), *times, kBar, kBarHeight,
            page::rect_at(std::min(at, kBar / 2), 0, std::abs(at - kBar / 2), kBarHeight,
                          *times > 1 ? page::kOrange : page::kBlue),
            page::line(kBar / 2, 0, kBar / 2, kBarHeight, fmt::format("stroke=\"{}\"", page::kInk)));
      }
      rows += "</tr>\n";
    }
  }
  return fmt::format(
      "<h2>What each axis does</h2>\n<p>Points that differ in one axis alone, beside those of its first "
      "value: "
      "the geometric mean of the quotients. Blue is less, orange more; a bar of full length is four times as "
      "much.</p>\n<table><thead><tr><th>axis</th><th>value</th><th class=\"n\">points</th><th "
      "class=\"n\">compared</th><th class=\"n\" colspan=\"2\">{}, times</th><th class=\"n\" "
      "colspan=\"2\">{}, "
      "times</th></tr></thead><tbody>\n{}</tbody></table>\n",
      heading(axes[0]), heading(axes[1]), rows);
}

std::string legend_of(const std::optional<Colouring>& colouring) {
  if (!colouring)
    return page::legend_entry(page::kOrange, "Pareto front (diamonds)") +
           page::legend_entry(page::kBlue, "other points (dots)");
  std::string text =
      fmt::format("Diamonds are the front. Colours are values of <b>{}</b>: ", escaped(colouring->axis));
  for (const auto& [value, colour] : colouring->colours) text += page::legend_entry(colour, value);
  return text;
}

}  // namespace

std::string sweep_page(const SweepTable& table, const ParetoAxes& axes, const std::string& colour) {
  const std::vector<AxisEffect> effects = axis_effects(table, axes);
  std::optional<Colouring> colouring;
  for (const AxisEffect& effect : effects) {
    if (!colouring && (colour.empty() ? effect.values.size() > 1 : effect.axis == colour))
      colouring = colouring_of(effect);
  }
  const Drawing drawing = drawing_of(table, axes, colouring);
  const auto passed = std::count_if(table.rows.begin(), table.rows.end(),
                                    [](const auto& row) { return row["result"] == "passed"; });
  const std::string name = escaped(table.name);
  return page::opening("sweep " + name, "tr.best { background: #fdf3dc; } table { font-size: 13px; }\n") +
         fmt::format(
             "<p>{} points, {} passed. Points of the Pareto front: {}. No other point has less {} "
             "without more {}.</p>\n<p>{}</p>\n",
             table.rows.size(), passed, drawing.front.size(), heading(axes[0]), heading(axes[1]),
             legend_of(colouring)) +
         picture(drawing) + effects_of(effects, axes) + "<h2>All points</h2>\n" + rows_of(drawing) +
         page::kClosing;
}

}  // namespace tilebeat
