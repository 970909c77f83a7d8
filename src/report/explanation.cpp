#include "report/page/facts.h"
#include "report/report.h"
#include "report/text_table.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

const char* meaning_of_bound(const std::string& bound) {
  if (bound == "compute") return "its multiply-accumulates at the peak of all arrays";
  if (bound == "beats") return "the beats that its shape needs, spread over all arrays";
  return bound == "dram" ? "its bytes over DRAM at the peak bandwidth" : "the bytes of one port at its width";
}

// Busy cycles and stalls, largest first, with what each means.
std::string causes_text(std::int64_t busy, const Json& stalls) {
  std::vector<std::pair<std::int64_t, std::string>> causes{{busy, "busy"}};
  std::int64_t all = busy;
  for (const auto& [name, value] : stalls.items()) {
    causes.emplace_back(value.get<std::int64_t>(), name);
    all = page::add_capped(all, causes.back().first);
  }
  std::stable_sort(causes.begin() + 1, causes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [cycles, name] : causes)
    text += fmt::format("  {:<18}{:>14}  {:>7}   {}\n", name, grouped(cycles),
                        percent(page::ratio(cycles, all)), page::meaning_of(name));
  return text;
}

std::string bounds_text(const Json& layer) {
  std::string text = "It cannot take less than\n";
  for (const auto& [bound, cycles] : layer["bound_cycles"].items())
    text += fmt::format("  {:<8}{:>14} cycles   {}\n", bound, grouped(cycles.get<std::int64_t>()),
                        meaning_of_bound(bound));
  return text;
}

std::string layer_text(const Json& layer, double cycles_of_all) {
  const auto cycles = layer["cycles"].get<std::int64_t>();
  std::string text = fmt::format(
      "Layer {} ({}): {} cycles, {} of the run, utilization {}, {} bytes over DRAM, check {}.\n",
      page::layer_name(layer), page::layer_kind(layer), grouped(cycles),
      percent(page::ratio(static_cast<double>(cycles), cycles_of_all)),
      percent(layer["utilization"].get<double>()),
      grouped(static_cast<std::int64_t>(page::dram_bytes(layer))), layer["check"].get<std::string>());
  text += bounds_text(layer);
  if (layer.contains("helpers")) {
    for (const auto& [unit, work] : layer["helpers"].items())
      text += fmt::format("Where the {} units' cycles went:\n", unit) +
              causes_text(work["busy"].template get<std::int64_t>(), work["stall_cycles"]);
  }
  text += "Where the PE arrays' cycles went:\n" +
          causes_text(layer["beats"].get<std::int64_t>(), layer["stall_cycles"]);
  text += fmt::format("Busiest module: {}, {}", layer["busiest"]["module"].get<std::string>(),
                      percent(layer["busiest"]["share"].get<double>()));
  if (layer.contains("busiest_port"))
    text += fmt::format("; busiest port: {}", layer["busiest_port"].get<std::string>());
  text += "\n";
  for (const Json& fact : layer["facts"])
    text += fmt::format("{}: {}\n", fact["name"].get<std::string>(), fact["text"].get<std::string>());
  return text;
}

std::string largest_stall(const Json& layer) {
  std::string largest;
  for (const auto& [name, value] : layer["stall_cycles"].items()) {
    if (largest.empty() || value > layer["stall_cycles"][largest]) largest = name;
  }
  if (largest.empty()) return "";
  return fmt::format("{} {}", largest,
                     percent(page::ratio(layer["stall_cycles"][largest].get<double>(),
                                         static_cast<double>(page::array_cycles(layer)))));
}

std::string layers_text(const Json& layers, double cycles_of_all) {
  std::vector<const Json*> sorted;
  for (const Json& layer : layers) sorted.push_back(&layer);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Json* a, const Json* b) { return (*a)["cycles"] > (*b)["cycles"]; });
  constexpr std::size_t kMostLayers = 12;
  std::vector<std::vector<std::string>> rows{
      {"layer", "operator", "cycles", "of the run", "utilization", "largest bound", "largest stall"}};
  for (const Json* layer : sorted) {
    if (rows.size() > kMostLayers) break;
    const std::string bound = page::largest_bound(*layer);
    rows.push_back({page::layer_name(*layer), page::layer_kind(*layer),
                    grouped((*layer)["cycles"].get<std::int64_t>()),
                    percent(page::ratio((*layer)["cycles"].get<double>(), cycles_of_all)),
                    percent((*layer)["utilization"].get<double>()),
                    fmt::format("{} {}", bound, grouped((*layer)["bound_cycles"][bound].get<std::int64_t>())),
                    largest_stall(*layer)});
  }
  return fmt::format("Layers with most cycles, {} of {}:\n{}\n", rows.size() - 1, layers.size(),
                     format_rows(rows));
}

const Json& layer_called(const Json& layers, const std::string& name, const std::string& file) {
  std::vector<std::string> names;
  for (const Json& layer : layers) {
    names.push_back(page::layer_name(layer));
    const Json& parts = layer["layers"];
    if (names.back() == name || layer["name"] == name ||
        std::find(parts.begin(), parts.end(), name) != parts.end())
      return layer;
  }
  if (names.empty()) throw UserError(file + ": the report has no layers");
  throw UserError(fmt::format("{}: no layer is called {}, the nearest name is {}", file, shown(name),
                              nearest_name(name, names)));
}

}  // namespace

std::string explain_report(const PageReport& report, const std::string& layer) {
  const page::RunFacts facts = page::facts_of(report, 0);
  const Json& layers = report.report["layers"];
  const Json& total = report.report["total"];
  const auto cycles = total["cycles"].get<double>();
  std::string text = fmt::format(
      "{} on {} ({}): {} cycles, {:.3f} us, utilization {}, check {}.\n\n", facts.workload, facts.hardware,
      report.report["dataflow"].get<std::string>(), grouped(total["cycles"].get<std::int64_t>()),
      facts.microseconds, percent(total["utilization"].get<double>()), page::check_result(report.report));
  if (!layer.empty()) return text + layer_text(layer_called(layers, layer, report.file), cycles);
  Json stalls = Json::object();
  for (const page::Cause& cause : facts.causes) stalls[cause.name] = cause.cycles;
  return text + "Where the PE arrays' cycles went:\n" + causes_text(facts.beats, stalls) + "\n" +
         layers_text(layers, cycles);
}

}  // namespace tilebeat
