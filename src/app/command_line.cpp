#include "app/command_options.h"
#include "app/commands.h"
#include "app/faults.h"
#include "app/provenance.h"
#include "import/imported.h"
#include "import/operator_table.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kFailed = 1, kBadInput = 2;

// At 1 us per cycle a count of picoseconds still fits 64 bits.
constexpr Cycle kMostCycles = 1'000'000'000'000;

void define_timeline(CLI::App& app, RunCommand& c) {
  CLI::Option* timeline =
      app.add_option("--timeline", c.timeline, "write a timeline for Perfetto (Chrome trace events)")
          ->check(kNotEmpty)
          ->type_name("FILE");
  app.add_option("--timeline-max-mb", c.timeline_max_mb,
                 "the timeline gets coarser towards this size, and ends, valid, before it")
      ->needs(timeline)
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str()
      ->type_name("MB");
  app.add_option("--konata", c.konata, "write the processors' programs as a pipeline for Konata")
      ->check(kNotEmpty)
      ->type_name("FILE");
}

std::vector<std::string> names_of_kinds() {
  std::vector<std::string> names;
  for (const FaultKind& kind : kFaultKinds) names.emplace_back(kind.name);
  return names;
}

void define_faults(CLI::App& app, RunCommand& c) {
  CLI::Option* fault =
      app.add_option(
             "--fault", c.faults,
             "a broken cell: what is written to byte BYTE of bank BANK is stored with the bits of MASK "
             "flipped; of the engine of core 0, or of PLACE, on chips clusterK.coreI.engine, .nram, .wram, "
             ".pe "
             "or clusterK.sram. With @CYCLE an upset: the bits flip once; also of dram:BYTE:MASK@CYCLE and "
             "of "
             "a bus, NAME.PORT.read:BYTE:MASK@CYCLE")
          ->type_name("[PLACE:]BANK:BYTE:MASK[@CYCLE]");
  CLI::Option* campaign =
      app.add_option(
             "--fault-campaign", c.campaign.faults,
             "after the run N more, each with a random upset of one bit: what is masked, wrong, stopped")
          ->check(CLI::Range(1, 1'000'000))
          ->excludes(fault)
          ->excludes("--program")
          ->type_name("N");
  app.add_option("--fault-seed", c.campaign.seed, "another seed gives other upsets")
      ->needs(campaign)
      ->capture_default_str()
      ->type_name("SEED");
  app.add_option("--fault-in", c.campaign.places, "only in these kinds of places")
      ->needs(campaign)
      ->delimiter(',')
      ->check(CLI::IsMember(names_of_kinds()))
      ->type_name("PLACE,...");
  app.add_option("--fault-table", c.campaign.table, "write a line for each upset, comma-separated")
      ->needs(campaign)
      ->check(kNotEmpty)
      ->type_name("FILE");
}

void define_waveform(CLI::App& app, RunCommand& c) {
  app.add_option("--vcd", c.vcd, "write a waveform for GTKWave; implies --granularity clock")
      ->check(kNotEmpty)
      ->type_name("FILE");
  const CLI::Range clocks(Cycle{0}, kMostCycles);
  app.add_option("--fst", c.fst, "the waveform in GTKWave's own format, much smaller")
      ->check(kNotEmpty)
      ->type_name("FILE");
  app.add_option("--vcd-signals", c.vcd_signals,
                 "only signals that match one of these patterns, such as 'sw*' 'soc.bus.*'; '*': all, also "
                 "registers, products and sums of every PE, which are not there without a pattern")
      ->type_name("PATTERN");
  app.add_option("--vcd-from", c.vcd_from, "first cycle of the waveform")->check(clocks)->type_name("CLOCK");
  app.add_option("--vcd-to", c.vcd_to, "first cycle that is not in the waveform any more")
      ->check(clocks)
      ->type_name("CLOCK");
  app.add_option("--vcd-max-mb", c.vcd_max_mb, "the waveform ends, valid, at this size")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("MB");
  app.add_option("--vectors", c.vectors,
                 "write what goes over every port, clock by clock, as vectors for hardware; implies "
                 "--granularity clock")
      ->check(kNotEmpty)
      ->excludes("--vcd")
      ->excludes("--fst")
      ->type_name("DIR");
  app.add_option("--vectors-ports", c.vectors_ports,
                 "only ports whose names match one of these patterns, such as '*.banks.*'")
      ->type_name("PATTERN");
  app.add_flag("--vectors-text", c.vectors_text, "a text beside each file of vectors");
  app.add_flag("--vcd-accumulators", c.vcd_accumulators,
               "trace the accumulator of every PE as well, of engines that have some");
}

