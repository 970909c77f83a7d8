// The options of the commands that make many runs.
#include "app/command_options.h"
#include "app/commands.h"

namespace tilebeat {

void add_files(CLI::App& app, std::string& config, std::string& layer) {
  app.add_option("--config", config, "hardware JSON")->required()->type_name("HW.json");
  app.add_option("--layer", layer, "workload JSON: a layer or a network")
      ->required()
      ->type_name("WORKLOAD.json");
}

CLI::Option* add_plan_cache(CLI::App& app, std::string& folder) {
  return app
      .add_option("--plan-cache", folder,
                  "folder that keeps plans: what was planned before is not planned again")
      ->check(kNotEmpty)
      ->type_name("DIR");
}

void define_sweep(CLI::App& app, SweepCommand& c) {
  app.add_option("sweep", c.sweep, "sweep JSON: which files, and what changes from point to point")
      ->required()
      ->check(kNotEmpty)
      ->type_name("SWEEP.json");
  app.add_option("--out", c.out, "folder for sweep.csv, sweep.html and points/; a sweep goes on where it was")
      ->capture_default_str()
      ->check(kNotEmpty)
      ->type_name("DIR");
  CLI::Option* jobs = app.add_option("--jobs", c.jobs, "runs at the same time (default: one a processor)")
                          ->check(CLI::Range(1, 4096))
                          ->type_name("N");
  app.add_option("--colour", c.colour,
                 "the axis that colours the points of the page; default: the one with the largest effect")
      ->check(kNotEmpty)
      ->type_name("AXIS");
  add_plan_cache(app, c.plan_cache);
  app.add_option("--pareto", c.pareto, "the two columns that the Pareto front is of, less is better")
      ->capture_default_str()
      ->check(kNotEmpty)
      ->type_name("A,B");
  CLI::Option* collect =
      app.add_flag("--collect", c.collect, "run nothing: make the table and the page of what is there");
  app.add_option("--snakemake", c.snakemake, "run nothing: write the sweep as a Snakemake workflow")
      ->check(kNotEmpty)
      ->excludes(collect)
      ->excludes(jobs)
      ->type_name("FILE");
  collect->excludes(jobs);
  app.footer(R"(Examples:
  tilebeat sweep sweep.json --out sweep
  tilebeat sweep sweep.json --out sweep --jobs 4 --pareto time_us,dram_bytes
  tilebeat sweep sweep.json --out sweep --snakemake Snakefile)");
}

void define_search(CLI::App& app, SearchCommand& c) {
  app.add_option("space", c.space, "sweep JSON: which files, and what can change")
      ->required()
      ->check(kNotEmpty)
      ->type_name("SPACE.json");
  app.add_option("--objective", c.objective, "what is to be least")
      ->capture_default_str()
      ->check(CLI::IsMember(kSearchObjectives));
  app.add_option("--strategy", c.strategy,
                 "how points are chosen: by a model of those that were run, at random, or at equal distances")
      ->capture_default_str()
      ->check(CLI::IsMember(kSearchStrategies));
  app.add_option("--budget", c.budget, "after so long no run begins or goes on (default: until all is known)")
      ->check(CLI::Range(0.001, 1e9))
      ->type_name("SECONDS");
  app.add_option("--runs", c.runs, "most points that are run (default: all)")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N");
  app.add_flag("--certify", c.certify,
               "then say how far the mapping of each layer of the best point is from the best one");
  app.add_option("--seed", c.seed, "of random choices; a model whose points are all planned makes none")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000))
      ->type_name("N");
  add_plan_cache(app, c.plan_cache);
  app.add_option("--out", c.out, "folder for search.csv, search.html and points/; it goes on where it was")
      ->capture_default_str()
      ->check(kNotEmpty)
      ->type_name("DIR");
  app.add_option("--jobs", c.jobs, "runs at the same time (default: one a processor)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.footer(
      R"(Every point is a run of its own, so that what is found is exact. Points whose lower bound is no better are left out.

Examples:
  tilebeat search space.json --objective edp --budget 600
  tilebeat search space.json --objective area-delay --runs 40 --strategy random --seed 3)");
}

