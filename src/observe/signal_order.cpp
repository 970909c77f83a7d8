#include "observe/signal_order.h"

#include "base/types.h"
#include "observe/waveform_output.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Whether a name is an identifier of IEEE 1364 (3.7).
bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto further = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '$'; };
  return !name.empty() && letter(name.front()) && std::all_of(name.begin(), name.end(), further);
}

// The scopes of these signals, and all around them.
std::unordered_set<std::string> scopes_of(const std::vector<SignalInfo>& signals) {
  std::unordered_set<std::string> scopes;
  for (const SignalInfo& signal : signals) {
    std::string scope = signal.scope;
    while (scopes.insert(scope).second && scope.find('.') != std::string::npos)
      scope.resize(scope.rfind('.'));
  }
  return scopes;
}

}  // namespace

void check_identifiers(const SignalInfo& info) {
  std::vector<std::string> names = scopes_of_path(info.scope);
  names.push_back(info.name);
  for (const std::string& name : names) {
    if (!is_identifier(name))
      throw std::logic_error(fmt::format("{}.{}: no identifier of IEEE 1364", info.scope, info.name));
  }
}

std::vector<SignalId> ordered_by_path(const std::vector<SignalInfo>& signals) {
  std::vector<SignalId> order(signals.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const SignalInfo& x = nth(signals, a);
    const SignalInfo& y = nth(signals, b);
    return x.scope != y.scope ? scopes_of_path(x.scope) < scopes_of_path(y.scope)
                              : natural_less(x.name, y.name);
  });
  const std::unordered_set<std::string> scopes = scopes_of(signals);
  const SignalInfo* before = nullptr;
  for (const SignalId id : order) {
    const SignalInfo& info = nth(signals, id);
    const std::string path = info.scope + "." + info.name;
    if (scopes.count(path) > 0) throw std::logic_error(path + ": a scope and a variable");
    if (before != nullptr && before->name == info.name && before->scope == info.scope)
      throw std::logic_error(path + ": two variables");
    before = &info;
  }
  return order;
}

std::string outermost_scope(const SignalInfo& signal) {
  return scopes_of_path(signal.scope).front();
}

}  // namespace tilebeat
