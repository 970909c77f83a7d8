#include "app/mcp/doc_pages.h"

#include "app/provenance.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

namespace tilebeat::mcp {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostPageBytes = 1 << 20;

/// A part of a page: a heading, and what stands below it up to the next one.
struct Section {
  std::string heading;  // without its signs
  std::vector<std::string> lines;
};

std::vector<Section> sections_of(const std::string& text) {
  std::vector<Section> sections(1);
  std::istringstream lines(text);
  bool in_code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, 3, "```") == 0) in_code = !in_code;
    const std::size_t signs = line.find_first_not_of('#');
    if (!in_code && signs > 0 && signs != std::string::npos && line[signs] == ' ')
      sections.push_back({line.substr(signs + 1), {}});
    sections.back().lines.push_back(line);
  }
  if (sections.front().lines.empty()) sections.erase(sections.begin());
  return sections;
}

// As GitHub makes it of a heading.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ')
      anchor += '-';
  }
  return anchor;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string section_of(const std::string& page, const std::string& text, const std::string& name) {
  std::vector<std::string> anchors;
  for (const Section& section : sections_of(text)) {
    anchors.push_back(anchor_of(section.heading));
    if (anchors.back() == anchor_of(name)) return fmt::format("{}\n", fmt::join(section.lines, "\n"));
  }
  throw UserError(fmt::format("{} has no section {}, the nearest one is {}", page, shown(name),
                              nearest_name(anchor_of(name), anchors)));
}

// A section that a search has found.
struct Hit {
  std::size_t words = 0, count = 0;  // different words, and all occurrences
  std::string text;
};

Hit hit_of(const DocPage& page, const Section& section, const std::vector<std::string>& words) {
  Hit hit;
  hit.text = fmt::format("{}#{}\n", page.name, anchor_of(section.heading));
  std::set<std::string> found;
  constexpr std::size_t kMostLines = 3, kMostCharacters = 300;
  std::size_t shown_lines = 0;
  for (const std::string& line : section.lines) {
    const std::string small = lower(line);
    const std::size_t before = hit.count;
    for (const std::string& word : words) {
      if (small.find(word) == std::string::npos) continue;
      found.insert(word), ++hit.count;
    }
    if (hit.count == before || shown_lines++ >= kMostLines) continue;
    hit.text +=
        fmt::format("  {}{}\n", line.substr(0, kMostCharacters), line.size() > kMostCharacters ? " ..." : "");
  }
  hit.words = found.size();
  return hit;
}

}  // namespace

std::vector<DocPage> doc_pages() {
  std::vector<DocPage> pages;
  const fs::path program = fs::path(own_path()).parent_path();
  for (const char* place : {"../share/tilebeat/docs", "docs", "../docs"}) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(program / place, ignored)) {
      if (entry.path().extension() != ".md") continue;
      DocPage page{entry.path().filename().string(), "", entry.path().lexically_normal().string()};
      const std::vector<Section> sections = sections_of(read_file(page.path, kMostPageBytes));
      page.title = sections.empty() ? page.name : sections.front().heading;
      pages.push_back(std::move(page));
    }
    if (!pages.empty()) break;
  }
  std::sort(pages.begin(), pages.end(), [](const DocPage& a, const DocPage& b) { return a.name < b.name; });
  return pages;
}

std::string read_page(const std::vector<DocPage>& pages, const std::string& name) {
  const std::size_t hash = name.find('#');
  std::string file = name.substr(0, hash);
  if (fs::path(file).extension() != ".md") file += ".md";
  const auto page =
      std::find_if(pages.begin(), pages.end(), [&](const DocPage& p) { return p.name == file; });
  if (page == pages.end()) {
    if (pages.empty()) throw UserError("no pages are installed with the program");
    std::vector<std::string> names;
    for (const DocPage& known : pages) names.push_back(known.name);
    throw UserError(
        fmt::format("there is no page {}, the nearest one is {}", shown(file), nearest_name(file, names)));
  }
  const std::string text = read_file(page->path, kMostPageBytes);
  return hash == std::string::npos ? text : section_of(page->name, text, name.substr(hash + 1));
}

std::string search_pages(const std::vector<DocPage>& pages, const std::string& words) {
  std::vector<std::string> wanted;
  std::istringstream stream(lower(words));
  for (std::string word; stream >> word;) wanted.push_back(word);
  std::vector<Hit> hits;
  for (const DocPage& page : pages) {
    for (const Section& section : sections_of(read_file(page.path, kMostPageBytes))) {
      Hit hit = hit_of(page, section, wanted);
      if (hit.words > 0) hits.push_back(std::move(hit));
    }
  }
  std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return a.words != b.words ? a.words > b.words : a.count > b.count;
  });
  constexpr std::size_t kMostHits = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(hits.size(), kMostHits); ++i) text += hits[i].text;
  return text.empty() ? "no page has any of these words\n" : text;
}

}  // namespace tilebeat::mcp
