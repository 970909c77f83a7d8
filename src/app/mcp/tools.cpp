#include "app/mcp/tools.h"

#include "client/workplace.h"
#include "report/report.h"
#include "schema/fields.h"
#include "schema/json_file.h"
#include "tilebeat/error.h"
#include "tilebeat/tilebeat.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string_view>

#include <fmt/format.h>

namespace tilebeat::mcp {
namespace {

// A file: its path, or its contents as an object.
struct SourceValue {
  std::string& value;

  void read(const Json& json, const Place& place) {
    if (!json.is_object() && !(json.is_string() && !json.get_ref<const std::string&>().empty()))
      place.refuse_value(json, "the path of a file, or its contents as an object");
    value = json.is_object() ? json.dump() : json.get<std::string>();
  }
  OrderedJson write() const { return value; }
  static OrderedJson schema() { return {{"type", {"string", "object"}}}; }
};

constexpr std::size_t kMostOptions = 64, kMostAxes = 16, kMostValues = 1000;
constexpr Range kJobs{1, 1024};

void texts(Fields& v, const char* key, std::vector<std::string>& values, const char* doc) {
  const auto element = [](std::string& entry) { return TextValue{entry}; };
  v.special(key, ListValue<std::vector<std::string>, decltype(element)>{values, {0, kMostOptions}, element},
            doc);
}

// Hardware and workload, of most tools.
struct JobArguments {
  std::string hardware, workload;
};

void describe(Fields& v, JobArguments& a) {
  v.required().special("hardware", SourceValue{a.hardware},
                       "the hardware file: its path, or its contents as an object");
  v.required().special("workload", SourceValue{a.workload},
                       "the workload file: its path, or its contents as an object");
}

struct RunArguments {
  JobArguments job;
  std::optional<std::string> mapping;
  std::vector<std::string> options;
};

void describe(Fields& v, RunArguments& a) {
  describe(v, a.job);
  v.optional_text("mapping", a.mapping,
                  "path of a mapping, as plan makes it; without it the planner chooses");
  texts(
      v, "options", a.options,
      "further arguments of `tilebeat run`, such as \"--granularity\", \"clock\" or \"--vcd\", \"wave.vcd\"");
}

struct PlanArguments {
  JobArguments job;
  bool mapping = false;
  std::vector<std::string> options;
};

void describe(Fields& v, PlanArguments& a) {
  describe(v, a.job);
  v.boolean("mapping", a.mapping, "whether the text ends with the mapping as JSON");
  texts(v, "options", a.options, "further arguments of `tilebeat plan`");
}

struct WhatIfArguments {
  JobArguments job;
  std::vector<std::string> knobs;
  double budget = 60;
  std::optional<int> jobs;
};

void describe(Fields& v, WhatIfArguments& a) {
  describe(v, a.job);
  constexpr Bounds kBudget{1, 86'400};
  texts(v, "knobs", a.knobs, "names of knobs, their beginnings, or patterns; none: all");
  v.number("budget_seconds", a.budget, kBudget, "seconds after which no run begins or goes on");
  v.optional_integer("jobs", a.jobs, kJobs, "runs at the same time; without it one a processor");
}

// A list of values by JSON pointer; "workload:/pointer" is one into the workload.
struct AxesValue {
  std::map<std::string, std::vector<Json>>& axes;

  void read(const Json& json, const Place& place) const {
    if (!json.is_object() || json.empty() || json.size() > kMostAxes)
      place.refuse_value(json, fmt::format("an object of 1 to {} JSON pointers and lists", kMostAxes));
    for (const auto& [pointer, values] : json.items()) {
      check_list(values, place.key(pointer), {1, kMostValues});
      axes[pointer] = values.get<std::vector<Json>>();
    }
  }
  static OrderedJson write() { return OrderedJson::object(); }
  static OrderedJson schema() {
    return {{"type", "object"},
            {"minProperties", 1},
            {"additionalProperties",
             {{"type", "array"}, {"minItems", 1}, {"items", {{"type", {"number", "string", "boolean"}}}}}}};
  }
};

struct SweepArguments {
  JobArguments job;
  std::map<std::string, std::vector<Json>> axes;
  std::optional<int> jobs;
};

void describe(Fields& v, SweepArguments& a) {
  describe(v, a.job);
  v.required().special(
      "axes", AxesValue{a.axes},
      "JSON pointers into the hardware, such as \"/switch_array/rows\", or into the workload "
      "behind \"workload:\", each with its values; all combinations are run");
  v.optional_integer("jobs", a.jobs, kJobs, "runs at the same time; without it one a processor");
}

enum class Kind { kHardware, kWorkload, kMapping, kReport, kSweep, kSuite, kWhatIf };
constexpr std::array<std::string_view, 7> kKindNames{"hardware", "workload", "mapping", "report",
                                                     "sweep",    "suite",    "whatif"};
struct SchemaArguments {
  Kind kind = Kind::kHardware;
  bool table = true;
};

void describe(Fields& v, SchemaArguments& a) {
  v.required().choice("kind", a.kind, kKindNames, "the kind of file");
  v.boolean("table", a.table, "a Markdown table of all fields with ranges and defaults, or else JSON Schema");
}

struct ExplainArguments {
  std::string report;
  std::optional<std::string> layer;
};

void describe(Fields& v, ExplainArguments& a) {
  v.required().text("report", a.report,
                    "path of a report.json, or the address of a report that run has given");
  v.optional_text("layer", a.layer, "name of a layer; without it the whole run, and its longest layers");
}

struct DocsArguments {
  std::optional<std::string> page, search;
};

void describe(Fields& v, DocsArguments& a) {
  v.optional_text("page", a.page, "a page, such as \"whatif.md\", or a section, \"outputs.md#the-report\"");
  v.optional_text("search", a.search, "words that are looked for in all pages, in place of a page");
}

struct Freed {
  void operator()(tilebeat_result* result) const { tilebeat_free(result); }
};
using Called = std::unique_ptr<tilebeat_result, Freed>;

int relay(void* watch, const char* line) {
  return (*static_cast<const Watch*>(watch))(line, {tilebeat_share(), tilebeat_state()}) ? 1 : 0;
}

Called call_command(const std::vector<std::string>& arguments, const Watch& watch) {
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  tilebeat_result* result = nullptr;
  tilebeat_command(argv.data(), argv.size(), relay, const_cast<Watch*>(&watch), &result);
  return Called(result);
}

using Call = tilebeat_status (*)(const tilebeat_job*, tilebeat_result**);

Called call_job(Call call, const JobArguments& job, const std::vector<std::string>& options,
                const std::optional<std::string>& mapping, const Watch& watch) {
  std::vector<const char*> argv;
  for (const std::string& option : options) argv.push_back(option.c_str());
  tilebeat_job described{};
  described.size = sizeof described;
  described.hardware = job.hardware.c_str(), described.workload = job.workload.c_str();
  described.mapping = mapping ? mapping->c_str() : nullptr;
  described.options = argv.data(), described.option_count = argv.size();
  described.progress = relay, described.user = const_cast<Watch*>(&watch);
  tilebeat_result* result = nullptr;
  call(&described, &result);
  return Called(result);
}

// What a call printed, and why it failed.
ToolResult result_of(const Called& called) {
  if (called == nullptr) return {"out of memory\n", true};
  ToolResult result{tilebeat_text(called.get()), tilebeat_status_of(called.get()) != TILEBEAT_OK};
  const std::string error = tilebeat_error(called.get());
  if (!error.empty()) result.text += (result.text.empty() ? "" : "\n") + error + "\n";
  return result;
}

ToolResult run(const RunArguments& a, Reports& reports, const Watch& watch) {
  const Called called = call_job(tilebeat_run, a.job, a.options, a.mapping, watch);
  ToolResult result = result_of(called);
  const char* const text = called != nullptr ? tilebeat_document(called.get(), "report.json") : nullptr;
  if (text == nullptr) {
    result.failed = true;
    return result;
  }
  const std::string address = reports.add(text);
  const OrderedJson report = OrderedJson::parse(text);
  result.structured = {{"passed", report["passed"]}, {"total", report["total"]}, {"report", address}};
  result.text += fmt::format("\nIts report is {}: hand it to explain, or read it as a resource.\n", address);
  return result;
}

ToolResult plan(const PlanArguments& a, const Watch& watch) {
  const Called called = call_job(tilebeat_plan, a.job, a.options, {}, watch);
  ToolResult result = result_of(called);
  if (!a.mapping || called == nullptr) return result;
  const char* const mapping = tilebeat_document(called.get(), "mapping.json");
  if (mapping != nullptr) result.text += std::string("\n") + mapping;
  return result;
}

ToolResult whatif(const WhatIfArguments& a, const Watch& watch) {
  std::vector<std::string> options{"--budget", fmt::format("{}", a.budget)};
  if (!a.knobs.empty())
    options.insert(options.end(), {"--knobs", fmt::format("{}", fmt::join(a.knobs, ","))});
  if (a.jobs) options.insert(options.end(), {"--jobs", std::to_string(*a.jobs)});
  return result_of(call_job(tilebeat_whatif, a.job, options, {}, watch));
}

OrderedJson axis_of(const std::string& pointer, const std::vector<Json>& values) {
  constexpr std::string_view kInWorkload = "workload:";
  const bool in_workload = pointer.compare(0, kInWorkload.size(), kInWorkload) == 0;
  const std::string where = in_workload ? pointer.substr(kInWorkload.size()) : pointer;
  std::string name = where.substr(std::min(where.find_first_not_of('/'), where.size()));
  std::replace(name.begin(), name.end(), '/', '.');
  return {
      {"name", name}, {"target", in_workload ? "layer" : "config"}, {"pointer", where}, {"values", values}};
}

ToolResult sweep(const SweepArguments& a, const Watch& watch) {
  const Workplace place;
  const auto file = [&](const std::string& given, const char* name) {
    return place.file_of(given.c_str(), name, nullptr);
  };
  OrderedJson described{{"tilebeat_sweep", 1},
                        {"name", "sweep"},
                        {"config", file(a.job.hardware, "hardware.json")},
                        {"layer", file(a.job.workload, "workload.json")},
                        {"axes", OrderedJson::array()}};
  for (const auto& [pointer, values] : a.axes) described["axes"].push_back(axis_of(pointer, values));
  std::ofstream(place.path("sweep.json")) << described.dump(2) << "\n";
  std::vector<std::string> arguments{"sweep", place.path("sweep.json"), "--out", place.path("out")};
  if (a.jobs) arguments.insert(arguments.end(), {"--jobs", std::to_string(*a.jobs)});
  ToolResult result = result_of(call_command(arguments, watch));
  // The folder goes with this call: its table stands in the text.
  if (const std::size_t wrote = result.text.find("\nWrote " + place.folder()); wrote != std::string::npos)
    result.text.erase(wrote);
  const std::map<std::string, std::string> documents = documents_of(place.path("out"));
  if (const auto table = documents.find("sweep.csv"); table != documents.end())
    result.text += "\n" + table->second;
  return result;
}

ToolResult schema(const SchemaArguments& a, const Watch& watch) {
  std::vector<std::string> arguments{"schema", std::string(nth(kKindNames, a.kind))};
  if (a.table) arguments.emplace_back("--markdown");
  return result_of(call_command(arguments, watch));
}

ToolResult explain(const ExplainArguments& a, Reports& reports) {
  PageReport page{a.report, nullptr};
  if (const std::optional<std::string> text = reports.find(a.report))
    page.report = OrderedJson::parse(*text);
  else
    page.report = read_report(a.report);
  return {explain_report(page, a.layer.value_or("")) +
          "\nWhat a change of the hardware would bring is not known from this: whatif measures it.\n"};
}

ToolResult docs(const DocsArguments& a, const std::vector<DocPage>& pages) {
  if (a.search) return {search_pages(pages, *a.search)};
  if (a.page) return {read_page(pages, *a.page)};
  std::string list;
  for (const DocPage& page : pages) list += fmt::format("{}: {}\n", page.name, page.title);
  return {list.empty() ? "no pages are installed with the program\n" : list};
}

// A tool whose arguments `Arguments` describes; what `work` refuses is the result of the call.
template <class Arguments, class Call>
Tool tool(const char* name, const char* title, const char* description, const Call& work) {
  Arguments fresh;
  Tool made{name, title, description, ObjectValue<Arguments>{fresh}.schema(), {}};
  made.schema["properties"].erase(kCommentKey);  // who reads it, pays for it
  made.prepare = [work](const Json& json) -> Work {
    Arguments arguments;
    read_object(json, Place("arguments"), fields_of(arguments));
    return [work, arguments](const Watch& watch) -> ToolResult {
      try {
        return work(arguments, watch);
      } catch (const UserError& error) {
        return {std::string(error.what()) + "\n", true};
      }
    };
  };
  return made;
}

}  // namespace

std::string Reports::add(std::string text) {
  const std::lock_guard lock(mutex_);
  std::string address = fmt::format("tilebeat://reports/{}", ++made_);
  kept_.emplace_back(address, std::move(text));
  if (kept_.size() > kMost) kept_.pop_front();
  return address;
}

std::optional<std::string> Reports::find(const std::string& address) {
  const std::lock_guard lock(mutex_);
  for (const auto& [known, text] : kept_) {
    if (known == address) return text;
  }
  return std::nullopt;
}

std::vector<std::string> Reports::addresses() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [address, text] : kept_) all.push_back(address);
  return all;
}