void define_run(CLI::App& app, RunCommand& c) {
  app.add_option("--config", c.config, "hardware JSON")->required()->type_name("HW.json");
  CLI::App* work = app.add_option_group("work");
  work->add_option("--layer", c.layer, "workload JSON: a layer or a network")->type_name("WORKLOAD.json");
  work->add_option("--program", c.program, "programs written by hand, instead of a workload (docs/isa.md)")
      ->check(kNotEmpty)
      ->type_name("FILE");
  work->require_option(1);
  app.add_option("--uninitialised", c.uninitialised,
                 "whether --program may read bytes that nobody wrote, which are zero (default: refuse)")
      ->check(CLI::IsMember({"refuse", "allow"}))
      ->excludes("--layer");
  app.add_option("--mapping", c.mapping, "how layers are mapped, as `tilebeat plan --mapping` writes it")
      ->check(kNotEmpty)
      ->excludes("--program")
      ->type_name("FILE");
  add_extrapolate(app, c.extrapolate)->excludes(add_plan_cache(app, c.plan_cache)->excludes("--program"));
  app.add_option("--tables", c.tables, "tables of addresses, as `tilebeat tables` writes them")
      ->check(kNotEmpty)
      ->excludes("--program")
      ->type_name("FILE");
  app.add_option("--out", c.out, "folder for report.json and outputs/")
      ->capture_default_str()
      ->check(kNotEmpty)
      ->type_name("DIR");
  app.add_option("--granularity", c.granularity,
                 "clock: every beat is simulated; tile: a chunk at a time, same results (default)")
      ->check(CLI::IsMember({"clock", "tile"}));
  app.add_option("--check", c.check, "compare outputs with the reference (default: on up to 4e10 MACs)")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--input", c.inputs, "elements of an input of the workload, instead of those that it names")
      ->excludes("--program")
      ->type_name("NAME=X.npy");
  define_waveform(app, c);
  define_timeline(app, c);
  define_faults(app, c);
  app.add_option("--jitter-seed", c.jitter_seed,
                 "hold processes back by random delta cycles; results do not change")
      ->type_name("SEED");
  app.add_option("--build-order-seed", c.build_order_seed,
                 "build the modules in a random order; results do not change")
      ->type_name("SEED");
  app.footer(R"(Examples:
  tilebeat run --config configs/switch16.json --layer models/worked_dilated.json
  tilebeat run --config configs/switch16.json --layer models/worked_dilated.json --vcd wave.vcd --vcd-signals 'sw*' 'b*'
  tilebeat run --config configs/switch16.json --layer models/vgg16_conv3_2.json --timeline timeline.json --out vgg)");
}

void define_rerun(CLI::App& app, RerunCommand& c) {
  app.add_option("report", c.report, "report.json of the run")
      ->required()
      ->check(kNotEmpty)
      ->type_name("REPORT.json");
  app.add_option("--out", c.out, "folder for report.json and outputs/")
      ->capture_default_str()
      ->check(kNotEmpty)
      ->type_name("DIR");
  app.footer("Example:\n  tilebeat rerun tilebeat-out/report.json");
}

