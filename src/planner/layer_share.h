#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/mapping/matrix_backend.h"
#include "tilebeat/workload/workload.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tilebeat {

/// What one core of a team computes of a layer: all outputs over a part of the input channels, as a layer of
/// its own on the engine, whose outputs are int32 sums. A team of one computes the layer itself.
struct LayerShare {
  std::shared_ptr<MatrixLayer> layer;
  WeightPlace weights;
  TensorLayout input;  ///< the share's channels of the layer's map in DRAM
};

/// Where the operands of a layer lie in DRAM: its map, and kernels that are a tensor.
struct OperandPlaces {
  TensorLayout input;
  std::optional<std::uint64_t> kernels;
};

/// A layer as the cores of a team compute it.
struct SharedLayer {
  /// The layer itself, in kernel blocks of the shares' size. Results have its type, and what becomes of sums
  /// is its business.
  Problem problem;
  std::vector<LayerShare> shares;   ///< one a core of the team, of rising channels
  std::vector<WeightImage> packed;  ///< by share; empty once they have places
  std::uint64_t post_parameters =
      0;  ///< where those of all kernels lie in DRAM (post_parameters_of); 0: none

  const LayerShare& largest() const;                             ///< the share with the most channels
  int cores() const { return static_cast<int>(shares.size()); }  ///< of the team
  bool adds_sums() const { return cores() > 1; }
};

/// The shares of the core that computes `layer` by itself. Throws UserError when the engine has no kernels
/// that are a tensor.
SharedLayer whole_layer(std::shared_ptr<MatrixLayer> layer, const OperandPlaces& places,
                        const HardwareConfig& hardware);
/// The layer `layer`, which `whole` is for one core, for teams of `cores` cores, in kernel blocks of every
/// size that the engine offers for all shares: channels are cut at multiples of the engine's grain. Throws
/// UserError when the layer cannot be cut so.
std::vector<SharedLayer> shared_layers(const Workload& workload, const Layer& layer,
                                       const HardwareConfig& hardware, const MatrixLayer& whole, int cores,
                                       const OperandPlaces& places);

/// The packed kernels of all shares one behind the other, and the post-parameters; takes them out of the
/// layer.
WeightImage take_packed(SharedLayer& layer);
/// Tells the shares where their part of that image lies in DRAM.
void set_places(SharedLayer& layer, const WeightPlace& place);

/// Cores of the largest team that a layer allows on a chip: of one cluster, whose memory the sums pass
/// through, each with channels of its own.
int largest_team(const MatrixLayer& layer, const ChipConfig& chip);
/// Teams of `cores` cores that a chip has, each in one cluster.
int teams_of(const ChipConfig& chip, int cores);

/// What the last additions of sums need (endsums of docs/vector.md): the clamp's bounds, then a record a
/// kernel. Empty when the results are the sums themselves.
std::vector<std::uint8_t> post_parameters_of(const Problem& problem);

}  // namespace tilebeat
