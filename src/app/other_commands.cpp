#include "app/command_options.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "app/plan_cache.h"
#include "app/planning.h"
#include "app/suite_file.h"
#include "app/sweep_file.h"
#include "config/hardware_config.h"
#include "planner/fusion/fusion_rules.h"
#include "program/program_file.h"
#include "report/report.h"
#include "report/text_table.h"
#include "report/whatif.h"
#include "schema/fields.h"
#include "workload/workload.h"

#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

std::string_view name_of(FusionPlanner planner) {
  return nth(kFusionPlannerNames, planner);
}

std::string fusion_text(const PlannedNetwork& planned, const FusionSummaries& made,
                        const FusionConfig& config) {
  const FusionSummary& f = *planned.fusion;
  std::size_t layers = 0;
  for (const GroupMapping& unit : planned.groups) layers += unit.layers.size();
  std::string text =
      fmt::format("fusion, planner {}: {} layers in {} {}, {} by themselves\n", name_of(config.planner),
                  layers, planned.groups.size(), planned.groups.size() == 1 ? "group" : "groups",
                  planned.plan.layers.size() - planned.groups.size());
  if (config.planner == FusionPlanner::kRules) {
    for (const auto& [rule, why] : rules_that_always_hold(config))
      text += fmt::format("rule {} cannot be violated: {}\n", rule, why);
  }
  const std::string_view objective = nth(kFusionObjectiveNames, config.objective);
  const FusionSummary &rules = made.rules, &optimal = made.optimal;
  // The duration is not part of the output, which is the same for the same files.
  if (optimal.seconds > 0)
    print_message(fmt::format("groups at least {} chosen in {:.1f} s", objective, optimal.seconds));
  if (f.kept_alone) text += "the groups that were chosen would take more, all together\n";
  text += fmt::format("least {}: {} groups estimated\n", objective, optimal.visited);
  const auto row = [](const FusionSummary::Totals& t, const char* name, const std::string& cycles) {
    return std::vector<std::string>{name,
                                    grouped(t.maps),
                                    grouped(t.kernels),
                                    grouped(t.instructions),
                                    grouped(t.tables),
                                    grouped(t.bytes()),
                                    cycles};
  };
  return text +
         fmt::format(
             "\n{}\n",
             format_rows({{"over DRAM, bytes", "maps", "kernels", "instructions", "tables", "all", "cycles"},
                          row(f.alone, "layer by layer", grouped(f.alone.cycles)),
                          row(rules.fused, "rules", grouped(rules.fused.cycles)),
                          row(optimal.fused, "optimal", grouped(optimal.fused.cycles)),
                          row(f.compulsory, "inputs, outputs, weights once", "")}));
}

// The text as comments of a program file.
std::string commented(const std::string& text) {
  std::string made;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) made += line.empty() ? "#\n" : "# " + line + "\n";
  return made;
}

// A file that `plan` writes, and the option that asks for it.
struct PlanFile {
  const char* option;
  std::string path, bytes;
};

// The program file and the files that it names, which lie beside it.
void add_program(std::vector<PlanFile>& files, const PlanCommand& command, const Plan& plan,
                 const HardwareConfig& hardware) {
  if (!plan.host_layers.empty())
    throw UserError(fmt::format("--export {}: the host computes layer '{}', which programs have nothing of",
                                command.program, plan.layers[plan.host_layers.front().number].name));
  const std::filesystem::path path = command.program;
  ExportedPrograms made = export_programs(plan, hardware, path.stem().string());
  files.push_back({"--export", command.program, std::move(made.text)});
  for (auto& [name, bytes] : made.files)
    files.push_back({"--export", (path.parent_path() / name).string(), std::move(bytes)});
}

// What --disassemble prints: the program file that --export writes or, without it, one whose data are
// missing.
std::string listing_of(const PlanCommand& command, const Plan& plan, const HardwareConfig& hardware) {
  const bool exported = !command.program.empty();
  const std::filesystem::path named = exported ? command.program : command.layer;
  return listing_text(plan, hardware, named.stem().string(),
                      exported ? DataLines::kDirectives : DataLines::kComments);
}

// Writes the files of `plan`, all or none.
void write_files(const PlanCommand& command, const std::vector<PlanFile>& outputs) {
  OutputFiles files;
  std::map<std::filesystem::path, const PlanFile*> places;
  note_inputs(files_read(command.config, command.layer));
  for (const PlanFile& file : outputs) {
    check_not_read(file.option, file.path);
    const auto [other, is_new] = places.emplace(place_of(file.path), &file);
    if (!is_new)
      throw UserError(fmt::format("{} {}: is what {} writes", file.option, file.path, other->second->option));
  }
  for (const PlanFile& file : outputs) files.write(file.path, file.bytes);
  files.commit();
}

}  // namespace

int plan(const PlanCommand& command) {
  const HardwareConfig hardware = load_hardware(command.config);
  const Workload workload = load_workload(command.layer);
  check_sram_sizes(command.sram_kib, hardware);
  PlanCache cache(command.plan_cache);
  const PlannedNetwork planned = cache.plan(workload, hardware, command.layer);
  const Plan& made = planned.plan;
  std::optional<FusionSummaries> summaries;
  if (planned.fusion) summaries = fusion_summaries(workload, hardware, command.layer, &planned, cache);
  std::string curve;
  if (!command.sram_kib.empty())
    curve = sram_curve(command.sram_kib, workload, hardware, command.layer, cache);
  std::vector<PlanFile> files;
  if (!command.mapping.empty())
    files.push_back({"--mapping", command.mapping, mapping_text(planned.mappings, planned.groups)});
  if (!command.picture.empty())
    files.push_back({"--picture", command.picture, fusion_picture(workload, planned)});
  if (!command.program.empty()) add_program(files, command, made, hardware);
  write_files(command, files);
  std::string text = layers_text(made);
  if (summaries) text += fusion_text(planned, *summaries, hardware.fusion);
  if (!curve.empty()) text += curve + "\n";
  text += programs_text(made, hardware);
  fmt::print("{}", command.disassemble ? commented(text) + listing_of(command, made, hardware) : text);
  return 0;
}

int schema(const SchemaCommand& command) {
  const nlohmann::ordered_json json = command.kind == "hardware"   ? hardware_schema()
                                      : command.kind == "workload" ? workload_schema()
                                      : command.kind == "mapping"  ? mapping_schema()
                                      : command.kind == "sweep"    ? sweep_schema()
                                      : command.kind == "suite"    ? suite_schema()
                                      : command.kind == "whatif"   ? whatif_schema()
                                                                   : report_schema();
  fmt::print("{}\n", command.markdown ? schema_markdown(json) : json.dump(2));
  return 0;
}

}  // namespace tilebeat
