#pragma once

#include "tilebeat/isa/instruction.h"
#include "tilebeat/units/vector_runtime.h"
#include "tilebeat/units/vector_steps.h"

#include <cstdint>
#include <vector>

namespace tilebeat {

/// The arithmetic of the vector unit: the row buffer and the tables and factors that are loaded. Real numbers
/// are IEEE doubles, in the order of docs/vector.md.
class VectorMath {
 public:
  /// Keeps the bytes of a parameter run.
  void load(const std::vector<std::uint8_t>& parameters) { parameters_ = parameters; }
  /// Takes the operands of one step through the lanes; appends the results' bytes when it is the last of its
  /// row.
  void run(const Operation& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
           const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results);

 private:
  void run(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
           const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results);
  void resize(const VectorResize& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
              std::vector<std::uint8_t>& results);
  void rows(const VectorRow& operation, const std::vector<std::uint8_t>& a,
            std::vector<std::uint8_t>& results);
  void normalise(const VectorRow& operation, std::vector<std::uint8_t>& results) const;
  void respond(const VectorRow& operation, std::vector<std::uint8_t>& results) const;
  double factor(std::size_t number) const;
  std::int32_t end_sum(std::int32_t sum, std::size_t channel, const VectorRun& operation) const;
  void pool(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a);
  void finish_pool(const VectorRun& operation, const VectorStep& step, std::vector<std::uint8_t>& results);
  void softmax(const VectorRun& operation, const std::vector<std::uint8_t>& a,
               std::vector<std::uint8_t>& results);
  void elementwise(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
                   const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results);
  void combine_exactly(const VectorRun& operation, std::size_t count, const std::vector<std::uint8_t>& a,
                       const std::vector<std::uint8_t>& b, std::vector<std::uint8_t>& results) const;

  void between_reals(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
                     std::vector<std::uint8_t>& results);
  void dynamic(const VectorRun& operation, const VectorStep& step, const std::vector<std::uint8_t>& a,
               std::vector<std::uint8_t>& results);
  bool sums_reals(const VectorRun& operation) const;
  std::int32_t pooled(const VectorRun& operation, const VectorStep& step, std::size_t channel) const;

  std::vector<std::uint8_t> parameters_;
  std::vector<std::int64_t> row_;
  std::vector<float> real_row_;  // the same registers, where they hold floats
  RealRange range_;              // of the elements so far
};

}  // namespace tilebeat