void define_import(CLI::App& app, ImportCommand& c) {
  app.add_option("model", c.model, "a model, .onnx or .tflite, or a topology of SCALE-Sim, .csv")
      ->required()
      ->check(kNotEmpty);
  app.add_option("--out", c.out, "folder for workload.json, tensors.json and the tensors")
      ->required()
      ->check(kNotEmpty)
      ->type_name("DIR");
  app.add_flag("--keep-all", c.keep_all, "every activation is an output of the workload");
  app.add_option("--arithmetic", c.arithmetic,
                 "rounding of the layers (default: fixed for TFLite, float32_ort for ONNX)")
      ->check(CLI::IsMember(kArithmeticNames));
  CLI::Option* calibrate =
      app.add_option("--calibrate", c.calibrate,
                     "samples of an input of a float model, stacked along the first axis: it is quantised")
          ->check(kNotEmpty)
          ->type_name("[NAME=]X.npy");
  app.add_flag(
         "--float-on-host", c.float_on_host,
         "float32 parts of a quantised ONNX file stay so: the host computes them, in no cycles of the chip")
      ->excludes(calibrate);
  app.add_flag_callback(
      "--operators",
      [] {
        fmt::print("{}", operator_tables());
        throw CLI::Success();
      },
      "print what is done with each operator of both formats, as Markdown, and nothing else");
  app.add_option("--percentile", c.percentile, "of the magnitudes of a tensor that its scale covers")
      ->needs(calibrate)
      ->capture_default_str()
      ->check(CLI::Range(50.0, 100.0))
      ->type_name("PERCENT");
  app.add_option(
         "--weights", c.weights,
         "store weights with four bits, in groups of 16, 32, 64 or 128 along K, or with one scale a channel")
      ->needs(calibrate)
      ->check(CLI::IsMember({"int8", "int4", "int4:16", "int4:32", "int4:64", "int4:128"}))
      ->type_name("int8|int4[:GROUP]");
  app.footer(R"(Examples:
  tilebeat import model.tflite --out net
  tilebeat run --config configs/cluster4x4.json --layer net/workload.json --input x=x.npy
  tilebeat import float.onnx --calibrate samples.npy --percentile 99.99 --out net
  tilebeat import partly_quantised.onnx --float-on-host --out net)");
}

void define_plan(CLI::App& app, PlanCommand& c) {
  add_files(app, c.config, c.layer);
  app.add_option("--mapping", c.mapping, "write the mapping there, to be changed and handed to run")
      ->check(kNotEmpty)
      ->type_name("FILE");
  add_plan_cache(app, c.plan_cache);
  app.add_option("--picture", c.picture, "write the layers and the fusion groups there, as an SVG picture")
      ->check(kNotEmpty)
      ->type_name("FILE");
  app.add_option("--export", c.program,
                 "write the programs and their memory there, for run --program; tensors lie beside it")
      ->check(kNotEmpty)
      ->type_name("FILE");
  app.add_option("--sram", c.sram_kib,
                 "of hardware with \"fused\": true, also print the bytes over DRAM for these sizes of a "
                 "cluster's SRAM, in KiB")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->expected(1, 64)
      ->type_name("KIB,...");
  app.add_flag("--disassemble", c.disassemble,
               "print the programs as a program file; with --export it runs as it is");
  app.footer(
      "Example:\n  tilebeat plan --config configs/switch16.json --layer models/aspp_head.json --disassemble");
}

void define_tables(CLI::App& app, TablesCommand& c) {
  CLI::Option* show =
      app.add_option("--show", c.show, "print what a file holds")->check(kNotEmpty)->type_name("FILE");
  CLI::Option* config =
      app.add_option("--config", c.config, "hardware JSON")->excludes(show)->type_name("HW.json");
  CLI::Option* layer = app.add_option("--layer", c.layer, "workload JSON: a layer or a network")
                           ->needs(config)
                           ->type_name("WORKLOAD.json");
  config->needs(layer);
  CLI::Option* out =
      app.add_option("--out", c.out, "the file to write")->check(kNotEmpty)->needs(config)->type_name("FILE");
  config->needs(out);
  app.add_option("--table", c.entry, "number of the tables that --thread and --k are asked of")
      ->needs(show)
      ->check(CLI::NonNegativeNumber)
      ->type_name("NUMBER");
  app.add_option("--thread", c.thread, "explain an address: of this thread")
      ->needs(show)
      ->check(CLI::NonNegativeNumber)
      ->type_name("THREAD");
  app.add_option("--k", c.k, "explain an address: of this k")
      ->needs(show)
      ->check(CLI::NonNegativeNumber)
      ->type_name("K");
  app.callback([&c] {
    if (c.show.empty() && c.config.empty())
      throw CLI::ValidationError("--show, or --config, --layer and --out, are expected");
  });
  app.footer(R"(Examples:
  tilebeat tables --config configs/offset16.json --layer models/vgg16_conv3_2.json --out conv.tables
  tilebeat tables --show conv.tables --thread 37 --k 5
  tilebeat run --config configs/offset16.json --layer models/vgg16_conv3_2.json --tables conv.tables)");
}

