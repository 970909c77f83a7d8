#pragma once

/// The matrix engines of the simulator, in the order of the documentation; the first is the default. A new engine
/// is one entry here. NAME is its folder and its namespace (tilebeat::NAME), where it provides
///
///     EngineDescription description();                        // its dataflow and its configuration
///     std::vector<const OperationType*> operations();         // the instructions that it brings
///     std::unique_ptr<MatrixLayer> make_layer(const Workload&, const Layer&, const HardwareConfig&);  // planning
///     std::unique_ptr<MatrixUnit> make_unit(const MatrixUnitContext&);  // its modules; in sim/
///
/// docs/adding_an_engine.md walks through it.
#define TILEBEAT_ENGINES(ENGINE) \
  ENGINE(switch_array)           \
  ENGINE(wfold)
