#pragma once

#include "observe/trace.h"

#include <string>
#include <vector>

namespace tilebeat {

/// Throws std::logic_error where the name or a part of the scope is no identifier of IEEE 1364 (3.7).
void check_identifiers(const SignalInfo& info);

/// The signals by their paths: scope by scope, natural order within one. Throws std::logic_error where a path
/// is a scope and a variable, or two variables: viewers and converters disagree about what is both.
std::vector<SignalId> ordered_by_path(const std::vector<SignalInfo>& signals);

/// The outermost scope of a signal.
std::string outermost_scope(const SignalInfo& signal);

}  // namespace tilebeat
