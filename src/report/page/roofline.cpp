#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sections.h"

namespace tilebeat::page {
namespace {

// Pixels of the drawing.
constexpr double kWidth = 960, kHeight = 420, kLeft = 70, kRight = 20, kTop = 14, kBottom = 44;
constexpr std::size_t kMostLabels = 12;

struct Dot {
  std::size_t layer;
  std::string name;
  double intensity;  ///< MACs per byte over DRAM
  double rate;       ///< MACs a second
  double share;      ///< of the run's cycles
};

std::vector<Dot> dots_of(const RunFacts& run) {
  std::vector<Dot> dots;
  const Json& layers = run.cited.report()["layers"];
  const double total = run.cited.number("/total/cycles");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double macs = layers[i]["macs"].get<double>(), cycles = layers[i]["cycles"].get<double>();
    const double bytes = dram_bytes(layers[i]);
    if (macs <= 0 || bytes <= 0 || cycles <= 0) continue;
    dots.push_back(
        {i, layer_name(layers[i]), macs / bytes, macs / cycles * run.clock_mhz * 1e6, ratio(cycles, total)});
  }
  return dots;
}

// An axis with a logarithmic scale: whole decades, `begin` and `end` are exponents.
struct Axis {
  int begin = 0, end = 1;
  double from = 0, to = 0;  ///< pixels

  double at(double value) const {
    return from + (to - from) * (std::log10(value) - begin) / static_cast<double>(end - begin);
  }
};

Axis axis_over(std::vector<double> values, double from, double to) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  Axis axis{static_cast<int>(std::floor(std::log10(*least))), static_cast<int>(std::ceil(std::log10(*most))),
            from, to};
  if (axis.end == axis.begin) ++axis.end;
  return axis;
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", drawn(x1), drawn(y1), drawn(x2),
                     drawn(y2), style);
}

std::string grid(const Axis& x, const Axis& y) {
  const std::string style = "stroke=\"#ddd\"";
  std::string svg;
  for (int e = x.begin; e <= x.end; ++e) {
    const double at = x.at(std::pow(10, e));
    svg += line(at, kTop, at, kHeight - kBottom, style);
    svg += text_at(at, kHeight - kBottom + 16, prefixed(std::pow(10, e)), "text-anchor=\"middle\"");
  }
  for (int e = y.begin; e <= y.end; ++e) {
    const double at = y.at(std::pow(10, e));
    svg += line(kLeft, at, kWidth - kRight, at, style);
    svg += text_at(kLeft - 6, at + 4, prefixed(std::pow(10, e)), "text-anchor=\"end\"");
  }
  svg += text_at((kLeft + kWidth) / 2, kHeight - 8, "MACs per byte over DRAM", "text-anchor=\"middle\"");
  return svg + text_at(-kHeight / 2, 14, "MACs a second", "text-anchor=\"middle\" transform=\"rotate(-90)\"");
}

// The two lines that no layer can be above for long.
std::string roof(const RunFacts& run, const Axis& x, const Axis& y) {
  const std::string style = "stroke=\"#222\" stroke-width=\"2\"";
  const double peak = run.peak_macs_per_second, bandwidth = run.peak_dram_bytes_per_second;
  const double ridge = std::max(peak / bandwidth, std::pow(10, x.begin));
  // The line of the bandwidth begins where it enters the drawing.
  const double first = std::max(std::pow(10, x.begin), std::pow(10, y.begin) / bandwidth);
  std::string svg = line(x.at(ridge), y.at(peak), kWidth - kRight, y.at(peak), style);
  if (first < ridge) svg += line(x.at(first), y.at(first * bandwidth), x.at(ridge), y.at(peak), style);
  svg += text_at(kWidth - kRight - 4, y.at(peak) - 5, "all arrays at their peak: " + prefixed(peak) + "MAC/s",
                 "text-anchor=\"end\"" + run.cited.attributes("peak_macs_per_second", peak));
  // On the left of the slope nothing else is drawn.
  return svg + text_at(kLeft + 6, kTop + 12, "slope: DRAM at its peak, " + prefixed(bandwidth) + "B/s",
                       run.cited.attributes("peak_dram_bytes_per_second", bandwidth).substr(1));
}

