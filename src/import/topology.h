#pragma once

#include "import/imported.h"

#include <string>

namespace tilebeat {

/// A topology of SCALE-Sim as a workload (docs/networks.md): a line is a layer with an input of its own, all
/// elements are random. `text` is the file's, `path` its name in messages. Throws UserError with the line,
/// the column and the value of the first wrong entry.
ImportedNetwork import_topology(const std::string& text, const std::string& path,
                                const ImportOptions& options);

}  // namespace tilebeat
