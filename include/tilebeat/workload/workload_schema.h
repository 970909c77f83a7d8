#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tilebeat {

/// The JSON Schema (draft-07) of workload files (SPEC UI-6); `schema_markdown` makes a table of it.
nlohmann::ordered_json workload_schema();

}  // namespace tilebeat
