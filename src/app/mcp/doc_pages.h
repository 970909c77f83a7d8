#pragma once

#include <string>
#include <vector>

namespace tilebeat::mcp {

/// A page of docs/.
struct DocPage {
  std::string name;   ///< "whatif.md"
  std::string title;  ///< its first heading
  std::string path;
};

/// The pages that lie beside the program: in share/tilebeat/docs of its installation, in docs/ of a wheel, or
/// in docs/ of the checkout that it was built in. In the order of their names; none where there are none.
std::vector<DocPage> doc_pages();
/// The text of a page, "whatif" or "whatif.md"; of one section of it with "#" and the section's heading or
/// the heading's anchor behind the name. Throws UserError, with the nearest name, where there is none.
std::string read_page(const std::vector<DocPage>& pages, const std::string& name);
/// The sections that have the most of these words, best first, each with its page and the lines where they
/// stand.
std::string search_pages(const std::vector<DocPage>& pages, const std::string& words);

}  // namespace tilebeat::mcp
