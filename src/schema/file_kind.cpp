#include "tilebeat/schema/file_kind.h"

#include "tilebeat/base/error.h"
#include "tilebeat/schema/place.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilebeat {
namespace {

struct KindText {
  const char *name, *use;
};
// By FileKind.
constexpr std::array<KindText, 5> kTexts{
    {{"a hardware file", "it is the value of --config"},
     {"a workload", "it is the value of --layer"},
     {"a mapping", "it is the value of --mapping"},
     {"the report of a run", "`tilebeat report` and `tilebeat compare` read it"},
     {"a sweep", "`tilebeat sweep` runs it"}}};

std::optional<FileKind> kind_of(const nlohmann::json& json) {
  if (!json.is_object()) return {};
  const auto has = [&](const char* key) { return json.contains(key); };
  if (has("tilebeat_report")) return FileKind::kReport;
  if (has("tilebeat_mapping")) return FileKind::kMapping;
  if (has("tilebeat_sweep")) return FileKind::kSweep;
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
  const KindText& is = kTexts[static_cast<std::size_t>(*kind)];
  throw UserError(one_line(fmt::format("{}: is {}, {} is expected here; {}", file, is.name,
                                       kTexts[static_cast<std::size_t>(wanted)].name, is.use)));
}

}  // namespace tilebeat
