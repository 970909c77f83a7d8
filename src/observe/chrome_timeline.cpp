#include "tilebeat/observe/chrome_timeline.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

// Picoseconds as microseconds, exactly.
std::string microseconds(Picoseconds ps) {
  return fmt::format("{}.{:06}", ps / 1000000, ps % 1000000);
}

}  // namespace

std::string ChromeTimeline::json() {
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
    return std::tie(a.track, a.begin, a.end, a.what) < std::tie(b.track, b.begin, b.end, b.what);
  });
  // Viewers drop spans of a row that overlap without one containing the other: each goes to the first row of
  // its track that is free.
  std::map<std::pair<std::string, std::size_t>, int> rows;  // by track and number
  std::vector<std::size_t> row_of;                          // by span
  std::vector<Picoseconds> busy_until;
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const Span& span = spans_[i];
    if (i == 0 || span.track != spans_[i - 1].track) busy_until.clear();
    const auto free = std::find_if(busy_until.begin(), busy_until.end(),
                                   [&](Picoseconds end) { return end <= span.begin; });
    row_of.push_back(static_cast<std::size_t>(free - busy_until.begin()));
    if (free == busy_until.end())
      busy_until.push_back(span.end);
    else
      *free = span.end;
    rows.emplace(std::pair(span.track, row_of.back()), 0);
  }
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  text += R"({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "tilebeat"}})";
  int next = 1;
  for (auto& [row, id] : rows) {
    id = next++;
    const std::string name = row.second == 0 ? row.first : fmt::format("{} ({})", row.first, row.second + 1);
    text += fmt::format(
        ",\n{{\"ph\": \"M\", \"pid\": 1, \"tid\": {}, \"name\": \"thread_name\", \"args\": {{\"name\": "
        "\"{}\"}}}}",
        id, escaped(name));
  }
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    const Span& span = spans_[i];
    text += fmt::format(
        ",\n{{\"ph\": \"X\", \"pid\": 1, \"tid\": {}, \"name\": \"{}\", \"ts\": {}, \"dur\": {}}}",
        rows[{span.track, row_of[i]}], escaped(span.what), microseconds(span.begin),
        microseconds(span.end - span.begin));
  }
  return text + "\n]}\n";
}

}  // namespace tilebeat
