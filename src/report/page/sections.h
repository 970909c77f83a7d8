#pragma once

#include <string>
#include <vector>

#include "facts.h"

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
/// A dot for each layer: MACs a second over MACs a byte.
std::string roofline(const RunFacts& run);
/// The fused units and their layers; empty when there are none.
std::string fused_units(const RunFacts& run);
/// Several runs beside each other.
std::string comparison(const std::vector<RunFacts>& runs);

}  // namespace tilebeat::page
