#pragma once

/// The matrix engines of the simulator, in the order of the documentation; the first is the default. A new
/// engine is one line here. NAME is its folder and its namespace (tilebeat::NAME), where it provides
///
///     // its dataflow and its configuration
///     EngineDescription description();
///     // the instructions that it brings
///     std::vector<const OperationType*> operations();
///     // planning
///     std::unique_ptr<MatrixLayer> make_layer(const Workload&, const Layer&, const HardwareConfig&);
///     // its modules; in sim/
///     std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext&);
///
/// docs/adding_an_engine.md walks through it.
#define TILEBEAT_ENGINES(ENGINE) \
  ENGINE(switch_array)           \
  ENGINE(wfold)                  \
  ENGINE(rolling)                \
  ENGINE(offset_table)           \
  ENGINE(dot)                    \
  /* a new engine adds its line above this one */
