#pragma once

#include "report/page/facts.h"

#include <string>
#include <string_view>
#include <vector>

// The parts of the page, each a piece of HTML that begins with its heading.
namespace tilebeat::page {

/// The totals of a run.
std::string totals(const RunFacts& run);
/// The matrix arrays' cycles by cause, and the lower bounds that limit the layers.
std::string limits(const RunFacts& run);
/// The chip, with its parts coloured by utilisation.
std::string floor_plan(const RunFacts& run);
/// A bar per layer: its cycles, divided into busy cycles and stalls of the matrix arrays.
std::string cycles_by_layer(const RunFacts& run);
/// The programs of the run, each with what limits it; empty where there is one.
std::string scenes(const RunFacts& run);
/// The layers of the host; empty where it computes none.
std::string host_layers(const RunFacts& run);
/// Bars per layer: the bytes of every memory.
std::string bytes_by_layer(const RunFacts& run);
/// The energy by its parts, in total and per layer; empty when the report has none.
std::string energy_by_layer(const RunFacts& run);
/// The DRAM traffic from layer to layer.
std::string traffic_over_time(const RunFacts& run);
/// The multiply-accumulates that the arrays had room for, useful and lost, in total and per layer; empty when
/// the report has no losses.
std::string losses_by_layer(const RunFacts& run);
/// What would help, as far as it was measured (SPEC UI-13).
std::string measured_help(const RunFacts& run);
/// The name of the largest loss of a run or a layer, which has `lost_macs`, with its meaning.
std::string largest_loss(const Json& counted);
/// Multiply-accumulates that the beats of a run or a layer, which has `lost_macs`, had room for.
double beat_macs(const Json& counted);
/// The contents of on-chip memories over time; empty when the report has none.
std::string memory_over_time(const RunFacts& run);
/// The layers of the workload, their inputs, and the fusion groups; the report has `graph`.
std::string graph(const RunFacts& run);
/// A dot per layer: MACs a second over MACs a byte.
std::string roofline(const RunFacts& run);
/// The fusion groups, their layers, and what was decided about each; empty when there are none.
std::string fusion_groups(const RunFacts& run);
/// Bars of several runs: time, energy and DRAM bytes.
std::string charts_across(const std::vector<RunFacts>& runs);
/// Several runs side by side.
std::string comparison(const std::vector<RunFacts>& runs);

}  // namespace tilebeat::page
