#pragma once

#include "tilebeat/planner/planner.h"
#include "tilebeat/program/plan.h"

#include <cstdint>
#include <string>
#include <vector>

#include "conv_plan.h"

namespace tilebeat {

/// What planning needs whatever the hardware: places in DRAM, programs, the memory image.
class PlanBuilder {
 public:
  PlanBuilder(const Workload& w, const HardwareConfig& h) : workload(w), hardware(h) {}

  const Workload& workload;
  const HardwareConfig& hardware;
  Plan plan;

  /// Places inputs and results of all layers.
  void place_tensors();
  /// A place of so many bytes in DRAM.
  std::uint64_t allocate(std::uint64_t bytes);
  /// Places bytes that the host writes before the run; 0 when there are none.
  std::uint64_t place(const std::string& what, std::vector<std::uint8_t> bytes);
  /// The same with pieces that lie one behind the other; each is a segment of its own, so that it goes as
  /// soon as it is written.
  std::uint64_t place(const std::string& what, std::vector<std::vector<std::uint8_t>> pieces);
  /// The program of a processor for a scene, made when it is not there yet.
  std::vector<Instruction>& program_of(const std::string& scene, int processor);
  /// Ends and places all programs; throws PlanError when DRAM is too small.
  void finish();

 private:
  std::uint64_t next_ = 4096;  // address 0 stays unused: it means "none"
};

/// A convolution's place in DRAM: packed kernels, post-parameters.
struct PlacedKernels {
  PackedKernels packed;  ///< its bytes have moved to the memory image
  std::uint64_t address = 0, post = 0;
};
PlacedKernels place_kernels(PlanBuilder& builder, const ConvProblem& problem, const ConvTiling& tiling);

/// Lower bounds of a convolution on `cores` matrix units and `controllers` memory controllers.
BoundCycles bound_of(const ConvProblem& problem, const Layer& layer, std::int64_t macs,
                     const HardwareConfig& hardware);
/// Clocks that DRAM takes for so many bytes at peak bandwidth, all controllers together, rounded down.
std::int64_t dram_bound(std::int64_t bytes, const HardwareConfig& hardware);
/// Rows (columns) of an input of `extent` that any tap of any of `outs` outputs touches.
std::int64_t touched_pixels(int extent, int outs, int kernel, int stride, int dilation, int pad);
/// Where an NHWC map lies that fills its place without gaps.
MapPlace dense_place(std::uint64_t address, std::int64_t height, std::int64_t width,
                     std::int64_t pixel_bytes);

/// Adds one layer for the system on chip (SPEC SW), or for a chip (SPEC HI).
void plan_soc_layer(PlanBuilder& builder, const Layer& layer);
void plan_chip_layer(PlanBuilder& builder, const Layer& layer);
/// Before and after the layers of a chip.
void begin_chip(PlanBuilder& builder);

}  // namespace tilebeat
