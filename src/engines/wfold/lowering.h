#pragma once

#include "tilebeat/mapping/matrix_backend.h"

#include <cstdint>
#include <memory>

#include "choice.h"
#include "run_cost.h"

namespace tilebeat::wfold {

/// Turns the jobs of a unit into runs: kernel tiles that touch the same channels are one run. What it is
/// given outlives it.
std::unique_ptr<MatrixLowering> make_lowering(TaskGraph& graph, const EnginePlace& place,
                                              const Problem& problem, const WfoldChoice& choice,
                                              const WfoldConfig& config, RunCosts& costs);

/// Maps are folded on their way to where the engine reads them (SPEC WF-5).
bool folds_on_the_way(const Problem& problem, const WfoldConfig& config);
/// Bytes of a row of a tile's map in NRAM, and of its padding in front of the pixels that the map has.
std::int64_t row_bytes(const Problem& problem, const WfoldChoice& choice, const WfoldConfig& config,
                       const Window& w);
std::int64_t lead_bytes(const Problem& problem, const Window& w);

/// A part of the channels as bytes of a folded pixel: the same share of it, whatever channels lie there. The
/// parts together are the whole pixel.
ByteRange folded_part(const Problem& problem, const Interval& channels);

}  // namespace tilebeat::wfold
