#include "engines/rolling/sim/pe_array.h"

#include "base/types.h"
#include "kernels/mac.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::rolling {
namespace {

constexpr int kVector = 16;  // elements of a line are kept in whole vectors
constexpr int kElementBits = 9, kTagBits = 16;

const std::uint8_t* bytes_of(const std::vector<std::uint16_t>& values) {
  return reinterpret_cast<const std::uint8_t*>(values.data());
}

}  // namespace

PeArray::PeArray(const Shape& shape, Trace* trace, const std::string& scope)
    : shape_(shape),
      lines_(std::max(shape.rows, shape.columns)),
      lanes_(align_up(std::max(shape.rows, shape.columns), kVector)),
      registers_(to_size(kOperands) * to_size(shape.groups * lines_ * lanes_)),
      tags_(to_size(kOperands) * to_size(shape.groups * lines_)),
      spare_(to_size(shape.groups * lanes_)),
      trace_(trace) {
  if (trace != nullptr) declare_signals(scope);
}

// The name of a group of registers: a0.
std::string PeArray::bank_of(int bank) const {
  return fmt::format("{}{}", nth(kOperandNames, bank / shape_.groups), bank % shape_.groups);
}

void PeArray::declare_signals(const std::string& scope) {
  const int banks = to_int(kOperands) * shape_.groups;
  for (int bank = 0; bank < banks; ++bank) {
    SignalGroup& signals = signals_.emplace_back();
    for (int pe = 0; pe < shape_.rows * shape_.columns; ++pe)
      signals.add(*trace_, {fmt::format("{}.pe{}_{}", scope, pe / shape_.columns, pe % shape_.columns),
                            bank_of(bank), kElementBits, Radix::kSigned, Shown::kWhenNamed, bank_of(bank)});
  }
  for (const SignalGroup& signals : signals_) {
    for (int row = 0; row < shape_.rows; ++row) {
      SignalGroup& of_row = row_signals_.emplace_back();
      for (int column = 0; column < shape_.columns; ++column)
        of_row.add(nth(signals.signals, row * shape_.columns + column), kElementBits);
    }
    for (int column = 0; column < shape_.columns; ++column) {
      SignalGroup& of_column = column_signals_.emplace_back();
      for (int row = 0; row < shape_.rows; ++row)
        of_column.add(nth(signals.signals, row * shape_.columns + column), kElementBits);
    }
  }
  for (int spare = 0; spare < spare_lines_of(shape_); ++spare) {
    for (int lane = 0; lane < lines_; ++lane)
      spare_signals_.add(*trace_, {fmt::format("{}.spare{}", scope, spare), fmt::format("e{}", lane),
                                   kElementBits, Radix::kSigned, Shown::kWhenNamed, "spare"});
  }
  for (int bank = 0; bank < banks; ++bank) {
    SignalGroup& tags = tag_signals_.emplace_back();
    for (int line = 0; line < lines_; ++line)
      tags.add(*trace_, {scope + ".tags", fmt::format("{}_{}", bank_of(bank), line), kTagBits,
                         Radix::kDecimal, Shown::kWhenNamed, "tags_" + bank_of(bank)});
  }
  const auto look = [this](const SignalGroup& group) {
    traces_ |= std::any_of(group.signals.begin(), group.signals.end(), [](SignalId id) { return id >= 0; });
  };
  for (const auto* groups : {&signals_, &tag_signals_}) std::for_each(groups->begin(), groups->end(), look);
  look(spare_signals_);
  shown_.resize(std::max(nth(signals_, 0).signals.size(), spare_signals_.signals.size()));
  tags_shown_.resize(to_size(lines_));
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
  for (int i = 0; i < count_of(spare_signals_.signals); ++i)
    nth(shown_, i) = shown_operand(nth(spare_, i / lines_ * lanes_ + i % lines_));
  trace_->change(spare_signals_, at, bytes_of(shown_));
}

void PeArray::trace_element(Variant variant, OperandName operand, int group, int line, int lane,
                            Picoseconds at) {
  const Pe pe = pe_of(variant, line, lane);
  // Output-stationary, lines of one operand may be more than the array has in that direction.
  if (pe.row >= shape_.rows || pe.column >= shape_.columns) return;
  const int bank = to_int(operand) * shape_.groups + group;
  const SignalId signal = nth(nth(signals_, bank).signals, pe.row * shape_.columns + pe.column);
  if (tags(operand, group)[line].valid)
    trace_->change(signal, at, shown_operand(this->line(operand, group, line)[lane]));
  else
    trace_->unknown(signal, at);
}

