#include "report/page/markup.h"
#include "report/page/sections.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

// Pixels of the drawing.
constexpr double kRoofWidth = 960, kRoofHeight = 420, kRoofLeft = 70, kRoofRight = 20, kRoofTop = 14,
                 kRoofBottom = 44;
constexpr std::size_t kMostLabels = 12;

struct Dot {
  std::size_t layer;
  std::string name;
  double intensity;  ///< MACs per byte over DRAM
  double rate;       ///< MACs a second
  double share;      ///< fraction of the run's cycles
  /// MACs a second that its busiest port allows; 0: another bound is larger, or the report has none
  double port_rate;
};

std::vector<Dot> dots_of(const RunFacts& run) {
  std::vector<Dot> dots;
  const Json& layers = run.cited.report()["layers"];
  const double total = run.cited.number("/total/cycles");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const double macs = layers[i]["macs"].get<double>(), cycles = layers[i]["cycles"].get<double>();
    const double bytes = dram_bytes(layers[i]);
    if (macs <= 0 || bytes <= 0 || cycles <= 0) continue;
    const double a_cycle = macs * run.clock_mhz * 1e6;
    const double port_rate =
        largest_bound(layers[i]) == "port" ? a_cycle / layers[i]["bound_cycles"]["port"].get<double>() : 0;
    dots.push_back(
        {i, layer_name(layers[i]), macs / bytes, a_cycle / cycles, ratio(cycles, total), port_rate});
  }
  return dots;
}

// Leaves room around the values, and shows enough for the slope to be visible.
constexpr AxisRoom kRoom{0.4, 0.3, 2};

std::string grid(const Axis& x, const Axis& y) {
  const std::string style = "stroke=\"#ddd\"";
  std::string svg;
  for (const double value : ticks(x)) {
    svg += line(x.at(value), kRoofTop, x.at(value), kRoofHeight - kRoofBottom, style);
    svg += text_at(x.at(value), kRoofHeight - kRoofBottom + 16, tick_text(value), "text-anchor=\"middle\"");
  }
  for (const double value : ticks(y)) {
    svg += line(kRoofLeft, y.at(value), kRoofWidth - kRoofRight, y.at(value), style);
    svg += text_at(kRoofLeft - 6, y.at(value) + 4, tick_text(value), "text-anchor=\"end\"");
  }
  svg += text_at((kRoofLeft + kRoofWidth) / 2, kRoofHeight - 8, "MACs per byte over DRAM",
                 "text-anchor=\"middle\"");
  return svg +
         text_at(-kRoofHeight / 2, 14, "MACs a second", "text-anchor=\"middle\" transform=\"rotate(-90)\"");
}

// The two lines that bound all layers.
std::string roof(const RunFacts& run, const Axis& x, const Axis& y) {
  const std::string style = "stroke=\"#222\" stroke-width=\"2\"";
  const double peak = run.peak_macs_per_second, bandwidth = run.peak_dram_bytes_per_second;
  const double ridge = std::max(peak / bandwidth, x.first());
  // The line of the bandwidth begins where it enters the drawing.
  const double first = std::max(x.first(), y.first() / bandwidth);
  std::string svg = line(x.at(ridge), y.at(peak), kRoofWidth - kRoofRight, y.at(peak), style);
  if (first < ridge) svg += line(x.at(first), y.at(first * bandwidth), x.at(ridge), y.at(peak), style);
  // This text is drawn above everything else.
  svg += text_at(kRoofWidth - kRoofRight - 4, kRoofTop + 12,
                 "level: all arrays at their peak, " + prefixed(peak) + "MAC/s",
                 "text-anchor=\"end\"" + run.cited.attributes("peak_macs_per_second", peak));
  return svg + text_at(kRoofLeft + 6, kRoofTop + 12,
                       "slope: DRAM at its peak, " + prefixed(bandwidth) + "B/s",
                       run.cited.attributes("peak_dram_bytes_per_second", bandwidth).substr(1));
}

double radius(const Dot& dot) {
  constexpr double kSmallest = 3.5, kGrowth = 6;
  return kSmallest + kGrowth * std::sqrt(dot.share);
}

