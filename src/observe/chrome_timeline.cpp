#include "tilebeat/observe/chrome_timeline.h"

#include <algorithm>
#include <map>
#include <tuple>

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
  std::map<std::string, int> tracks;
  for (const Span& span : spans_) tracks.emplace(span.track, 0);
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  text += R"({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "tilebeat"}})";
  int next = 1;
  for (auto& [name, id] : tracks) {
    id = next++;
    text += fmt::format(
        ",\n{{\"ph\": \"M\", \"pid\": 1, \"tid\": {}, \"name\": \"thread_name\", \"args\": {{\"name\": "
        "\"{}\"}}}}",
        id, escaped(name));
  }
  for (const Span& span : spans_) {
    text += fmt::format(
        ",\n{{\"ph\": \"X\", \"pid\": 1, \"tid\": {}, \"name\": \"{}\", \"ts\": {}, \"dur\": {}}}",
        tracks[span.track], escaped(span.what), microseconds(span.begin),
        microseconds(span.end - span.begin));
  }
  return text + "\n]}\n";
}

}  // namespace tilebeat
