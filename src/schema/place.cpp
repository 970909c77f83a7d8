#include "schema/place.h"

#include "base/types.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

constexpr std::size_t kShownCharacters = 80;
constexpr std::size_t kLongestComparedName = 256;

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

namespace {

// Bytes at the beginning of `text` that are the UTF-8 of a control character beyond ASCII: one that a
// terminal obeys (U+0080 to U+009F), or that turns the direction of what follows; 0: none.
std::size_t control_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F) return 2;
  if (byte(0) == 0xD8 && byte(1) == 0x9C) return 2;
  if (byte(0) != 0xE2) return 0;
  const unsigned last = byte(2);
  const bool turns = (byte(1) == 0x80 && (last == 0x8E || last == 0x8F || (last >= 0xAA && last <= 0xAE))) ||
                     (byte(1) == 0x81 && last >= 0xA6 && last <= 0xA9);
  return turns ? 3 : 0;
}

}  // namespace

std::string one_line(const std::string& text) {
  std::string line;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (const std::size_t control = control_bytes(std::string_view(text).substr(i)); control > 0) {
      line += ' ', i += control;
      continue;
    }
    line += byte < 0x20 || byte == 0x7f ? ' ' : text[i];
    ++i;
  }
  return line;
}

std::string shown(const nlohmann::json& json) {
  std::string text = json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kShownCharacters) text = text.substr(0, kShownCharacters) + "...";
  return text;
}

std::string shown(const std::string& text) {
  return shown(nlohmann::json(text));
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& known) {
  const std::string compared = name.substr(0, kLongestComparedName);
  return *std::min_element(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(compared, a) < edit_distance(compared, b);
  });
}

bool likely_typo(const std::string& name, const std::string& known) {
  constexpr std::size_t kLettersOfOne = 3;
  const std::string compared = name.substr(0, kLongestComparedName);
  return edit_distance(compared, known) * kLettersOfOne <= compared.size();
}

Place Place::document(std::string file, std::function<nlohmann::ordered_json()> schema) {
  Place place(std::move(file));
  place.schema_ = std::make_shared<const std::function<nlohmann::ordered_json()>>(std::move(schema));
  return place;
}

Place Place::below(const std::string& step) const {
  Place place = *this;
  place.pointer_ += "/" + step;
  return place;
}

Place Place::key(const std::string& name) const {
  std::string escaped;
  for (const char c : name) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return below(escaped);
}

Place Place::item(std::size_t index) const {
  return below(std::to_string(index));
}

std::string Place::located(const std::string& problem) const {
  return one_line(fmt::format("{}: {}: {}", file_, pointer_.empty() ? "/" : pointer_, problem));
}

void Place::fail(const std::string& problem) const {
  throw UserError(located(problem));
}

void Place::refuse(const std::string& value, const std::string& allowed) const {
  fail(fmt::format("{} is not allowed, allowed is {}", value, allowed));
}

void Place::refuse_value(const nlohmann::json& value, const std::string& allowed) const {
  refuse(shown(value), allowed);
}

namespace {

struct KindText {
  const char *name, *use;
};
// By FileKind.
constexpr std::array<KindText, 7> kTexts{
    {{"a hardware file", "it is the value of --config"},
     {"a workload", "it is the value of --layer"},
     {"a mapping", "it is the value of --mapping"},
     {"the report of a run", "`tilebeat report` and `tilebeat compare` read it"},
     {"a sweep", "`tilebeat sweep` runs it"},
     {"a suite", "`tilebeat check` runs it"},
     {"a what-if table", "`tilebeat report --whatif` reads it"}}};

std::optional<FileKind> kind_of(const nlohmann::json& value) {
  if (!value.is_object()) return {};
  const auto has = [&](const char* key) { return value.contains(key); };
  if (has("tilebeat_report")) return FileKind::kReport;
  if (has("tilebeat_mapping")) return FileKind::kMapping;
  if (has("tilebeat_sweep")) return FileKind::kSweep;
  if (has("tilebeat_suite")) return FileKind::kSuite;
  if (has("tilebeat_whatif")) return FileKind::kWhatIf;
  constexpr std::array<const char*, 6> kOfHardware{"clock_mhz", "dataflow",     "dram",
                                                   "chip",      "interconnect", "switch_array"};
  const bool hardware = std::any_of(kOfHardware.begin(), kOfHardware.end(), has);
  if (has("layers")) return has("inputs") && !hardware ? std::optional(FileKind::kWorkload) : std::nullopt;
  return hardware ? std::optional(FileKind::kHardware) : std::nullopt;
}

}  // namespace

void check_file_kind(const nlohmann::json& json, FileKind wanted, const std::string& file) {
  const std::optional<FileKind> kind = kind_of(json);
  if (!kind || *kind == wanted) return;
  const KindText& is = nth(kTexts, *kind);
  throw UserError(one_line(
      fmt::format("{}: is {}, {} is expected here; {}", file, is.name, nth(kTexts, wanted).name, is.use)));
}

}  // namespace tilebeat
