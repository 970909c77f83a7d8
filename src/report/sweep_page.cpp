#include "report/page/markup.h"
#include "report/sweep_table.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using page::drawn;
using page::escaped;

// Pixels of the drawing.
constexpr double kWidth = 960, kHeight = 460, kLeft = 70, kRight = 20, kTop = 14, kBottom = 44;
constexpr page::AxisRoom kRoom{0.08, 0.12, 0.3};
constexpr std::size_t kMostLabels = 12;

struct Dot {
  std::size_t row;
  double a, b;
};

struct Drawing {
  const SweepTable& table;
  const ParetoAxes& axes;
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

Drawing drawing_of(const SweepTable& table, const ParetoAxes& axes) {
  Drawing drawing{table, axes, pareto_front(table, axes), {}, {}, {}};
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
      "<title>{}: {} {}, {} {}</title>", escaped(row["point"].get<std::string>()), escaped(d.axes[0]),
      shown_number(row[d.axes[0]]), escaped(d.axes[1]), shown_number(row[d.axes[1]]));
  const double x = d.x.at(dot.a), y = d.y.at(dot.b);
  if (!d.best(dot.row))
    return fmt::format(
        "<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.55\"{}>{}</circle>\n", drawn(x),
        drawn(y), page::kBlue, attributes, hint);
  constexpr double kHalf = 6;
  return fmt::format(
      "<path d=\"M {0} {2} L {3} {1} L {0} {4} L {5} {1} Z\" fill=\"{6}\" stroke=\"{7}\"{8}>{9}</path>\n",
      drawn(x), drawn(y), drawn(y - kHalf), drawn(x + kHalf), drawn(y + kHalf), drawn(x - kHalf),
      page::kOrange, page::kInk, attributes, hint);
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
                     share ? page::percent(value.get<double>()) : shown_number(value));
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

std::string heading(const std::string& column) {
  return column == "largest_stall_share" ? "share" : escaped(column);
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

}  // namespace

std::string sweep_page(const SweepTable& table, const ParetoAxes& axes) {
  const Drawing drawing = drawing_of(table, axes);
  const auto passed = std::count_if(table.rows.begin(), table.rows.end(),
                                    [](const auto& row) { return row["result"] == "passed"; });
  const std::string name = escaped(table.name);
  return page::opening("sweep " + name, "tr.best { background: #fdf3dc; } table { font-size: 13px; }\n") +
         fmt::format(
             "<p>{} points, {} passed. Points of the Pareto front: {}. No other point has less {} "
             "without more {}.</p>\n<p>{}{}</p>\n",
             table.rows.size(), passed, drawing.front.size(), escaped(axes[0]), escaped(axes[1]),
             page::legend_entry(page::kOrange, "Pareto front (diamonds)"),
             page::legend_entry(page::kBlue, "other points (dots)")) +
         picture(drawing) + "<h2>All points</h2>\n" + rows_of(drawing) + page::kClosing;
}

}  // namespace tilebeat
