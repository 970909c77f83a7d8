#include "sweep_workflow.h"

#include <fmt/format.h>

namespace tilebeat {
namespace {

// A JSON text is a Python text, too.
std::string python(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string snakemake_workflow(const std::string& name, const std::vector<PointFolder>& points,
                               const WorkflowPlaces& places) {
  std::string list, arguments, inputs;
  for (const PointFolder& point : points) list += fmt::format("    {},\n", python(point.point().name));
  for (const std::string& argument : points.front().arguments())
    arguments += fmt::format("{}{}", arguments.empty() ? "" : " ", argument);
  for (std::size_t t = 0; t < kSweepTargets; ++t) {
    constexpr std::array<const char*, kSweepTargets> kNames{"config.json", "workload.json", "mapping.json"};
    if (points.front().point().texts[t])
      inputs += fmt::format("{}OUT + \"/points/{{point}}/{}\"", inputs.empty() ? "" : ", ", kNames[t]);
  }
  return fmt::format(
      R"(# The sweep {name}: {count} points, written by `tilebeat sweep --snakemake`. On this machine:
#   snakemake --snakefile FILE --cores 4
# On Slurm, with folders that all nodes see:
#   snakemake --snakefile FILE --jobs 100 --cluster "sbatch --parsable --cpus-per-task 1 --output /dev/null"
# Another program than the one that wrote this: --config tilebeat=/path/to/tilebeat
TILEBEAT = config.get("tilebeat", {tilebeat})
SWEEP = {sweep}
OUT = {out}
POINTS = [
{list}]


localrules: collect


# The table and the page; fails when a point did not pass, and then they are there as well.
rule collect:
    input:
        expand(OUT + "/points/{{point}}/status", point=POINTS),
    shell:
        "{{TILEBEAT:q}} sweep {{SWEEP:q}} --out {{OUT:q}} --pareto {pareto} --collect"


rule point:
    input:
        {inputs},
    output:
        OUT + "/points/{{point}}/status",
    params:
        folder=lambda wildcards: OUT + "/points/" + wildcards.point,
    shell:
        "cd {{params.folder:q}} && {{{{ code=0; {{TILEBEAT:q}} {arguments}"
        " > log.txt 2> errors.txt || code=$?; echo $code > status; }}}}"
)",
      fmt::arg("name", name), fmt::arg("count", points.size()), fmt::arg("tilebeat", python(places.tilebeat)),
      fmt::arg("sweep", python(places.sweep)), fmt::arg("out", python(places.out)), fmt::arg("list", list),
      fmt::arg("pareto", places.pareto), fmt::arg("inputs", inputs), fmt::arg("arguments", arguments));
}

}  // namespace tilebeat
