#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// Version of the layout of `whatif.json`.
constexpr int kWhatIfVersion = 1;

/// The steps of hardware and workload that were run, and what each came to (SPEC UI-13): the contents of
/// `whatif.json`. `base` has the values of the run without a step. `steps` and `pairs` of steps are lists of
/// objects with `step` (its name; of pairs both, joined by +), `knob`, of steps `from` and `to`, `set` (what
/// was changed in the files), `result` (`measured`; `refused`: the hardware is not legal or cannot run the
/// workload; `failed`; `not_run`: the budget was spent), `reason` where it was not measured, else `cycles`,
/// `energy_pj` and `area_mm2`, and by how many per cent these differ from those of the base: `cycles_percent`
/// and so on, and `area_parts_percent` of the parts of the area that do. Steps of the batch have values of as
/// many images as the base.
using WhatIfTable = nlohmann::ordered_json;

/// The JSON Schema (draft-07) of the file.
nlohmann::ordered_json whatif_schema();
/// Reads and checks a file. Throws UserError, one line with file, JSON path, value and what is allowed.
WhatIfTable read_whatif(const std::string& path);

/// The values of the base, from its report.
nlohmann::ordered_json whatif_base(const nlohmann::ordered_json& report);
/// Adds what was measured to `row`: values of `report`, whose batch is `images_before` / `images` times that
/// of the base, and by how many per cent they differ from `base`.
struct BatchRatio {
  double images_before = 1, images = 1;
};
void add_measured(nlohmann::ordered_json& row, const nlohmann::ordered_json& report,
                  const nlohmann::ordered_json& base, const BatchRatio& batch);

/// The measured rows of `steps`, or of `pairs`, those with the fewest cycles first.
std::vector<nlohmann::ordered_json> measured_rows(const WhatIfTable& table, const char* list);
/// The measured pairs that save at least kNoticed more than each of their steps alone, likewise.
std::vector<nlohmann::ordered_json> helpful_pairs(const WhatIfTable& table);
/// Whether a measured step saves at least kNoticed of the cycles.
bool saves_cycles(const nlohmann::ordered_json& row);

/// The change of a step: "interconnect.bytes_per_clock 16 -> 32", with what changes beside it; of pairs the
/// name.
std::string change_text(const nlohmann::ordered_json& row, const char* arrow);
/// The parts of the area that a measured step changes: " (macs +100.0 %, buffers +100.0 %)"; empty: none.
std::string area_parts_text(const nlohmann::ordered_json& row);
/// Per cent of the cycles that are worth a mention.
constexpr double kNoticed = 0.5;
/// Whether a measured step makes the chip smaller for at most kNoticed more cycles.
bool saves_area(const nlohmann::ordered_json& row);

/// A line for every step and pair (RFC 4180).
std::string whatif_csv(const WhatIfTable& table);
/// What a terminal shows: the steps that help most, what can be smaller, pairs, what was refused.
std::string whatif_summary(const WhatIfTable& table);
/// One self-contained HTML page. It needs no script and no other file.
std::string whatif_page(const WhatIfTable& table);

}  // namespace tilebeat
