#pragma once

#include "report/page/facts.h"

#include <string>
#include <string_view>
#include <vector>

// The parts of the page, each a piece of HTML that begins with its heading.
namespace tilebeat::page {

/// The totals of a run.
std::string totals(const RunFacts& run);
/// Where the cycles of the matrix arrays went, and which lower bound the layers have.
std::string limits(const RunFacts& run);
/// The chip, its parts coloured by how much they are used.
std::string floor_plan(const RunFacts& run);
/// A bar for each layer: its cycles, by what the matrix arrays did.
std::string cycles_by_layer(const RunFacts& run);
/// Bars for each layer: bytes of every memory.
std::string bytes_by_layer(const RunFacts& run);
/// What the energy went into, in all and for each layer; empty where the report has none.
std::string energy_by_layer(const RunFacts& run);
/// How much DRAM moves from layer to layer.
std::string traffic_over_time(const RunFacts& run);
/// What became of the multiply-accumulates that the arrays had room for, in all and by layer; empty where the
/// report does not tell.
std::string losses_by_layer(const RunFacts& run);
/// What would help a run that mostly waits: by the largest cause of its stalls.
std::string help_against_waiting(const RunFacts& run);
/// What would help a run whose schedule limits it: by the largest loss.
std::string help_against_losses(const RunFacts& run);
/// The largest loss of the run or a layer; it has `lost_macs`.
std::string_view largest_loss_name(const Json& counted);
/// The name of the largest loss of the run or a layer, with its meaning; it has `lost_macs`.
std::string largest_loss(const Json& counted);
/// Multiply-accumulates that the beats of the run or a layer had room for; it has `lost_macs`.
double beat_macs(const Json& counted);
/// What memories on the chip hold over time; empty where the report does not tell.
std::string memory_over_time(const RunFacts& run);
/// The layers of the workload, what they read, and the units that they are fused into; the report has
/// `graph`.
std::string graph(const RunFacts& run);
/// A dot for each layer: MACs a second over MACs a byte.
std::string roofline(const RunFacts& run);
/// The fusion groups and their layers, for reports without `graph`; empty when there are none.
std::string fusion_groups(const RunFacts& run);
/// Several runs beside each other.
std::string comparison(const std::vector<RunFacts>& runs);

}  // namespace tilebeat::page