struct Box {
  double left, right, y;
};

// Names beside the dots of the longest layers, as far as they do not lie on each other.
std::string labels(std::vector<Dot> dots, const Axis& x, const Axis& y) {
  constexpr double kCharacter = 6.4, kLine = 12;
  std::stable_sort(dots.begin(), dots.end(), [](const Dot& a, const Dot& b) { return a.share > b.share; });
  std::vector<Box> taken;
  std::string svg;
  std::size_t shown = 0;
  for (const Dot& dot : dots) {
    if (shown == kMostLabels) break;
    const double width = kCharacter * static_cast<double>(dot.name.size());
    const double at = x.at(dot.intensity), middle = y.at(dot.rate) + 4;
    const bool left = at + 10 + width > kWidth - kRight;
    const Box box{left ? at - 10 - width : at + 10, left ? at - 10 : at + 10 + width, middle};
    const bool free = std::none_of(taken.begin(), taken.end(), [&](const Box& other) {
      return box.left < other.right && other.left < box.right && std::abs(box.y - other.y) < kLine;
    });
    if (!free) continue;
    taken.push_back(box), ++shown;
    svg += text_at(left ? at - 10 : at + 10, middle, dot.name,
                   fmt::format("font-size=\"11\"{}", left ? " text-anchor=\"end\"" : ""));
  }
  return svg;
}

std::string drawn_dots(const RunFacts& run, const std::vector<Dot>& dots, const Axis& x, const Axis& y) {
  constexpr double kSmallest = 3.5, kGrowth = 9;
  std::string svg;
  for (const Dot& dot : dots) {
    svg += fmt::format(
        "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" fill-opacity=\"0.75\" stroke=\"#fff\"{}>"
        "<title>{}: {} MACs a byte, {}MAC/s, {} of the cycles</title></circle>\n",
        drawn(x.at(dot.intensity)), drawn(y.at(dot.rate)), drawn(kSmallest + kGrowth * std::sqrt(dot.share)),
        kBlue, run.cited.attributes(layer_at(dot.layer) + "/macs_per_second", dot.rate), escaped(dot.name),
        prefixed(dot.intensity), prefixed(dot.rate), percent(dot.share));
  }
  return svg;
}

}  // namespace

std::string roofline(const RunFacts& run) {
  const std::vector<Dot> dots = dots_of(run);
  const std::string heading = "<h3>Roofline</h3>\n";
  if (dots.empty() || run.peak_macs_per_second <= 0)
    return heading + "<p>No layer has both multiply-accumulates and bytes over DRAM.</p>\n";
  const double ridge = run.peak_macs_per_second / run.peak_dram_bytes_per_second;
  std::vector<double> xs{ridge}, ys{run.peak_macs_per_second};
  for (const Dot& dot : dots) xs.push_back(dot.intensity), ys.push_back(dot.rate);
  const Axis x = axis_over(xs, kLeft, kWidth - kRight), y = axis_over(ys, kHeight - kBottom, kTop);
  return heading +
         fmt::format(
             "<p>A dot is a layer, larger with its share of the cycles. Near the slope DRAM limits it, near "
             "the level line the arrays do; far below both it waits for something else, see its largest "
             "stall. Left of {} MACs a byte no layer can reach the peak. What is read ahead counts for the "
             "layer that is under way, so that a dot can lie above the slope. {} of {} layers have both MACs "
             "and bytes over DRAM.</p>\n",
             run.cited.computed("ridge", ridge, prefixed(ridge)), dots.size(),
             run.cited.report()["layers"].size()) +
         fmt::format(
             "<svg class=\"drawing\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"roofline\">\n",
             kWidth, kHeight) +
         grid(x, y) + roof(run, x, y) + drawn_dots(run, dots, x, y) + labels(dots, x, y) + "</svg>\n";
}

}  // namespace tilebeat::page