std::vector<Tool> all_tools(Reports& reports, const std::vector<DocPage>& pages) {
  std::vector<Tool> tools;
  tools.push_back(tool<RunArguments>(
      "run", "Simulate",
      "Simulates a workload on hardware, cycle by cycle, and compares its outputs with the reference: a "
      "table "
      "of layers with cycles, lower bounds, utilization and bytes, and where the cycles went.",
      [&reports](const RunArguments& a, const Watch& watch) { return run(a, reports, watch); }));
  tools.push_back(tool<PlanArguments>(
      "plan", "Plan",
      "Shows how a workload is mapped to hardware, with estimated cycles, without simulating.",
      [](const PlanArguments& a, const Watch& watch) { return plan(a, watch); }));
  tools.push_back(tool<WhatIfArguments>(
      "whatif", "Measure changes of the hardware",
      "Runs the knobs of the hardware a step up and down and the best in pairs, and says what each is worth "
      "in cycles, energy and area. The only ground for advice about the hardware.",
      [](const WhatIfArguments& a, const Watch& watch) { return whatif(a, watch); }));
  tools.push_back(
      tool<SweepArguments>("sweep", "Run many points",
                           "Runs all combinations of values of the hardware or the workload: a table as CSV.",
                           [](const SweepArguments& a, const Watch& watch) { return sweep(a, watch); }));
  tools.push_back(tool<ExplainArguments>(
      "explain", "Explain stalls",
      "Says what a run, or one layer of it, waited for: cycles by cause with what each cause means, and "
      "lower "
      "bounds.",
      [&reports](const ExplainArguments& a, const Watch&) { return explain(a, reports); }));
  tools.push_back(tool<SchemaArguments>(
      "schema", "Fields of files", "The fields of a kind of file, with units, ranges and defaults.",
      [](const SchemaArguments& a, const Watch& watch) { return schema(a, watch); }));
  tools.push_back(tool<DocsArguments>(
      "docs", "Read the documentation", "Lists the pages of the documentation, reads one, or searches them.",
      [&pages](const DocsArguments& a, const Watch&) { return docs(a, pages); }));
  return tools;
}

}  // namespace tilebeat::mcp
