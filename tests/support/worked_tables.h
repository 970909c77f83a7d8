#pragma once

// Tables 1 to 3 of document 000 with the corrections of SPEC section 10: the 14 wide, 8 high map on the 16 x
// 16 array with two row groups of eight lanes.

#include <array>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat::testing {

using Pixel = std::pair<int, int>;  ///< row and column of the map

constexpr int kTableBanks = 16;
constexpr int kTableWords = 7;  ///< addr0 to addr6
constexpr int kTableClocks = 9;
constexpr int kTableHeight = 8;
constexpr int kTableWidth = 14;

/// Pixels as the document writes them: "d0.0 d0.8" are (0, 0) and (0, 8).
inline std::vector<Pixel> parse_pixels(const std::string& text) {
  std::vector<Pixel> pixels;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t dot = word.find('.');
    pixels.emplace_back(std::stoi(word.substr(1, dot - 1)), std::stoi(word.substr(dot + 1)));
  }
  return pixels;
}

/// The words of every bank in order of their addresses: SPEC SW-1's formula at G = 2, L = 8, walked pixel by
/// pixel.
inline std::array<std::vector<Pixel>, kTableBanks> table1() {
  std::array<std::vector<Pixel>, kTableBanks> banks;
  for (auto& bank : banks) bank.assign(kTableWords, Pixel{-1, -1});
  for (int h = 0; h < kTableHeight; ++h) {
    for (int w = 0; w < kTableWidth; ++w) {
      const int n = h / 2 * kTableWidth + w;
      banks.at(static_cast<std::size_t>(h % 2 * 8 + n % 8)).at(static_cast<std::size_t>(n / 8)) = {h, w};
    }
  }
  return banks;
}

/// The banks of table 1 that SPEC SW-1 spells out.
inline std::map<int, std::vector<Pixel>> table1_spelled() {
  return {{0, parse_pixels("d0.0 d0.8 d2.2 d2.10 d4.4 d4.12 d6.6")},
          {1, parse_pixels("d0.1 d0.9 d2.3 d2.11 d4.5 d4.13 d6.7")},
          {2, parse_pixels("d0.2 d0.10 d2.4 d2.12 d4.6 d6.0 d6.8")},
          {8, parse_pixels("d1.0 d1.8 d3.2 d3.10 d5.4 d5.12 d7.6")}};
}

/// Table 2: what sub-switches 0 to 15 select in cycles 1 to 9 of the first operation cycle, dense.
inline std::array<std::vector<Pixel>, kTableBanks> table2() {
  return {parse_pixels("d0.0 d0.1 d0.2 d1.0 d1.1 d1.2 d2.0 d2.1 d2.2"),
          parse_pixels("d0.1 d0.2 d0.3 d1.1 d1.2 d1.3 d2.1 d2.2 d2.3"),
          parse_pixels("d0.2 d0.3 d0.4 d1.2 d1.3 d1.4 d2.2 d2.3 d2.4"),
          parse_pixels("d0.3 d0.4 d0.5 d1.3 d1.4 d1.5 d2.3 d2.4 d2.5"),
          parse_pixels("d0.4 d0.5 d0.6 d1.4 d1.5 d1.6 d2.4 d2.5 d2.6"),
          parse_pixels("d0.5 d0.6 d0.7 d1.5 d1.6 d1.7 d2.5 d2.6 d2.7"),
          parse_pixels("d0.6 d0.7 d0.8 d1.6 d1.7 d1.8 d2.6 d2.7 d2.8"),
          parse_pixels("d0.7 d0.8 d0.9 d1.7 d1.8 d1.9 d2.7 d2.8 d2.9"),
          parse_pixels("d1.0 d1.1 d1.2 d2.0 d2.1 d2.2 d3.0 d3.1 d3.2"),
          parse_pixels("d1.1 d1.2 d1.3 d2.1 d2.2 d2.3 d3.1 d3.2 d3.3"),
          parse_pixels("d1.2 d1.3 d1.4 d2.2 d2.3 d2.4 d3.2 d3.3 d3.4"),
          parse_pixels("d1.3 d1.4 d1.5 d2.3 d2.4 d2.5 d3.3 d3.4 d3.5"),
          parse_pixels("d1.4 d1.5 d1.6 d2.4 d2.5 d2.6 d3.4 d3.5 d3.6"),
          parse_pixels("d1.5 d1.6 d1.7 d2.5 d2.6 d2.7 d3.5 d3.6 d3.7"),
          parse_pixels("d1.6 d1.7 d1.8 d2.6 d2.7 d2.8 d3.6 d3.7 d3.8"),
          parse_pixels("d1.7 d1.8 d1.9 d2.7 d2.8 d2.9 d3.7 d3.8 d3.9")};
}

/// Table 3: the same at dilation 2; sub-switch 8 reads d5.0 d5.2 d5.4 in cycles 7 to 9 (SPEC section 10).
inline std::array<std::vector<Pixel>, kTableBanks> table3() {
  return {parse_pixels("d0.0 d0.2 d0.4 d2.0 d2.2 d2.4 d4.0 d4.2 d4.4"),
          parse_pixels("d0.1 d0.3 d0.5 d2.1 d2.3 d2.5 d4.1 d4.3 d4.5"),
          parse_pixels("d0.2 d0.4 d0.6 d2.2 d2.4 d2.6 d4.2 d4.4 d4.6"),
          parse_pixels("d0.3 d0.5 d0.7 d2.3 d2.5 d2.7 d4.3 d4.5 d4.7"),
          parse_pixels("d0.4 d0.6 d0.8 d2.4 d2.6 d2.8 d4.4 d4.6 d4.8"),
          parse_pixels("d0.5 d0.7 d0.9 d2.5 d2.7 d2.9 d4.5 d4.7 d4.9"),
          parse_pixels("d0.6 d0.8 d0.10 d2.6 d2.8 d2.10 d4.6 d4.8 d4.10"),
          parse_pixels("d0.7 d0.9 d0.11 d2.7 d2.9 d2.11 d4.7 d4.9 d4.11"),
          parse_pixels("d1.0 d1.2 d1.4 d3.0 d3.2 d3.4 d5.0 d5.2 d5.4"),
          parse_pixels("d1.1 d1.3 d1.5 d3.1 d3.3 d3.5 d5.1 d5.3 d5.5"),
          parse_pixels("d1.2 d1.4 d1.6 d3.2 d3.4 d3.6 d5.2 d5.4 d5.6"),
          parse_pixels("d1.3 d1.5 d1.7 d3.3 d3.5 d3.7 d5.3 d5.5 d5.7"),
          parse_pixels("d1.4 d1.6 d1.8 d3.4 d3.6 d3.8 d5.4 d5.6 d5.8"),
          parse_pixels("d1.5 d1.7 d1.9 d3.5 d3.7 d3.9 d5.5 d5.7 d5.9"),
          parse_pixels("d1.6 d1.8 d1.10 d3.6 d3.8 d3.10 d5.6 d5.8 d5.10"),
          parse_pixels("d1.7 d1.9 d1.11 d3.7 d3.9 d3.11 d5.7 d5.9 d5.11")};
}

}  // namespace tilebeat::testing
