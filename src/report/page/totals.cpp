#include "report/page/sections.h"
#include "report/text_table.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

namespace tilebeat::page {
namespace {

constexpr std::size_t kMostCauses = 8;

std::string tile(const std::string& name, const std::string& value, const std::string& note) {
  return fmt::format("<div class=\"tile\"><div>{}</div><b>{}</b><div class=\"note\">{}</div></div>\n", name,
                     value, note);
}

// A row of the table of the arrays' activities: `cycles` over all arrays.
std::string activity_row(const RunFacts& run, const std::string& name, std::int64_t cycles,
                         const std::string& colour, const std::string& most) {
  const double share = ratio(cycles, run.array_cycles);
  return fmt::format(
      "<tr><td><b>{0}</b></td><td class=\"n\">{1}</td><td class=\"n\">{2}</td><td class=\"bar\"><svg "
      "width=\"100%\" height=\"12\" viewBox=\"0 0 100 12\" preserveAspectRatio=\"none\">{3}</svg></td>"
      "<td>{4}</td><td>{5}</td></tr>\n",
      escaped(name), run.cited.computed("cycles/" + name, static_cast<double>(cycles), grouped(cycles)),
      run.cited.computed("share/" + name, share, percent(share)), rect_at(0, 0, 100 * share, 12, colour),
      escaped(std::string(meaning_of(name))), most);
}

std::string activities(const RunFacts& run) {
  std::string rows = activity_row(run, "busy", run.beats, kBlue, "");
  for (std::size_t i = 0; i < std::min(kMostCauses, run.causes.size()); ++i) {
    const Cause& cause = run.causes[i];
    const std::string layer = layer_at(cause.worst_layer);
    const std::string most =
        fmt::format("{} ({})", escaped(layer_name(run.cited.at(layer))),
                    run.cited.count(fmt::format("{}/stall_cycles/{}", layer, cause.name)));
    rows += activity_row(run, cause.name, cause.cycles, i < kCauseColours.size() ? kCauseColours[i] : kGrey,
                         most);
  }
  return "<table><thead><tr><th>state</th><th class=\"n\">cycles</th><th class=\"n\">share</th><th></th>"
         "<th>what it means</th><th>most of them in</th></tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

// Sums over layers, by the largest of their lower bounds.
struct BoundSum {
  const char *key, *meaning;
  std::int64_t layers = 0, cycles = 0, bound = 0;
};

using BoundSums = std::array<BoundSum, 4>;

BoundSums sums_of(const RunFacts& run) {
  BoundSums sums{{{"compute", "multiply-accumulates at the peak of all arrays"},
                  {"beats", "the beats of its schedule, spread evenly over all arrays"},
                  {"dram", "its tensors over DRAM once, at the peak bandwidth"},
                  {"port", "the bytes that passed its busiest port, bus or link, at its width"}}};
  for (const Json& layer : run.cited.report()["layers"]) {
    const std::string key = largest_bound(layer);
    BoundSum& sum =
        *std::find_if(sums.begin(), sums.end(), [&key](const BoundSum& s) { return s.key == key; });
    ++sum.layers;
    sum.cycles = add_capped(sum.cycles, layer["cycles"].get<std::int64_t>());
    sum.bound = add_capped(sum.bound, layer["bound_cycles"][key].get<std::int64_t>());
  }
  return sums;
}

double share_of(const BoundSum& sum) {
  return ratio(sum.bound, sum.cycles);
}

// The largest stall cause of the arrays, when it takes a considerable part of their cycles besides the
// limiting bound.
std::string waits_beside(const RunFacts& run) {
  constexpr double kLeast = 0.1;
  if (run.causes.empty()) return "";
  const Cause& cause = run.causes.front();
  const double share = ratio(cause.cycles, run.array_cycles);
  if (share < kLeast) return "";
  return fmt::format(" Beside that, the arrays wait in {} of their cycles for <b>{}</b>: {}.",
                     run.cited.computed("share/" + cause.name, share, percent(share)), escaped(cause.name),
                     escaped(std::string(meaning_of(cause.name))));
}

// The port that is the busiest one in most cycles of the layers whose largest bound is a port's.
std::string limiting_port(const RunFacts& run) {
  std::map<std::string, std::int64_t> cycles;
  for (const Json& layer : run.cited.report()["layers"]) {
    if (largest_bound(layer) != "port" || !layer.contains("busiest_port")) continue;
    std::int64_t& sum = cycles[layer["busiest_port"].get<std::string>()];
    sum = add_capped(sum, layer["cycles"].get<std::int64_t>());
  }
  const auto most = std::max_element(cycles.begin(), cycles.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == cycles.end() ? "" : most->first;
}

// Whether nearly all of the beats' capacity is useful: the schedule loses nothing worth mentioning.
bool is_filled(const RunFacts& run) {
  constexpr double kFilled = 0.9;
  const Json& total = run.cited.report()["total"];
  return total.contains("lost_macs") && ratio(total["macs"].get<double>(), beat_macs(total)) >= kFilled;
}

// The verdict in two sentences: a lower bound that most cycles are close to, or else the stall cause.
std::string verdict(const RunFacts& run, const BoundSums& sums) {
  constexpr double kMost = 0.5, kNear = 0.6;
  const auto fewer = [](const BoundSum& a, const BoundSum& b) { return a.cycles < b.cycles; };
  const BoundSum& main = *std::max_element(sums.begin(), sums.end(), fewer);
  const double part = ratio(static_cast<double>(main.cycles), run.cited.number("/total/cycles"));
  const double near = share_of(main);
  const std::string key = main.key;
  const std::string numbers = fmt::format(
      "{} of the cycles are of layers whose largest lower bound is {}, and the bound explains {} of them.",
      run.cited.computed("verdict/part", part, percent(part)), key,
      run.cited.computed("bound/" + key + "/share", near, percent(near)));
  if (part < kMost || near < kNear) {
    const std::string cause =
        run.causes.empty()
            ? ""
            : fmt::format(" The arrays wait most for <b>{}</b>: {}.", escaped(run.causes.front().name),
                          escaped(std::string(meaning_of(run.causes.front().name))));
    return fmt::format("<p><b>Waiting limits it.</b> {}{}</p>\n", numbers, cause);
  }
  const bool schedule = key == "beats" && !is_filled(run);
  const std::string what = key == "dram" ? "DRAM bandwidth limits it."
                           : key == "port"
                               ? fmt::format("The port {} limits it.", escaped(limiting_port(run)))
                           : schedule ? "The schedule of the arrays limits it."
                                      : "The multipliers limit it.";
  return fmt::format("<p><b>{}</b> {}{}</p>\n", what, numbers, waits_beside(run));
}

std::string bounds(const RunFacts& run, const BoundSums& sums) {
  std::string rows;
  for (const BoundSum& sum : sums) {
    if (sum.layers == 0) continue;
    const auto number = [&](const char* what, std::int64_t value) {
      return run.cited.computed(fmt::format("bound/{}/{}", sum.key, what), static_cast<double>(value),
                                grouped(value));
    };
    const double share = share_of(sum);
    rows += fmt::format(
        "<tr><td><b>{}</b></td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        sum.key, sum.meaning, number("layers", sum.layers), number("cycles", sum.cycles),
        number("bound", sum.bound),
        run.cited.computed(fmt::format("bound/{}/share", sum.key), share, percent(share)));
  }
  return "<table><thead><tr><th>lower bound</th><th>cycles that it stands for</th><th "
         "class=\"n\">layers</th><th class=\"n\">their cycles</th><th class=\"n\">their bounds</th><th "
         "class=\"n\">bound / cycles</th></tr></thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

// The reason why the arrays' busy fraction is not the utilisation.
std::string useful_part(const RunFacts& run) {
  const Json& total = run.cited.report()["total"];
  const double arrays = std::max<double>(1, static_cast<double>(run.cited.report()["cores"].size()));
  const double peak = run.cited.number("/peak_macs_per_clock") / arrays;
  const double part = ratio(run.cited.number("/total/macs"), static_cast<double>(run.beats) * peak);
  constexpr double kAll = 0.9995;  // as shown
  if (part <= 0 || part >= kAll) return "";
  const std::string others = total.contains("lost_macs")
                                 ? fmt::format("most of the others had {}.", largest_loss(total))
                                 : "the others had the edge of a map, channels that only fill up a word, or "
                                   "no kernel for their column.";
  return fmt::format(" While they computed, {} of their multipliers worked on useful operands; {}",
                     run.cited.computed("useful", part, percent(part)), others);
}

// Cores without work show which part of the chip the network does not fill.
std::string idle_cores(const RunFacts& run) {
  const Json& cores = run.cited.report()["cores"];
  const auto idle =
      std::count_if(cores.begin(), cores.end(), [](const Json& core) { return core["busy"] == 0; });
  if (idle == 0) return "";
  return fmt::format(" The arrays of {} of {} cores never computed.",
                     run.cited.computed("idle_cores", static_cast<double>(idle), std::to_string(idle)),
                     cores.size());
}

}  // namespace

std::string totals(const RunFacts& run) {
  const Cited& cited = run.cited;
  const auto rate = [&](const char* name, double value, const char* unit) {
    return cited.computed(name, value, prefixed(value) + unit);
  };
  const double ops = 2 * run.macs_per_second, peak_ops = 2 * run.peak_macs_per_second;
  std::string html = "<div class=\"tiles\">\n";
  html += tile("cycles", cited.count("/total/cycles"),
               fmt::format("at <span{}>{} MHz</span>", cited.attributes("/configuration/clock_mhz"),
                           exact(run.clock_mhz)));
  html += tile("time",
               cited.computed("microseconds", run.microseconds, fmt::format("{:.1f} µs", run.microseconds)),
               "cycles / clock");
  html += tile(
      "utilisation", cited.share("/total/utilization"),
      cited.short_count("/total/macs") + " MACs, of " + cited.count("/peak_macs_per_clock") + " a cycle");
  html += tile("operations", rate("ops_per_second", ops, "OPS"),
               "peak " + rate("peak_ops_per_second", peak_ops, "OPS") + ", 2 a MAC");
  html += tile("DRAM", rate("dram_bytes_per_second", run.dram_bytes_per_second, "B/s"),
               "peak " + rate("peak_dram_bytes_per_second", run.peak_dram_bytes_per_second, "B/s"));
  html +=
      tile("DRAM bytes",
           cited.short_count("/total/dram_read_bytes") + " + " + cited.short_count("/total/dram_write_bytes"),
           "read + written");
  html += tile("checks", check_result(run.cited.report()),
               fmt::format("{} layers compared", compared_layers(run.cited.report())));
  return html + "</div>\n";
}

std::string limits(const RunFacts& run) {
  const double busy = ratio(run.beats, run.array_cycles);
  const double dram = ratio(run.dram_bytes_per_second, run.peak_dram_bytes_per_second);
  const BoundSums sums = sums_of(run);
  std::string html = "<h3>What limits it</h3>\n" + verdict(run, sums);
  html += measured_help(run);
  html += fmt::format(
      "<p>The matrix arrays, all together, computed in {} of their cycles.{}{} Over the whole run DRAM moved "
      "{} "
      "of what its peak allows. The table says what the rest of the cycles was, the largest cause first."
      "</p>\n",
      run.cited.computed("share/busy", busy, percent(busy)), idle_cores(run), useful_part(run),
      run.cited.computed("dram_share", dram, percent(dram)));
  html += activities(run);
  html += "<p>No layer can be faster than its lower bound. Layers by the largest of their bounds:</p>\n";
  return html + bounds(run, sums);
}

namespace {

std::string extrapolated(const RunFacts& run) {
  if (!run.cited.report().contains("extrapolated")) return "";
  const std::string at = "/extrapolated/";
  const auto number = [&](const std::string& key) {
    return fmt::format("{} (extrapolated)", run.cited.count(at + "extrapolated_" + key));
  };
  const double joules = run.cited.number(at + "extrapolated_energy_pj") * 1e-12;
  return fmt::format(
      "<p><b>Not simulated:</b> this run computed the first {} of {} steps. By the lines that fit them best, "
      "all steps take {} cycles, read {} and write {} bytes of DRAM and take {} (extrapolated), and the last "
      "step takes {} cycles. The simulated steps are up to {} away from the line.</p>\n",
      run.cited.count(at + "simulated_steps"), run.cited.count(at + "steps"), number("cycles"),
      number("dram_read_bytes"), number("dram_write_bytes"),
      run.cited.computed("extrapolated/joules", joules, four_digits(joules) + "J"),
      number("last_step_cycles"), run.cited.share(at + "largest_deviation"));
}

}  // namespace

std::string scenes(const RunFacts& run) {
  const Json& report = run.cited.report();
  if (!report.contains("scenes")) return extrapolated(run);
  std::string html =
      "<h3>Scene by scene</h3>\n<p>Scenes are programs that run one after the other. The last column says "
      "which kind of lower bound limits the layers that take most of a scene's cycles.</p>\n"
      "<table><thead><tr><th>scene</th><th class=\"n\">cycles</th><th class=\"n\">MACs</th><th "
      "class=\"n\">DRAM read</th><th class=\"n\">DRAM write</th><th class=\"n\">energy</th><th>most "
      "cycles limited by</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < report["scenes"].size(); ++i) {
    const std::string scene = fmt::format("/scenes/{}", i);
    const double share =
        ratio(run.cited.number(scene + "/limit/cycles"), run.cited.number(scene + "/cycles"));
    const double joules = run.cited.number(scene + "/energy_pj") * 1e-12;
    html += fmt::format(
        "<tr><td class=\"name\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}, {}</td></tr>\n",
        escaped(run.cited.at(scene + "/name").get<std::string>()), run.cited.count(scene + "/cycles"),
        run.cited.short_count(scene + "/macs"), run.cited.short_count(scene + "/dram_read_bytes"),
        run.cited.short_count(scene + "/dram_write_bytes"),
        run.cited.computed(fmt::format("scenes/{}/joules", i), joules, four_digits(joules) + "J"),
        escaped(run.cited.at(scene + "/limit/bound").get<std::string>()),
        run.cited.computed(fmt::format("scenes/{}/limited", i), share, percent(share)));
  }
  return html + "</tbody></table>\n" + extrapolated(run);
}

}  // namespace tilebeat::page
