#pragma once

#include "planner/fusion/group_graph.h"
#include "planner/fusion/group_tasks.h"
#include "planner/language/mapping_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace tilebeat {

/// A part of a map: rows of one image, and columns of these rows.
struct Region {
  Interval rows, columns;
  bool empty() const { return rows.empty() || columns.empty(); }
};

/// Bytes of the NRAM of a core that a fusion group divides: `operands` of each of two buffers for the maps of
/// tiles, `results` of each of two buffers for results, and `inner` for a pyramid's tensors.
struct NramRoom {
  std::int64_t operands = 0, results = 0, inner = 0;
};

/// Layers that a core computes one after the other for a part of the last one's output: the tensors between
/// them stay in its NRAM, and what two parts need of them is computed twice (SPEC FU-11; 001 [0060]). The
/// document draws such layers as a pyramid.
struct Pyramid {
  std::vector<std::size_t> layers;  ///< rising; only the last one's output leaves the core
  std::vector<int> tensors;         ///< those that stay
  int rows = 1, columns = 1;        ///< of the last layer's output that a core makes at a time
  std::vector<Region> most;         ///< by tensor: rows and columns of the largest part, from 0 on
};

/// Parts of a pyramid whose tensors a core holds at a time.
constexpr int kPartsAtATime = 2;
/// NRAM bytes of a tensor of a part.
std::int64_t part_bytes(const Pyramid& pyramid, const GroupGraph& graph, int tensor);

/// The pyramids of a group, whose layers are joined by the tensors held as Holding::kNram; `rows` and
/// `columns` are still unset. Throws UserError that names the tensor when such layers have several outputs
/// that leave the core, an input of the group is to be held so, or cores share channels of a layer.
std::vector<Pyramid> pyramids_of(const GroupWork& work);

/// The pyramid's part with the fewest estimated cycles of a step's outputs, `most` in each of `maps` images,
/// among those that fit. Throws UserError when not even one output fits (rule 17).
void shape_pyramid(Pyramid& pyramid, const GroupWork& work, const Region& most, int maps,
                   const NramRoom& room);

/// The mapping of a layer of a pyramid to the cores of a cluster; each core has all kernels.
LayerMapping mapping_in_pyramid(const Pyramid& pyramid, const GroupWork& work, std::size_t layer,
                                const NramRoom& room);

/// By tensor, what a pyramid makes, or reads of its inputs, for part `out` of its output.
std::vector<Region> regions_of(const Pyramid& pyramid, const GroupWork& work, const GroupAxes& down,
                               const GroupAxes& across, const Region& out);

/// The parts of `outs` that cores make at a time, row by row.
std::vector<Region> parts_of(const Pyramid& pyramid, const Region& outs);

}  // namespace tilebeat
