#pragma once

#include <string>

namespace tilebeat::page {

/// A page from its first byte to its heading; `title` is HTML, `style` further rules.
std::string opening(const std::string& title, const std::string& style = "");
/// The end of a page.
constexpr const char* kClosing = "</body>\n</html>\n";

}  // namespace tilebeat::page
