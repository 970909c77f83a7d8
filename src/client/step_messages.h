#pragma once

#include <cstdint>

namespace tilebeat {

/// A message between a session of the C interface and its simulation; `bytes` bytes follow it.
struct StepMessage {
  std::uint64_t kind = 0;    ///< one of the letters below
  std::uint64_t number = 0;  ///< a clock, an address, a port, a count
  std::uint64_t bytes = 0;
};

// From the simulation.
constexpr char kStepPorts = 'P';    ///< first: a JSON object with `clock_ps`, `ports` and `tensors`
constexpr char kStepRecords = 'R';  ///< number: a port; records as in the files of vectors
constexpr char kStepReached = 'C';  ///< number: so many clocks are complete, and all their records were sent
constexpr char kStepEnd = 'Z';      ///< likewise, and the run is over
constexpr char kStepBytes = 'B';    ///< the answer to what reads, and, empty, to what writes
constexpr char kStepRefused = 'E';  ///< the answer that says why not
// To the simulation. What is asked for between two clocks comes before kStepGo.
constexpr char kStepGo = 'G';          ///< number: go on until so many clocks are complete
constexpr char kStepRunOut = 'F';      ///< go on to the end, without records
constexpr char kStepRead = 'L';        ///< number: an address; the number of bytes follows, in eight bytes
constexpr char kStepWrite = 'W';       ///< number: an address; the bytes follow
constexpr char kStepReadTensor = 'T';  ///< the name follows
constexpr char kStepWriteTensor =
    'U';  ///< number: length of the name, which follows with the bytes behind it

}  // namespace tilebeat
