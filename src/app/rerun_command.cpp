#include "tilebeat/base/error.h"
#include "tilebeat/config/hardware_file.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "output_places.h"
#include "provenance.h"
#include "report_file.h"

namespace tilebeat {
namespace {

using Json = nlohmann::ordered_json;

// The run would be another one.
void check_inputs(const InputHashes& recorded, const RunCommand& command, const std::string& report) {
  for (const auto& [file, hash] : recorded) {
    if (!hash) throw UserError(fmt::format("{}: {} was no file that can be read again", report, file));
    if (file == command.config) continue;  // the report has all of it
    const auto now = hashes_of({file}).at(file);
    if (!now) throw UserError(fmt::format("{}: is needed to repeat {}, and is not there", file, report));
    if (*now != *hash)
      throw UserError(fmt::format("{}: is not the file of {}: its SHA-256 is {}, the report has {}", file,
                                  report, *now, *hash));
  }
}

// What the build put into it is left out.
Json comparable(Json report) {
  report["provenance"].erase("version"), report["provenance"].erase("revision");
  return report;
}

// Takes out of `after` what `before` has not, as reports of earlier versions had less; returns the names.
std::string take_out_additions(const Json& before, Json& after) {
  std::vector<std::string> added;
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) added.push_back(key);
  }
  for (const std::string& key : added) after.erase(key);
  return fmt::format("{}", fmt::join(added, ", "));
}

// The JSON path of the first value that differs; empty: there is none.
std::string first_difference(const Json& a, const Json& b, const std::string& path = "") {
  if (a == b) return "";
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.items()) {
      if (!b.contains(key)) return path + "/" + key;
      if (std::string found = first_difference(value, b[key], path + "/" + key); !found.empty()) return found;
    }
  } else if (a.is_array() && b.is_array() && a.size() == b.size()) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::string found = first_difference(a[i], b[i], fmt::format("{}/{}", path, i)); !found.empty())
        return found;
    }
  }
  return path.empty() ? "/" : path;
}

}  // namespace

int rerun(const RerunCommand& asked) {
  const Json before = read_report(asked.report);
  RunCommand command = recorded_command(before, asked.report);
  const InputHashes inputs = recorded_inputs(before);
  check_inputs(inputs, command, asked.report);
  command.out = asked.out;
  if (place_of(asked.out + "/report.json") == place_of(asked.report))
    throw UserError(
        fmt::format("--out {}: {} is read by this run and would be overwritten", asked.out, asked.report));
  const HardwareConfig hardware =
      parse_hardware(nlohmann::json(before["configuration"]), asked.report + ": /configuration");
  const int status = run_on(command, hardware, inputs.at(command.config));
  const Json after = read_report(asked.out + "/report.json");
  Json compared = comparable(after);
  const std::string added = take_out_additions(before, compared);
  const std::string difference = first_difference(comparable(before), compared);
  if (difference.empty()) {
    const std::string more =
        added.empty() ? "" : fmt::format(" It has more than that one, of an earlier version: {}.", added);
    fmt::print("\nThe report is the same as {}.{}\n", asked.report, more);
    return status;
  }
  const auto build = [](const Json& report) {
    const Json& p = report["provenance"];
    return fmt::format("{} ({})", p["version"].get<std::string>(), p["revision"].get<std::string>());
  };
  fmt::print("\nThe report differs from {}: first at {}. That one is of tilebeat {}, this one of {}.\n",
             asked.report, difference, build(before), build(after));
  return 1;
}

}  // namespace tilebeat
