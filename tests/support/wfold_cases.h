#pragma once

// Runs of a W-fold engine for tests of its schedules: worked ones and random ones.

#include "engines/wfold/schedule.h"
#include "random_cases.h"
#include "wfold_formulas.h"

#include <algorithm>
#include <ostream>

namespace tilebeat::testing {

using wfold::WfoldGeometry;
using wfold::WfoldSchedule;
using wfold::WfoldShape;

/// A run: channels [first, first + used) of a convolution, pads below 0 when it starts inside the map.
struct WfoldCase {
  SpecWfold engine;
  SpecConv conv;
  int pci = 16;
  int first = 0, used = 0;
  bool block_outer = false, records = false;
  bool folded = false;         ///< the map lies in the first storage padded on the left and aligned to sw
  bool own_bytes = false;      ///< the regions hold the kernels' own bytes, not folded lines
  bool kernels_first = false;  ///< kernels are in the first buffers
  int masters = 1;
  int groups = 1;  ///< groups of slaves, each with a group of the convolution of `used` channels

  /// Line groups of a master: lines of each refill that go to different slaves.
  int groups_of_master() const { return std::max(1, groups / masters); }
  /// The engine as its tiles are: with kernels in the first buffers a tile is half of the second buffer wide,
  /// and has a kernel for each unit.
  SpecWfold roles() const {
    if (!kernels_first) return engine;
    return {engine.slaves, engine.second / 2, engine.line, engine.second, 2 * engine.units};
  }
  /// Slots for kernel lines.
  int kernel_slots() const { return kernels_first ? engine.first : engine.second; }
  bool whole() const { return used == conv.channels; }
  int pixel() const { return conv.stride[1] * conv.channels; }
  /// Bytes from the first channel of phase 0 to the last one of phase sw - 1.
  int span() const { return (conv.stride[1] - 1) * conv.channels + used; }
  /// The convolution on the map as it is stored.
  SpecConv stored() const {
    SpecConv c = conv;
    if (!folded) return c;
    c.width = static_cast<int>(ceiling(c.pad[1] + c.width, c.stride[1])) * c.stride[1];
    c.pad[1] = 0;
    return c;
  }
  WfoldSchedule schedule() const {
    const SpecConv c = stored();
    WfoldGeometry g;
    g.rows = c.out_height, g.columns = c.out_width, g.kernels = c.out_channels;
    g.height = c.height;
    g.row_bytes = std::int64_t{c.width} * c.channels;
    g.lead_bytes = std::int64_t{c.pad[1]} * c.channels;
    g.h_offset = -c.pad[0];
    g.kernel_h = c.kernel[0], g.stride_h = c.stride[0], g.dilation_h = c.dilation[0];
    g.kernel_w = c.kernel[1], g.stride_w = c.stride[1], g.dilation_w = c.dilation[1];
    g.pixel_bytes = pixel(), g.first_channel = first, g.channels = span();
    g.granularity = pci;
    g.block_outer = block_outer;
    g.post_parameters = records;
    if (own_bytes) g.kernel_layout = {wfold::KernelBytesAre::kOwn, used, whole() ? 0 : conv.out_channels, 0};
    if (groups > 1)
      g.kernel_layout = {wfold::KernelBytesAre::kOwn, used, conv.out_channels / groups, 0, groups};
    WfoldShape shape{engine.slaves, engine.units, engine.line, engine.first, engine.second};
    shape.first_buffer = kernels_first ? wfold::FirstBuffer::kKernels : wfold::FirstBuffer::kMaps;
    shape.masters = masters;
    return {shape, g};
  }
};
inline std::ostream& operator<<(std::ostream& out, const WfoldCase& c) {
  const SpecConv& v = c.conv;
  return out << "engine " << c.engine.slaves << "/" << c.engine.units << "/" << c.engine.line << "/"
             << c.engine.first << "/" << c.engine.second << ", map " << v.height << "x" << v.width << "x"
             << v.channels << ", out " << v.out_height << "x" << v.out_width << "x" << v.out_channels
             << ", kernel " << v.kernel[0] << "x" << v.kernel[1] << ", stride " << v.stride[0] << ","
             << v.stride[1] << ", dilation " << v.dilation[0] << "," << v.dilation[1] << ", pad " << v.pad[0]
             << "," << v.pad[1] << ", Pci " << c.pci << ", channels " << c.first << "+" << c.used
             << ", block outer " << c.block_outer << ", records " << c.records << ", folded " << c.folded
             << ", own bytes " << c.own_bytes << ", kernels first " << c.kernels_first << ", masters "
             << c.masters << ", groups " << c.groups;
}

/// A dense run of one row of outputs on the engine of SPEC section 4.
inline WfoldCase worked_case(int channels, int out_channels, int kernel, int pci, int columns = 16) {
  WfoldCase c;
  c.conv.height = c.conv.kernel[0] = c.conv.kernel[1] = kernel;
  c.conv.width = columns + kernel - 1;
  c.conv.out_width = columns;
  c.conv.channels = c.used = channels;
  c.conv.out_channels = out_channels;
  c.pci = pci;
  return c;
}

inline SpecWfold random_engine() {
  SpecWfold w;
  if (one_in(3)) return w;
  w.slaves = number(1, 17);
  w.units = number(1, 6);
  w.line = 16 << number(0, 3);
  w.first = w.units + number(0, 6);
  w.second = number(2, 12);
  return w;
}

/// Multiply-accumulates of a run, with what the engine computes in surplus channels.
inline std::int64_t products(const WfoldCase& c) {
  const SpecConv& v = c.conv;
  return std::int64_t{v.out_height} * v.out_width * v.out_channels * v.kernel[0] * v.kernel[1] *
         std::max(c.span(), c.pci);
}

/// A run of at most about `most` multiply-accumulates.
inline WfoldCase random_case(std::int64_t most) {
  WfoldCase c;
  c.engine = random_engine();
  c.pci = c.engine.line >> number(0, 2);
  SpecConv& v = c.conv;
  v.channels = number(1, 70);
  v.out_channels = skewed(150);
  v.out_height = number(1, 4), v.out_width = skewed(60);
  for (int axis = 0; axis < 2; ++axis) {
    v.kernel[axis] = skewed(axis == 0 ? 4 : 11);
    v.stride[axis] = skewed(8);
    v.dilation[axis] = number(1, 3);
    v.pad[axis] = one_in(3) ? 0 : number(-5, 9);
  }
  v.height = number(1, 12);
  v.width = number(1, 90);
  c.used = v.channels;
  c.block_outer = one_in(2), c.records = one_in(2), c.own_bytes = one_in(2);
  c.folded = v.pad[1] >= 0 && one_in(2);
  while (products(c) > most) {
    int& largest = std::max(v.out_channels, v.channels) > v.out_width
                       ? (v.out_channels > v.channels ? v.out_channels : v.channels)
                       : v.out_width;
    if (largest == 1) break;
    largest = (largest + 1) / 2;
    c.used = v.channels;
  }
  if (one_in(3)) {  // a group of the convolution
    c.first = number(0, v.channels - 1);
    c.used = number(1, v.channels - c.first);
  }
  return c;
}

/// Draws the options of WF-9 for a run: what the first buffers hold, masters, and groups of slaves.
inline void draw_options(WfoldCase& c) {
  c.kernels_first = one_in(2);
  if (c.engine.slaves % 2 == 0) c.masters = number(1, 2);
  const int groups = number(1, c.engine.slaves);
  if (one_in(2) || c.engine.slaves % groups != 0 || groups % c.masters != 0) return;
  c.groups = groups, c.first = 0, c.own_bytes = true;
  c.used = number(1, std::max(1, 48 / groups));
  c.conv.channels = groups * c.used;
  c.conv.out_channels = c.engine.slaves * number(1, c.roles().second / 2);
}

}  // namespace tilebeat::testing
