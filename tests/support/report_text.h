#pragma once

#include "report/report.h"

#include <string>
#include <string_view>

namespace tilebeat::testing {

/// The report file of a result, without its provenance.
inline std::string report_text(const RunResult& run, const nlohmann::ordered_json& hardware) {
  std::string text;
  write_report(run, hardware, nullptr, [&text](std::string_view part) { text += part; });
  return text;
}

}  // namespace tilebeat::testing
