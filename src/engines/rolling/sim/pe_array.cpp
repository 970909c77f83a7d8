#include "engines/rolling/sim/pe_array.h"

#include "base/types.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::rolling {
namespace {

constexpr int kVector = 16;  // elements of a line are kept in whole vectors
constexpr std::uint64_t kNineBits = 0x1FF;

}  // namespace

PeArray::PeArray(const Shape& shape, Trace* trace, const std::string& scope)
    : shape_(shape),
      lines_(std::max(shape.rows, shape.columns)),
      lanes_(align_up(std::max(shape.rows, shape.columns), kVector)),
      registers_(to_size(kOperands) * to_size(shape.groups * lines_ * lanes_)),
      tags_(to_size(kOperands) * to_size(shape.groups * lines_)),
      spare_(to_size(shape.groups * lanes_)),
      trace_(trace) {
  if (trace == nullptr) return;
  for (const std::string_view operand : kOperandNames) {
    for (int group = 0; group < shape.groups; ++group) {
      for (int row = 0; row < shape.rows; ++row) {
        for (int column = 0; column < shape.columns; ++column) {
          signals_.push_back(trace->add_signal(fmt::format("{}.pe{}_{}", scope, row, column),
                                               fmt::format("{}{}", operand, group), 9, Radix::kSigned,
                                               Shown::kWhenNamed));
        }
      }
    }
  }
  for (int spare = 0; spare < spare_lines_of(shape); ++spare) {
    for (int lane = 0; lane < std::max(shape.rows, shape.columns); ++lane)
      spare_signals_.push_back(trace->add_signal(fmt::format("{}.spare{}", scope, spare),
                                                 fmt::format("e{}", lane), 9, Radix::kSigned,
                                                 Shown::kWhenNamed));
  }
  for (const std::string_view operand : kOperandNames) {
    for (int group = 0; group < shape.groups; ++group) {
      for (int line = 0; line < lines_; ++line)
        tag_signals_.push_back(trace->add_signal(scope + ".tags",
                                                 fmt::format("{}{}_{}", operand, group, line), 16,
                                                 Radix::kDecimal, Shown::kWhenNamed));
    }
  }
  for (const auto* signals : {&signals_, &spare_signals_, &tag_signals_})
    traces_ |= std::any_of(signals->begin(), signals->end(), [](SignalId signal) { return signal >= 0; });
}

PeArray::Pe PeArray::pe_of(Variant variant, int line, int lane) const {
  return lines_are_rows(variant) ? Pe{shape_.start_row + line, shape_.start_column + lane}
                                 : Pe{shape_.start_row + lane, shape_.start_column + line};
}

std::int16_t PeArray::stored(OperandName operand, Variant variant, int group, int line, int lane,
                             std::int16_t element) const {
  if (!fault_ || fault_->bank != to_int(operand) * shape_.groups + group) return element;
  const Pe pe = pe_of(variant, line, lane);
  if (fault_->address != pe.row * shape_.columns + pe.column) return element;
  return static_cast<std::int16_t>(element ^ fault_->mask);
}

void PeArray::flip(Variant variant, const Fault& upset) {
  const int row = to_int(upset.address) / shape_.columns - shape_.start_row;
  const int column = to_int(upset.address) % shape_.columns - shape_.start_column;
  const int line_number = lines_are_rows(variant) ? row : column;
  const int lane = lines_are_rows(variant) ? column : row;
  if (line_number < 0 || lane < 0) return;  // outside the part of the array that is used
  std::int16_t& element = line(static_cast<OperandName>(upset.bank / shape_.groups),
                               upset.bank % shape_.groups, line_number)[lane];
  element = static_cast<std::int16_t>(element ^ upset.mask);
}

void PeArray::clear(OperandName operand, int group) {
  std::fill_n(registers_.begin() + to_signed(offset(operand, group, 0)), lines_ * lanes_, std::int16_t{0});
  std::fill_n(tags_.begin() + to_signed(tag_index(operand, group, 0)), lines_, Tag{});
}

void PeArray::load(OperandName operand, Variant variant, int group, const Load& load, int first_tag,
                   const std::int16_t* elements) {
  if (load.kind == Load::Kind::kLine) {
    std::int16_t* to = line(operand, group, load.number);
    std::copy_n(elements, load.filled.size, to);
    for (int lane = 0; fault_ && lane < load.filled.size; ++lane)
      to[lane] = stored(operand, variant, group, load.number, lane, elements[lane]);
    tags_[tag_index(operand, group, load.number)] = {first_tag + load.number, true};
    return;
  }
  for (int i = 0; i < load.filled.size; ++i) {
    line(operand, group, i)[load.number] = stored(operand, variant, group, i, load.number, elements[i]);
    tags_[tag_index(operand, group, i)] = {first_tag + i, true};
  }
}

