#pragma once

/// The matrix engines of this simulator: the one line that a new engine adds. NAME is its folder and its
/// namespace (tilebeat::NAME), where it provides
///
///     std::vector<const OperationType*> operations();  // the instructions that it brings
#define TILEBEAT_ENGINES(ENGINE) \
  ENGINE(switch_array)           \
  ENGINE(wfold)
