#pragma once

namespace tilebeat::dot {

/// The name of the engine under `dataflow`.
constexpr const char* kDataflow = "dot";

/// Sizes of the dot-product engine, an example of an engine (docs/adding_an_engine.md).
struct DotConfig {
  int lanes = 4;            ///< channels that are multiplied a cycle
  int kernel_bytes = 4096;  ///< the kernel register: one kernel over the channels of its group
};

}  // namespace tilebeat::dot
