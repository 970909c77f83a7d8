#include "schema/place.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Words = std::set<std::string>;

// Names that other tools and texts of the field have for keys.
struct Synonym {
  std::string_view other, key;
};
constexpr std::array<Synonym, 22> kSynonyms{{{"cols", "columns"},
                                             {"col", "columns"},
                                             {"width", "columns"},
                                             {"height", "rows"},
                                             {"freq", "clock_mhz"},
                                             {"frequency", "clock_mhz"},
                                             {"frequency_mhz", "clock_mhz"},
                                             {"clock", "clock_mhz"},
                                             {"bandwidth", "bytes_per_clock"},
                                             {"bus_width", "bytes_per_clock"},
                                             {"size", "size_bytes"},
                                             {"bytes", "size_bytes"},
                                             {"capacity", "size_bytes"},
                                             {"memory", "dram"},
                                             {"engine", "dataflow"},
                                             {"noc", "interconnect"},
                                             {"filter", "kernel"},
                                             {"kernel_size", "kernel"},
                                             {"strides", "stride"},
                                             {"padding", "pads"},
                                             {"dilations", "dilation"},
                                             {"type", "op"}}};

// A key somewhere in the file, and whether its value is an object.
struct Known {
  std::string pointer, name;
  bool object = false;
};

// Lists the keys of a schema, from the top down.
void list_keys(const OrderedJson& schema, const std::string& pointer, std::vector<Known>& keys) {
  if (const auto kinds = schema.find("anyOf"); kinds != schema.end()) {
    for (const OrderedJson& kind : *kinds) list_keys(kind, pointer, keys);
  }
  if (const auto items = schema.find("items"); items != schema.end()) list_keys(*items, pointer + "/0", keys);
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return;
  for (const auto& [name, value] : properties->items()) {
    const std::string at = fmt::format("{}/{}", pointer, name);
    const bool seen = std::any_of(keys.begin(), keys.end(), [&](const Known& k) { return k.pointer == at; });
    if (!seen) keys.push_back({at, name, value.contains("properties")});
    list_keys(value, at, keys);
  }
}

// The words of a name, without the s of plurals.
Words words_of(const std::string& name) {
  Words words;
  std::string word;
  for (const char c : name + "_") {
    if (c != '_') {
      word += c;
      continue;
    }
    if (word.size() > 2 && word.back() == 's') word.pop_back();
    if (!word.empty()) words.insert(word);
    word.clear();
  }
  return words;
}

bool has_words(const std::string& name, const std::string& of) {
  const Words all = words_of(name), wanted = words_of(of);
  return !wanted.empty() && std::includes(all.begin(), all.end(), wanted.begin(), wanted.end());
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The other name of a key that means `key`; empty: there is none.
std::string synonym_of(const std::string& key) {
  const auto* found =
      std::find_if(kSynonyms.begin(), kSynonyms.end(), [&](const Synonym& s) { return s.other == key; });
  return found == kSynonyms.end() ? "" : std::string(found->key);
}

// The pointers of those keys of `all` that `fits`, in a list of at most three, those near the top first.
template <class Fits>
std::string places_of(const std::vector<Known>& all, bool object, const Fits& fits) {
  constexpr std::size_t kMost = 3;
  std::vector<const Known*> found;
  for (const Known& key : all) {
    if (key.object == object && fits(key.name)) found.push_back(&key);
  }
  const auto depth = [](const Known* key) {
    return std::count(key->pointer.begin(), key->pointer.end(), '/');
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Known* a, const Known* b) { return depth(a) < depth(b); });
  std::string text;
  for (std::size_t i = 0; i < found.size() && i < kMost; ++i)
    text += fmt::format("{}\"{}\"",
                        i == 0                                   ? ""
                        : i + 1 == std::min(found.size(), kMost) ? " or "
                                                                 : ", ",
                        found[i]->pointer);
  return text;
}

// The keys of an object, and those of them whose values are objects, or are none, as the value at hand is.
struct Siblings {
  const std::vector<std::string>&known, &fitting;
};

// What helps whoever has written `key` into an object, in a file of the keys `all`.
std::string hint_of(const std::string& key, bool object, const Siblings& siblings,
                    const std::vector<Known>& all) {
  const auto& [known, fitting] = siblings;
  const std::string synonym = synonym_of(key), nearest = nearest_name(key, known);
  if (contains(known, synonym)) return fmt::format("it is called \"{}\"", synonym);
  const auto called = [](const std::string& wanted) {
    return [wanted](const std::string& name) { return name == wanted; };
  };
  const auto like_key = [&key](const std::string& name) { return has_words(name, key); };
  if (const auto places = places_of(all, object, called(key)); !places.empty())
    return "it belongs at " + places;
  if (!likely_typo(key, nearest) || !contains(fitting, nearest)) {
    if (const auto words = std::find_if(fitting.begin(), fitting.end(), like_key); words != fitting.end())
      return fmt::format("the nearest known name is \"{}\"", *words);
    if (const auto places = places_of(all, object, called(synonym)); !places.empty())
      return "what it may mean is at " + places;
    if (const auto places = places_of(all, object, like_key); !places.empty())
      return "what it may mean is at " + places;
  }
  return fmt::format("the nearest known name is \"{}\"", nearest);
}

}  // namespace

void Place::unknown_key(const std::string& key, const nlohmann::json& value,
                        const std::vector<std::string>& known) const {
  std::vector<Known> all;
  if (schema_) list_keys((*schema_)(), "", all);
  // A number is not meant for the key of an object, nor the other way round.
  std::vector<std::string> fitting = known;
  const auto misfits = [&](const std::string& name) {
    return std::any_of(all.begin(), all.end(), [&](const Known& k) {
      return k.pointer == pointer_ + "/" + name && k.object != value.is_object();
    });
  };
  fitting.erase(std::remove_if(fitting.begin(), fitting.end(), misfits), fitting.end());
  this->key(key).fail(
      fmt::format("unknown key {}, {}", shown(key), hint_of(key, value.is_object(), {known, fitting}, all)));
}

}  // namespace tilebeat