void PeArray::trace_tag(OperandName operand, int group, int line, Picoseconds at) {
  const SignalId signal = nth(nth(tag_signals_, to_int(operand) * shape_.groups + group).signals, line);
  const Tag& tag = tags(operand, group)[line];
  if (tag.valid)
    trace_->change(signal, at, to_unsigned(tag.number));
  else
    trace_->unknown(signal, at);
}

void PeArray::trace(Variant variant, OperandName operand, int group, Picoseconds at) {
  if (!traces_ || trace_->is_over()) return;
  const int lines = shape_.lines(variant), lanes = shape_.lanes(variant);
  const Tag* const tags = this->tags(operand, group);
  const bool all_known = std::all_of(tags, tags + lines, [](const Tag& tag) { return tag.valid; });
  if (all_known && lines == lines_ && lines * lanes == shape_.rows * shape_.columns)
    return trace_all(variant, operand, group, at);
  for (int line = 0; line < lines; ++line) {
    trace_tag(operand, group, line, at);
    for (int lane = 0; lane < lanes; ++lane) trace_element(variant, operand, group, line, lane, at);
  }
}

// The same where all PEs have registers with lines.
void PeArray::trace_all(Variant variant, OperandName operand, int group, Picoseconds at) {
  const std::size_t bank = to_size(to_int(operand) * shape_.groups + group);
  const bool by_rows = lines_are_rows(variant);
  std::uint16_t* to = shown_.data();
  for (int row = 0; row < shape_.rows; ++row) {
    for (int column = 0; column < shape_.columns; ++column)
      *to++ = shown_operand(by_rows ? line(operand, group, row)[column] : line(operand, group, column)[row]);
  }
  trace_->change(signals_[bank], at, bytes_of(shown_));
  for (int line = 0; line < lines_; ++line)
    nth(tags_shown_, line) = static_cast<std::uint16_t>(tags(operand, group)[line].number);
  trace_->change(tag_signals_[bank], at, bytes_of(tags_shown_));
}

void PeArray::trace_load(Variant variant, OperandName operand, int group, const Load& load,
                         const Entry& entry) {
  if (!traces_ || trace_->is_over() || trace_line(variant, operand, group, load, entry)) return;
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
    trace_tag(operand, group, line, entry.first);
    trace_element(variant, operand, group, line, load.number, at(line));
  }
}

// The same where a row or a column of the whole array gets all its elements in one cycle; false: it does not.
bool PeArray::trace_line(Variant variant, OperandName operand, int group, const Load& load,
                         const Entry& entry) {
  const bool is_line = load.kind == Load::Kind::kLine;
  const int lines = shape_.lines(variant), lanes = shape_.lanes(variant), count = is_line ? lanes : lines;
  const Tag* const tags = this->tags(operand, group);
  const auto known = [](const Tag& tag) { return tag.valid; };
  if ((count - 1) / entry.elements > 0 || lines * lanes != shape_.rows * shape_.columns) return false;
  if (load.number >= (is_line ? lines : lanes)) return false;
  if (is_line ? !known(tags[load.number])
              : load.filled.size != lines || !std::all_of(tags, tags + lines, known))
    return false;
  for (int i = 0; i < count; ++i)
    nth(shown_, i) =
        shown_operand(is_line ? line(operand, group, load.number)[i] : line(operand, group, i)[load.number]);
  const int bank = to_int(operand) * shape_.groups + group;
  const bool is_row = is_line == lines_are_rows(variant);
  const SignalGroup& signals = is_row ? nth(row_signals_, bank * shape_.rows + load.number)
                                      : nth(column_signals_, bank * shape_.columns + load.number);
  trace_->change(signals, entry.first, bytes_of(shown_));
  for (int number = is_line ? load.number : 0; number < (is_line ? load.number + 1 : lines); ++number)
    trace_tag(operand, group, number, entry.first);
  return true;
}

}  // namespace tilebeat::rolling
