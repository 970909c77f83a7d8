#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// A report that is shown on a page.
struct PageReport {
  std::string file;               ///< its name, as the reader knows it
  nlohmann::ordered_json report;  ///< has passed `check_report`
};

/// One self-contained HTML page about one or several runs (SPEC UI-8): totals, what limits each of them, the
/// chip, the layers, the roofline; several runs side by side. It reads nothing else, neither from the network
/// nor from disk, and needs no script. Same reports, same bytes.
///
/// An element that shows a number of a report has its exact value in `data-value` and its place in `data-at`,
/// `RUN:POINTER` with the number of the report, from 0, and the JSON pointer into it. What is computed from
/// such numbers has a name in `data-of`, `RUN:NAME`, instead.
///
/// `reports` is not empty. Throws UserError that names the file and the JSON path of a field of the
/// configuration that the page needs and the report lacks.
std::string report_page(const std::vector<PageReport>& reports);

}  // namespace tilebeat
