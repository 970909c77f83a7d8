#include "attributes.h"

#include <fmt/format.h>

#include "problems.h"

namespace tilebeat {

template <class Value>
const Value* Attributes::find(const std::string& name, std::string_view kind) {
  read_.insert(name);
  const auto found = node_.attributes.find(name);
  if (found == node_.attributes.end()) return nullptr;
  const auto* value = std::get_if<Value>(&found->second);
  if (value == nullptr) throw Unsupported(fmt::format("its attribute {} is no {}", name, kind));
  return value;
}

std::int64_t Attributes::integer(const std::string& name, std::int64_t otherwise) {
  const auto* value = find<std::int64_t>(name, "integer");
  return value != nullptr ? *value : otherwise;
}

float Attributes::real(const std::string& name, float otherwise) {
  const auto* value = find<float>(name, "number");
  return value != nullptr ? *value : otherwise;
}

std::string Attributes::text(const std::string& name, const std::string& otherwise) {
  const auto* value = find<std::string>(name, "text");
  return value != nullptr ? *value : otherwise;
}

std::optional<std::vector<std::int64_t>> Attributes::integers(const std::string& name) {
  const auto* value = find<std::vector<std::int64_t>>(name, "list of integers");
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<std::vector<float>> Attributes::reals(const std::string& name) {
  const auto* value = find<std::vector<float>>(name, "list of numbers");
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

const Constant* Attributes::tensor(const std::string& name) {
  return find<Constant>(name, "tensor");
}

void Attributes::finish() const {
  for (const auto& [name, value] : node_.attributes) {
    if (read_.count(name) == 0) throw Unsupported(fmt::format("its attribute {} is not known", name));
  }
}

}  // namespace tilebeat
