#pragma once

#include "config/hardware_config.h"
#include "workload/workload.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace tilebeat {

/// A tensor that shares its place in DRAM with others: a first one, and those that concats make of it by
/// appending to it, one after the other. An image is what lies in front of the axis along which they append:
/// a head of a cache [1, heads, tokens, width]. Each image has room for the longest of these tensors.
struct AppendedPlace {
  std::string first;  ///< the tensor that the place was made for
  std::int64_t images = 1;
  std::int64_t pixel_bytes = 1;   ///< bytes of an index of the axis, in one image
  std::int64_t image_stride = 0;  ///< bytes from image to image
  std::int64_t size_bytes() const { return images * image_stride; }
};

/// The tensors, by name, whose bytes are appended in place (SPEC AT-2). A concat appends if its first operand
/// lies in DRAM and no other concat appends to that one, and if all layers that read these tensors can read
/// images with room between them. Its result begins where its first operand does, and only the other operands
/// are written. Appending never changes bytes that are there, so every one of these tensors keeps its bytes
/// until the end of the run. Tensors in `on_chip` have no place in DRAM. Reshapes lie in the place of their
/// input and are not listed.
std::map<std::string, AppendedPlace> appended_tensors(const Workload& workload,
                                                      const HardwareConfig& hardware,
                                                      const std::set<std::string>& on_chip);

/// The reason why a concat writes only `written` bytes, as text.
std::string appended_in_words(const Layer& layer, std::int64_t written);

}  // namespace tilebeat