void define_certify(CLI::App& app, CertifyCommand& c) {
  add_files(app, c.config, c.layer);
  app.add_option("--mapping", c.mapping,
                 "certify the mappings of this file (default: the planner's for each layer by itself)")
      ->check(kNotEmpty)
      ->type_name("FILE");
  app.add_option("--layers", c.layers, "only layers with these names, or that match these patterns")
      ->delimiter(',')
      ->check(kNotEmpty)
      ->type_name("NAME,...");
  app.add_option("--budget", c.budget,
                 "after so long no simulation begins (default: until all mappings are compared)")
      ->check(CLI::Range(0.001, 1e9))
      ->type_name("SECONDS");
  app.add_option("--out", c.out, "folder for certificate.csv and best_mapping.json")
      ->capture_default_str()
      ->check(kNotEmpty)
      ->type_name("DIR");
  app.add_option("--jobs", c.jobs, "simulations at the same time (default: one a processor)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.footer(
      R"(Every mapping of a layer is simulated by itself, or its lower bound is no better than the best one.

Examples:
  tilebeat certify --config configs/core1.json --layer models/resnet50_1x1.json
  tilebeat certify --config configs/core1.json --layer models/mobilenet_v2.json --layers 'b1_*' --budget 600)");
}

void define_whatif(CLI::App& app, WhatIfCommand& c) {
  add_files(app, c.config, c.layer);
  app.add_option("--knobs", c.knobs,
                 "only these knobs, such as interconnect.bytes_per_clock, dram or 'chip.core.*'")
      ->delimiter(',')
      ->check(kNotEmpty)
      ->type_name("KNOB,...");
  add_plan_cache(app, c.plan_cache);
  app.add_option("--budget", c.budget,
                 "after so long no run begins or goes on (default: until all is measured)")
      ->check(CLI::Range(0.001, 1e9))
      ->type_name("SECONDS");
  app.add_option("--out", c.out,
                 "folder for whatif.json, whatif.csv, whatif.html and points/; it goes on "
                 "where it was")
      ->capture_default_str()
      ->check(kNotEmpty)
      ->type_name("DIR");
  app.add_option("--jobs", c.jobs, "runs at the same time (default: one a processor)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.footer(R"(Every knob of the hardware is run a step up and a step down, and the best ones in pairs.

Examples:
  tilebeat whatif --config configs/core1.json --layer models/resnet50_1x1.json
  tilebeat whatif --config configs/core1.json --layer models/resnet50.json --knobs dram,interconnect --budget 600
  tilebeat report tilebeat-out/report.json --whatif tilebeat-whatif/whatif.json --html run.html)");
}

void define_check(CLI::App& app, CheckCommand& c) {
  app.add_option("suite", c.suite, "suite JSON: which runs, and what they came to")
      ->required()
      ->check(kNotEmpty)
      ->type_name("SUITE.json");
  CLI::Option* update = app.add_flag("--update", c.update,
                                     "store what the runs come to in the suite, in place of what is there");
  app.add_option("--junit", c.junit, "write the result there, too, as JUnit XML for a CI server")
      ->check(kNotEmpty)
      ->excludes(update)
      ->type_name("FILE");
  app.add_option(
         "--filter", c.filters,
         "only runs whose name has NAME in it, or follows it as a shell's pattern; may be said several "
         "times")
      ->check(kNotEmpty)
      ->allow_extra_args(false)
      ->type_name("NAME");
  app.add_option("--jobs", c.jobs, "runs at the same time (default: one a processor)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.footer(R"(Exit status 1 where a run does not come to what is stored, with a line for each difference:
  RUN: layer NAME: cycles: 1200 -> 1260 (+5 %)

Examples:
  tilebeat check suite.json --update
  tilebeat check suite.json --junit junit.xml
  tilebeat check suite.json --filter core1/ --filter '*/fused')");
}

}  // namespace tilebeat
