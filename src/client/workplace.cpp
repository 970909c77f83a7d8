#include "client/workplace.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;

struct ElementType {
  const char* name;   // of the interface
  const char* descr;  // of NumPy's format
  std::size_t bytes;
};
constexpr std::array<ElementType, 6> kTypes{{{"int8", "|i1", 1},
                                             {"uint8", "|u1", 1},
                                             {"int16", "<i2", 2},
                                             {"int32", "<i4", 4},
                                             {"int64", "<i8", 8},
                                             {"float32", "<f4", 4}}};

constexpr std::string_view kMagic{"\x93NUMPY\x01\x00", 8};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), path);
}

bool is_text(const char* given) {
  const char* const first = given + std::strspn(given, " \t\r\n");
  return *first == '{';
}

// Makes the names of files in a value absolute, of an object `of_layers` all its texts. Returns whether there
// were others.
bool make_files_absolute(nlohmann::ordered_json& value, const fs::path& folder, bool of_layers = false) {
  bool changed = false;
  for (auto& [key, item] : value.items()) {
    // The form "expected": {"LAYER": "FILE"}, and "file" anywhere.
    if (item.is_structured()) changed |= make_files_absolute(item, folder, key == "expected");
    if (!(key == "file" || of_layers) || !item.is_string()) continue;
    const auto& file = item.get_ref<const std::string&>();
    if (file.empty() || file.front() == '/') continue;
    item = (folder / file).lexically_normal().string(), changed = true;
  }
  return changed;
}

// A text with absolute names of files; one that is no JSON, or has a key twice, is left to the command, which
// says what is wrong.
std::string with_absolute_files(const char* text, const fs::path& folder) {
  using Json = nlohmann::ordered_json;
  std::vector<std::set<std::string>> keys;
  bool twice = false;
  const auto look = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) twice |= !keys.back().insert(value.get<std::string>()).second;
    return true;
  };
  Json json = Json::parse(text, look, false, true);
  return json.is_structured() && !twice && make_files_absolute(json, folder) ? json.dump() : text;
}

std::string npy_header(const char* descr, const std::vector<std::int64_t>& shape) {
  std::string dict = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t axis : shape) dict += std::to_string(axis) + ", ";
  dict += "), }";
  constexpr std::size_t kAlign = 64, kLength = 2;
  dict.append(kAlign - (kMagic.size() + kLength + dict.size() + 1) % kAlign, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += static_cast<char>(dict.size() & 0xFF), header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

// The text behind `key` in the dictionary of a header, up to `end`.
std::string entry_of(const std::string& dict, const std::string& key, char end) {
  const std::size_t at = dict.find("'" + key + "':");
  if (at == std::string::npos) return "";
  const std::size_t from = at + key.size() + 3;
  return dict.substr(from, dict.find(end, from) - from);
}

// A tensor as the command writes it; nothing where the file is none.
std::optional<KeptTensor> parse_npy(const std::string& name, const std::string& file) {
  const std::size_t begin = kMagic.size() + 2;
  if (file.size() < begin || file.compare(0, kMagic.size(), kMagic) != 0) return std::nullopt;
  const std::size_t length = static_cast<unsigned char>(file[begin - 2]) +
                             (std::size_t{static_cast<unsigned char>(file[begin - 1])} << 8);
  if (file.size() < begin + length) return std::nullopt;
  const std::string dict = file.substr(begin, length);
  const std::string descr = entry_of(dict, "descr", ',');
  KeptTensor tensor;
  tensor.name = name;
  for (const ElementType& type : kTypes) {
    if (descr.find(type.descr) != std::string::npos) tensor.type = type.name;
  }
  std::string axes = entry_of(dict, "shape", ')');
  std::replace_if(
      axes.begin(), axes.end(), [](char c) { return c < '0' || c > '9'; }, ' ');
  std::istringstream numbers(axes);
  for (std::int64_t axis = 0; numbers >> axis;) tensor.shape.push_back(axis);
  tensor.bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(begin + length), file.end());
  return tensor;
}

}  // namespace

Workplace::Workplace() {
  std::string name = fs::absolute(fs::temp_directory_path() / "tilebeat-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  folder_ = name;
}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Workplace::make(const std::string& name) const {
  fs::create_directory(path(name));
}

std::string Workplace::file_of(const char* given, const std::string& name, const char* folder) const {
  const fs::path base = fs::absolute(folder != nullptr ? folder : ".");
  if (!is_text(given)) return (base / given).lexically_normal().string();
  write_file(path(name), with_absolute_files(given, base));
  return name;
}

std::string Workplace::input_file(const tilebeat_tensor& input, std::size_t number) const {
  const auto refuse = [&](const std::string& what) {
    throw JobError("input " + std::to_string(number) + ": " + what);
  };
  if (input.name == nullptr || input.type == nullptr) refuse("has no name or no type");
  const auto* const type = std::find_if(kTypes.begin(), kTypes.end(), [&](const ElementType& known) {
    return std::strcmp(known.name, input.type) == 0;
  });
  if (type == kTypes.end())
    refuse("type \"" + std::string(input.type) + "\" is not int8, uint8, int16, int32, int64 or float32");
  if ((input.shape == nullptr && input.axes > 0) || (input.elements == nullptr && input.bytes > 0))
    refuse("has no shape or no elements");
  const std::vector<std::int64_t> shape(input.shape, input.shape + input.axes);
  std::uint64_t bytes = type->bytes;
  for (const std::int64_t axis : shape) {
    if (axis < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(axis), &bytes))
      refuse("an axis of " + std::to_string(axis));
  }
  if (bytes != input.bytes)
    refuse("has " + std::to_string(input.bytes) + " bytes, its shape " + std::to_string(bytes));
  std::string file = "input" + std::to_string(number) + ".npy";
  std::string content = npy_header(type->descr, shape);
  content.append(static_cast<const char*>(input.elements), input.bytes);
  write_file(path(file), content);
  return file;
}

std::map<std::string, std::string> documents_of(const std::string& folder) {
  std::map<std::string, std::string> documents;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.front() != '.' && entry.is_regular_file(ignored))
      documents[name] = read_file(entry.path().string());
  }
  return documents;
}

std::vector<KeptTensor> tensors_of(const std::string& folder) {
  std::vector<KeptTensor> tensors;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != ".npy") continue;
    if (auto tensor = parse_npy(entry.path().stem().string(), read_file(entry.path().string())))
      tensors.push_back(std::move(*tensor));
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const KeptTensor& a, const KeptTensor& b) { return a.name < b.name; });
  return tensors;
}

}  // namespace tilebeat