void PeArray::multiply(int group, int lines, std::vector<std::int32_t>& sums) const {
  sums.resize(to_size(lines));
  multiply_lines(line(OperandName::kA, group, 0), line(OperandName::kB, group, 0), lines, lanes_,
                 sums.data());
}

namespace {

// Rolls the contents of `ring` places of `size` elements by one place; `spare` has room for one place.
template <class T>
void roll_places(T* first, int ring, int size, Direction direction, T* spare) {
  T* last = first + to_signed(ring - 1) * size;
  if (direction == Direction::kFront) {
    std::copy_n(first, size, spare);
    std::copy(first + size, last + size, first);
    std::copy_n(spare, size, last);
  } else {
    std::copy_n(last, size, spare);
    std::copy_backward(first, last, last + size);
    std::copy_n(spare, size, first);
  }
}

}  // namespace

void PeArray::roll(OperandName operand, int group, int ring, Direction direction) {
  Tag spare;
  const int own = shape_.spare_lines == SpareLines::kPerRing ? group : 0;
  roll_places(line(operand, group, 0), ring, lanes_, direction, &nth(spare_, own * lanes_));
  roll_places(&tags_[tag_index(operand, group, 0)], ring, 1, direction, &spare);
}

void PeArray::swap_groups(OperandName operand, int a, int b) {
  for (int line = 0; line < lines_; ++line) swap_lines(operand, a, b, line);
}

void PeArray::swap_lines(OperandName operand, int group_a, int group_b, int line) {
  std::swap_ranges(this->line(operand, group_a, line), this->line(operand, group_a, line) + lanes_,
                   this->line(operand, group_b, line));
  std::swap(tags_[tag_index(operand, group_a, line)], tags_[tag_index(operand, group_b, line)]);
}

void PeArray::trace_spare_lines(Picoseconds at) {
  if (!traces_ || trace_->is_over()) return;
  const int lanes = std::max(shape_.rows, shape_.columns);
  for (int i = 0; i < count_of(spare_signals_); ++i)
    trace_->change(nth(spare_signals_, i), at,
                   to_unsigned(nth(spare_, i / lanes * lanes_ + i % lanes)) & kNineBits);
}

void PeArray::trace_element(Variant variant, OperandName operand, int group, int line, int lane,
                            Picoseconds at) {
  const Pe pe = pe_of(variant, line, lane);
  const int bank = to_int(operand) * shape_.groups + group;
  const SignalId signal = nth(signals_, (bank * shape_.rows + pe.row) * shape_.columns + pe.column);
  if (tags(operand, group)[line].valid)
    trace_->change(signal, at, to_unsigned(this->line(operand, group, line)[lane]) & kNineBits);
  else
    trace_->unknown(signal, at);
}

void PeArray::trace_tag(OperandName operand, int group, int line, Picoseconds at) {
  const SignalId signal = tag_signals_[tag_index(operand, group, line)];
  const Tag& tag = tags(operand, group)[line];
  if (tag.valid)
    trace_->change(signal, at, to_unsigned(tag.number));
  else
    trace_->unknown(signal, at);
}

void PeArray::trace(Variant variant, OperandName operand, int group, Picoseconds at) {
  if (!traces_ || trace_->is_over()) return;
  const int lines = shape_.lines(variant), lanes = shape_.lanes(variant);
  for (int line = 0; line < lines; ++line) {
    trace_tag(operand, group, line, at);
    for (int lane = 0; lane < lanes; ++lane) trace_element(variant, operand, group, line, lane, at);
  }
}

void PeArray::trace_load(Variant variant, OperandName operand, int group, const Load& load,
                         const Entry& entry) {
  if (!traces_ || trace_->is_over()) return;
  const auto at = [&](int element) {
    return entry.first + std::min(element / entry.elements, entry.cycles - 1) * entry.period;
  };
  if (load.kind == Load::Kind::kLine) {
    trace_tag(operand, group, load.number, entry.first);
    for (int lane = 0; lane < shape_.lanes(variant); ++lane)
      trace_element(variant, operand, group, load.number, lane, at(lane));
    return;
  }
  for (int line = 0; line < load.filled.size; ++line) {
    trace_tag(operand, group, line, at(line));
    trace_element(variant, operand, group, line, load.number, at(line));
  }
}

}  // namespace tilebeat::rolling