void define_compare(CLI::App& app, CompareCommand& c) {
  CLI::Option* reports = app.add_option("reports", c.reports, "report.json of two or more runs")
                             ->check(kNotEmpty)
                             ->type_name("REPORT.json");
  CLI::Option* configs =
      app.add_option("--config", c.configs, "hardware JSON, said twice or more: run on all")
          ->type_name("HW.json")
          ->expected(2, 1000)
          ->excludes(reports);
  CLI::Option* layer = app.add_option("--layer", c.layer, "workload JSON that all run")
                           ->type_name("WORKLOAD.json")
                           ->needs(configs);
  configs->needs(layer);
  app.add_option("--out", c.out, "folder for the runs' folders")
      ->capture_default_str()
      ->check(kNotEmpty)
      ->needs(configs)
      ->type_name("DIR");
  app.add_option("--granularity", c.granularity, "of all runs, as for tilebeat run")
      ->needs(configs)
      ->check(CLI::IsMember({"clock", "tile"}));
  app.add_flag("--layers", c.layers, "every layer besides the totals");
  app.add_option("--format", c.format, "text, or a table for other programs")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "csv", "markdown"}));
  app.add_option("--fail-above", c.limits,
                 "exit status 1 where a number differs from the first report's by more than PERCENT, up or "
                 "down (+PERCENT: up, -PERCENT: down); of one quantity, such as cycles=2% or "
                 "dram_read_bytes=+1%, or without a name of all others; of layers with --layers; may be said "
                 "several times")
      ->check(kNotEmpty)
      ->allow_extra_args(false)
      ->type_name("[QUANTITY=]PERCENT");
  app.callback([&c] {
    if (c.reports.size() < 2 && c.configs.empty())
      throw CLI::ValidationError("two or more reports, or --config twice and --layer, are expected");
  });
  app.footer(R"(Examples:
  tilebeat compare dense/report.json dilated/report.json
  tilebeat compare a/report.json b/report.json c/report.json --layers --format csv
  tilebeat compare before/report.json after/report.json --fail-above 2% --fail-above cycles=+0.5%
  tilebeat compare --config configs/core1.json --config configs/wfold16x4.json --layer models/vgg16_conv3_2.json)");
}

void define_report(CLI::App& app, ReportCommand& c) {
  app.add_option("reports", c.reports, "report.json of one run, or of several that are compared")
      ->required()
      ->check(kNotEmpty)
      ->type_name("RUN.json");
  app.add_option("--whatif", c.whatif,
                 "what `tilebeat whatif` measured of such a run: the page says what would help; may be said "
                 "several times")
      ->check(kNotEmpty)
      ->allow_extra_args(false)
      ->type_name("WHATIF.json");
  app.add_option("--html", c.html, "write the page there, one file that needs no others")
      ->required()
      ->check(kNotEmpty)
      ->type_name("FILE");
  app.footer(R"(Examples:
  tilebeat report tilebeat-out/report.json --html run.html
  tilebeat report dense/report.json fused/report.json --html both.html)");
}

void define_schema(CLI::App& app, SchemaCommand& c) {
  app.add_option("kind", c.kind, "hardware, workload, mapping, report, sweep, suite or whatif")
      ->required()
      ->check(CLI::IsMember({"hardware", "workload", "mapping", "report", "sweep", "suite", "whatif"}));
  app.add_flag("--markdown", c.markdown, "a Markdown table instead");
  app.footer("Example:\n  tilebeat schema hardware --markdown");
}

// Commands for shells and man.
void define_completion(CLI::App& app, std::string& shell) {
  app.add_option("shell", shell, "the shell")->required()->check(CLI::IsMember({"bash", "zsh"}));
  app.footer("Example:\n  tilebeat completion bash > ~/.local/share/bash-completion/completions/tilebeat");
}

void define_manual(CLI::App& app, std::string&) {
  app.footer("Example:\n  tilebeat manual > tilebeat.1 && man ./tilebeat.1");
}

void define_mcp(CLI::App& app, std::string&) {
  app.footer(
      "Example, as a client's configuration has it:\n  {\"command\": \"tilebeat\", \"args\": [\"mcp\"]}");
}

int print_text(const std::string& text) {
  fmt::print("{}", text);
  return 0;
}

// The parser itself would only say that a subcommand is missing.
void check_command_name(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  if (name.empty() || name[0] == '-' || std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UserError(one_line(
      fmt::format("'{}' is no subcommand, the nearest one is {}; there are {} ('tilebeat --help' shows how)",
                  name, nearest_name(name, known), fmt::join(known, ", "))));
}

// The parser reports an unknown option as a missing or surplus argument.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string problem = error.what(), command;
  for (const CLI::App* known : app.get_subcommands({})) {
    if (argc < 2 || known->get_name() != argv[1]) continue;
    command = known->get_name() + " ";
    problem = unknown_option(*known, {argv + 2, argv + argc}).value_or(problem);
  }
  throw UserError(fmt::format("{} ('tilebeat {}--help' shows how)", problem, command));
}

