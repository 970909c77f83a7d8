#pragma once

#include <string>

namespace tilebeat {

/// The project's version and the revision of the sources, for example "0.1.0 (0123456789ab)"; "unknown"
/// stands for a revision that git did not know when the build was configured.
std::string version_text();
/// Its parts.
std::string version_number();
std::string source_revision();

}  // namespace tilebeat
