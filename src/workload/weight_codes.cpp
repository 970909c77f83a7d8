#include "workload/weight_codes.h"

#include <algorithm>

namespace tilebeat {

std::int8_t decoded_weight(std::uint8_t code, std::uint8_t scale, int shift, bool is_signed) {
  const auto value = [is_signed](int bits) { return is_signed && bits >= 8 ? bits - 16 : bits; };
  const int difference = value(code & 15) - value(code >> 4);
  const int rounding = shift > 0 ? 1 << (shift - 1) : 0;
  return static_cast<std::int8_t>(std::clamp((difference * scale + rounding) >> shift, -128, 127));
}

}  // namespace tilebeat
