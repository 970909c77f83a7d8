#pragma once

#include <array>
#include <cstdint>

namespace tilebeat {

/// The units that execute instructions; each has an in-order queue of its own in the command processor.
/// The first four are the matrix unit and its channels, the next ones the vector unit, the DMA engines of
/// cores and memory cores (SPEC HI-2, HI-3) and the engine that folds maps inside NRAM (SPEC WF-5).
enum class Unit : std::uint8_t {
  kLoad,
  kParameter,
  kMatrix,
  kStore,
  kVector,
  kIodma,
  kMvdma,
  kGdma,
  kCdma,
  kFold,
  kSync
};
constexpr int kQueuedUnits = 10;  ///< all but kSync, which the command processor executes itself
constexpr std::array<const char*, kQueuedUnits + 1> kUnitNames{
    "load", "parameter", "matrix", "store", "vector", "iodma", "mvdma", "gdma", "cdma", "fold", "sync"};

}  // namespace tilebeat