struct Box {
  double left, top, right, bottom;

  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

// Names beside the dots of the longest layers, where they overlap neither a dot nor each other.
std::string labels(std::vector<Dot> dots, const Axis& x, const Axis& y) {
  constexpr double kCharacter = 6.6, kLine = 12;
  std::stable_sort(dots.begin(), dots.end(), [](const Dot& a, const Dot& b) { return a.share > b.share; });
  std::vector<Box> taken;
  for (const Dot& dot : dots) {
    const double r = radius(dot), cx = x.at(dot.intensity), cy = y.at(dot.rate);
    taken.push_back({cx - r, cy - r, cx + r, cy + r});
  }
  std::string svg;
  for (std::size_t i = 0; i < std::min(kMostLabels, dots.size()); ++i) {
    const double width = kCharacter * static_cast<double>(dots[i].name.size());
    const Box dot = taken[i];
    const double middle = (dot.top + dot.bottom - kLine) / 2, centre = (dot.left + dot.right - width) / 2;
    for (const auto& [left, top] :
         {std::pair(centre, dot.bottom + 2), std::pair(dot.right + 3, middle),
          std::pair(dot.left - 3 - width, middle), std::pair(centre, dot.top - 2 - kLine)}) {
      const Box box{left, top, left + width, top + kLine};
      const bool inside = box.left > kRoofLeft && box.right < kRoofWidth - kRoofRight &&
                          box.bottom < kRoofHeight - kRoofBottom;
      if (!inside || std::any_of(taken.begin(), taken.end(), [&](const Box& b) { return box.meets(b); }))
        continue;
      taken.push_back(box);
      svg += text_at(left, top + kLine - 2, dots[i].name,
                     "font-size=\"12\" paint-order=\"stroke\" stroke=\"#fff\" stroke-width=\"3\"");
      break;
    }
  }
  return svg;
}

std::string drawn_dots(const RunFacts& run, const std::vector<Dot>& dots, const Axis& x, const Axis& y) {
  std::string svg;
  for (const Dot& dot : dots) {
    svg += fmt::format(
        "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" fill-opacity=\"0.75\" stroke=\"#fff\"{}>"
        "<title>{}: {} MACs a byte, {}MAC/s, {} of the cycles</title></circle>\n",
        drawn(x.at(dot.intensity)), drawn(y.at(dot.rate)), drawn(radius(dot)), kBlue,
        run.cited.attributes(layer_at(dot.layer) + "/macs_per_second", dot.rate), escaped(dot.name),
        prefixed(dot.intensity), prefixed(dot.rate), percent(dot.share));
    if (dot.port_rate <= 0) continue;
    constexpr double kHalf = 9;
    const double cx = x.at(dot.intensity), cy = y.at(dot.port_rate);
    svg += fmt::format(
        "<path d=\"M {} {} H {}\" stroke=\"{}\" stroke-width=\"3\"{}><title>{}: its busiest port allows "
        "{}MAC/s</title></path>\n",
        drawn(cx - kHalf), drawn(cy), drawn(cx + kHalf), kOrange,
        run.cited.attributes(layer_at(dot.layer) + "/port_macs_per_second", dot.port_rate), escaped(dot.name),
        prefixed(dot.port_rate));
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
  for (const Dot& dot : dots) xs.push_back(dot.intensity), ys.push_back(std::max(dot.rate, dot.port_rate));
  const Axis x = axis_over(xs, kRoofLeft, kRoofWidth - kRoofRight, kRoom),
             y = axis_over(ys, kRoofHeight - kRoofBottom, kRoofTop, kRoom);
  return heading +
         fmt::format(
             "<p>A dot is a layer, larger with its share of the cycles. Near the slope DRAM limits it, near "
             "the level line the arrays do; far below both it waits for something else, see its largest "
             "stall. Left of {} MACs a byte no layer can reach the peak. What is read ahead counts for the "
             "layer that is under way, so that a dot can lie above the slope. An orange line above a dot is "
             "as "
             "far as its busiest port allows, where no other bound is lower. {} of {} layers have both MACs "
             "and bytes over DRAM.</p>\n",
             run.cited.computed("ridge", ridge, prefixed(ridge)), dots.size(),
             run.cited.report()["layers"].size()) +
         fmt::format(
             "<svg class=\"drawing\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"roofline\">\n",
             kRoofWidth, kRoofHeight) +
         grid(x, y) + roof(run, x, y) + drawn_dots(run, dots, x, y) + labels(dots, x, y) + "</svg>\n";
}

}  // namespace tilebeat::page
