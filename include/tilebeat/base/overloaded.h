#pragma once

namespace tilebeat {

/// One function object from several, for std::visit: `std::visit(Overloaded{[](int) {}, [](bool) {}}, v)`.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace tilebeat