// A table that does not reach its reader must not look like success.
int check_printed(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  print_message(fmt::format("the output cannot be printed: {}", std::strerror(errno != 0 ? errno : EIO)));
  return status == 0 ? kFailed : status;
}

// The commands with their options, and what each does when it was given.
std::vector<std::pair<const CLI::App*, std::function<int()>>> add_commands(CLI::App& app) {
  std::vector<std::pair<const CLI::App*, std::function<int()>>> made;
  // `define` takes a command's options into an object, which `work` gets.
  const auto add = [&](const char* name, const char* what, auto object, const auto& define,
                       const auto& work) {
    auto options = std::make_shared<decltype(object)>();
    CLI::App& command = *app.add_subcommand(name, what);
    define(command, *options);
    made.emplace_back(&command, [options, work] { return work(*options); });
  };
  add("new", "begin a file, with comments", NewCommand(), define_new, begin_file);
  add("run", "simulate a workload on a hardware configuration", RunCommand(), define_run, run);
  add("rerun", "repeat the run of a report from the hardware in it, and compare the reports", RerunCommand(),
      define_rerun, rerun);
  add("import", "make a workload of an ONNX or TensorFlow Lite model, or of a topology of SCALE-Sim",
      ImportCommand(), define_import, import_file);
  add("plan", "show how a workload is mapped, without simulating", PlanCommand(), define_plan, plan);
  add("schema", "print the JSON Schema of a kind of file", SchemaCommand(), define_schema, schema);
  add("tables", "compile tables of addresses ahead of runs, or show them", TablesCommand(), define_tables,
      tables);
  add("report", "make an HTML page of the reports of runs", ReportCommand(), define_report, report);
  add("sweep", "run many points, each with other values, and compare", SweepCommand(), define_sweep, sweep);
  add("search", "find the point of a space that costs least, with few runs", SearchCommand(), define_search,
      search);
  add("certify", "say how far the mapping of every layer is from the best one", CertifyCommand(),
      define_certify, certify);
  add("whatif", "run the knobs of the hardware up and down, and say what helps", WhatIfCommand(),
      define_whatif, whatif);
  add("check", "compare runs with what a suite stores of them", CheckCommand(), define_check, check);
  add("compare", "reports side by side, or one workload on several chips", CompareCommand(), define_compare,
      compare);
  add("mcp", "serve the Model Context Protocol on standard input and output", std::string(), define_mcp,
      [](const std::string&) { return serve_mcp(); });
  add("completion", "print a script that completes commands in a shell", std::string(), define_completion,
      [&app](const std::string& shell) { return print_text(completion_script(app, shell)); });
  add("manual", "print the manual page", std::string(), define_manual,
      [&app](const std::string&) { return print_text(manual_page(app)); });
  return made;
}

int dispatch(int argc, char** argv) {
  CLI::App app{"tilebeat: a cycle-accurate, bit-exact simulator of a neural-network processor"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "tilebeat " + version_text(), "print version and source revision");
  app.footer(
      "Exit status: 0 everything ran and every check passed; 1 a check or the simulation failed; 2 wrong "
      "command line or file.\n"
      "'tilebeat COMMAND --help' shows the options and examples of a command.");
  const auto commands = add_commands(app);
  if (argc > 1) check_command_name(app, argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    refuse(app, error, argc, argv);
  }
  const auto given = std::find_if(commands.begin(), commands.end(),
                                  [](const auto& command) { return command.first->parsed(); });
  return given->second();
}

}  // namespace

int run_command_line(int argc, char** argv) {
  try {
    return check_printed(dispatch(argc, argv));
  } catch (const UserError& error) {
    print_error(error);
    return kBadInput;
  } catch (const std::filesystem::filesystem_error& error) {
    print_message(fmt::format("{}: {}", error.path1().string(), error.code().message()));
    return kBadInput;
  } catch (const std::bad_alloc&) {
    print_message("out of memory");
    return kFailed;
  } catch (const std::exception& error) {
    print_message(error.what());
    return kFailed;
  }
}

}  // namespace tilebeat
