#pragma once

#include "schema/error_list.h"
#include "workload/workload.h"
#include "workload/workload_file.h"

#include <optional>
#include <set>
#include <string>

namespace tilebeat {

/// Adds the layers of `steps`, which stand at `place`, to those of `workload`: for every step a copy of them
/// that is a scene of its own, "step1", "step2" and so on, and so a program (SPEC AT-3). Layer `y` of step 2
/// is called "y.2". Throws UserError.
void expand_steps(const StepsSpec& steps, const Place& place, WorkloadSpec& workload);

/// The first steps of a workload.
struct FirstSteps {
  Workload workload;  ///< without the steps behind them, and what the file expects of these and of the whole
  int all = 0;        ///< steps that the file has
  std::set<std::string> left_out;  ///< names of layers of the other steps
};
/// Reads and checks a workload file as `load_workload` does, and keeps the first `most` of its steps. Throws
/// UserError when it has no more than these.
FirstSteps load_first_steps(const std::string& path, const InputFiles& given, int most);

/// Calls `check`. The UserErrors that it throws for a copy of a layer of a step behind the first one name the
/// step, as the file has the layer once.
template <class Check>
void checked_in_step(const std::optional<OfStep>& of_step, const Check& check) {
  if (!of_step || of_step->step == 1) return check();
  ErrorList errors;
  const auto keep = [&](const std::string& error) {
    errors.attempt([&] { throw UserError(error + ", in step " + std::to_string(of_step->step)); });
  };
  try {
    check();
  } catch (const FileErrors& several) {
    for (const std::string& error : several.all()) keep(error);
  } catch (const UserError& error) {
    keep(error.what());
  }
  errors.raise();
}

}  // namespace tilebeat
