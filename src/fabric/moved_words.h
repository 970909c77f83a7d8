#pragma once

#include "tilebeat/base/copy_word.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tlm>

namespace tilebeat {

/// Words on their way between a request's data and the cells of interleaved banks, bank after bank.
struct MovedWords {
  std::uint8_t* data;
  std::uint8_t* const* cells;
  std::size_t banks, bank;
  std::uint64_t row;  ///< address of the word in its bank, in bytes

  template <tlm::tlm_command Command, class Size>
  void one(std::size_t in_word, Size size) {
    std::uint8_t* const cell = cells[bank] + row + in_word;
    if (Command == tlm::TLM_READ_COMMAND)
      std::memcpy(data, cell, size);
    else
      std::memcpy(cell, data, size);
    data += size;
  }
  void next(std::size_t width) {
    if (++bank == banks) bank = 0, row += width;
  }
  /// Moves `bytes` from byte `in_word` of the word on; the first `first` of them complete it.
  template <tlm::tlm_command Command>
  void move(std::size_t in_word, std::size_t first, std::size_t bytes, std::size_t width) {
    if (first > 0) {
      one<Command>(in_word, first);
      next(width);
    }
    with_word_size(width, [this, whole = (bytes - first) / width](auto size) {
      MovedWords words = *this;  // in registers
      for (std::size_t i = 0; i < whole; ++i) {
        words.one<Command>(0, size);
        words.next(size);
      }
      *this = words;
    });
    if (const std::size_t rest = (bytes - first) % width; rest > 0) one<Command>(0, rest);
  }
};

}  // namespace tilebeat
