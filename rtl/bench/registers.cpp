#include "registers.h"

#include <algorithm>
#include <tuple>

namespace bench {

void Registers::look(std::uint64_t clock, std::uint32_t element, bool known, std::uint32_t value) {
  if (element >= before.size()) before.resize(element + 1);
  const std::pair<bool, std::uint32_t> now{known, known ? value : 0};
  if (before[element] == now) return;
  before[element] = now;
  port->begin(clock);
  port->add(element, 4);
  port->add(known, 1);
  port->add(now.second, 4);
}

void write_registers(std::vector<Change>& changes, bool zeros, Port& to) {
  to.fields = {{"element", 32}, {"known", 1}, {"value", 32}};
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.clock, a.element) < std::tie(b.clock, b.element);
  });
  std::map<std::uint32_t, std::pair<bool, std::uint64_t>> now;
  for (const Change& change : changes) {
    const std::pair<bool, std::uint64_t> next{zeros || change.known, change.value};
    const auto found = now.find(change.element);
    const auto before = found != now.end() ? found->second : std::pair<bool, std::uint64_t>{zeros, 0};
    if (before == next) continue;
    now[change.element] = next;
    to.begin(change.clock);
    to.add(change.element, 4);
    to.add(next.first, 1);
    to.add(next.second, 4);
  }
}

}  // namespace bench
