#pragma once

#include "app/suite_file.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat {

/// One value that is another than the stored one.
struct SuiteDifference {
  std::string run;    ///< or the name of a configuration
  std::string place;  ///< "total", "layer NAME", "output NAME", "configuration"
  std::string field;
  std::string before, after;
  std::optional<double> percent;  ///< of numbers: the change, of the stored one

  /// All of it in a line.
  std::string text() const;
};

/// What a suite stores of a run: the numbers of its report, which has passed `check_report`, and the SHA-256
/// of the outputs, which lie in `outputs`. Throws UserError when one of them cannot be read.
StoredRun stored_run(const nlohmann::ordered_json& report, const std::string& outputs);
/// The effective configuration of a report.
StoredConfiguration stored_configuration(const nlohmann::ordered_json& report);

/// What of `now` is not as `before`, as far as `tolerances` do not allow it: totals, layers, outputs, each in
/// the order of their names.
std::vector<SuiteDifference> differences(const std::string& run, const StoredRun& before,
                                         const StoredRun& now, const SuiteTolerances& tolerances);
/// The values of a configuration that are others, or not there any more. New ones, as a later version has,
/// are no difference.
std::vector<SuiteDifference> differences(const std::string& name, const StoredConfiguration& before,
                                         const StoredConfiguration& now);

/// What a suite tells of a run or a configuration.
struct SuiteCase {
  std::string group, name;  ///< the configuration; the rest of the run's name, or another one in parentheses
  std::vector<SuiteDifference> differences;
  std::string error;  ///< why there is nothing to compare; empty: nothing
};

/// The cases as JUnit XML, as GitLab, Jenkins and GitHub read it, without times. Same cases, same bytes.
std::string junit_text(const std::string& suite, const std::vector<SuiteCase>& cases);

}  // namespace tilebeat
