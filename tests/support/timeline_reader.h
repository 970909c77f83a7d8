#pragma once

// A reader of timelines in the Chrome trace-event format, as strict as Perfetto (SPEC UI-7): it throws
// std::runtime_error for whatever a viewer would drop or show wrong.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace tilebeat::testing {

struct TimelineSlice {
  std::int64_t begin, end;
  std::string name;
  nlohmann::json args;
};

/// Slices and counters by `process/track` and `process/counter`.
struct ReadTimeline {
  std::map<std::string, std::vector<TimelineSlice>> tracks;
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> counters;
  std::vector<std::string> order;  ///< of the tracks, as a viewer sorts them
  bool complete = true;

  /// The cycles of a track by what it does.
  std::map<std::string, std::int64_t> cycles(const std::string& track) const {
    std::map<std::string, std::int64_t> sums;
    for (const TimelineSlice& slice : tracks.at(track))
      sums[slice.name] += slice.args.contains("own_clocks") ? slice.args.at("own_clocks").get<std::int64_t>()
                                                            : slice.end - slice.begin;
    return sums;
  }
  /// What a counter's rate sums to.
  double sum(const std::string& counter) const {
    const auto& samples = counters.at(counter);
    double sum = 0;
    for (std::size_t i = 0; i + 1 < samples.size(); ++i)
      sum += samples[i].second * static_cast<double>(samples[i + 1].first - samples[i].first);
    if (samples.back().second != 0) throw std::runtime_error(counter + " never ends");
    return sum;
  }
};

inline ReadTimeline read_timeline(const std::string& text) {
  const nlohmann::json file = nlohmann::json::parse(text);
  ReadTimeline read;
  read.complete = file.at("otherData").at("complete") == "yes";
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  std::map<std::pair<int, int>, std::pair<int, std::string>> sorted;
  for (const auto& event : file.at("traceEvents")) {
    const int pid = event.at("pid");
    if (event.at("ph") != "M") continue;
    if (event.at("name") == "process_name" && !processes.emplace(pid, event.at("args").at("name")).second)
      throw std::runtime_error("a process has two names");
    if (event.at("name") == "thread_name")
      if (!threads.emplace(std::pair(pid, event.at("tid")), event.at("args").at("name")).second)
        throw std::runtime_error("a track has two names");
    if (event.at("name") == "thread_sort_index")
      sorted[{pid, event.at("args").at("sort_index")}] = {event.at("tid"), ""};
  }
  for (const auto& [place, thread] : sorted)
    read.order.push_back(processes.at(place.first) + "/" + threads.at({place.first, thread.first}));
  for (const auto& [key, name] : threads) read.tracks[processes.at(key.first) + "/" + name];
  if (read.tracks.size() != threads.size()) throw std::runtime_error("two tracks have one name");
  for (const auto& event : file.at("traceEvents")) {
    const int pid = event.at("pid");
    const std::string phase = event.at("ph");
    if (phase == "C") {
      const std::string name = processes.at(pid) + "/" + event.at("name").get<std::string>();
      auto& samples = read.counters[name];
      const std::int64_t at = event.at("ts").get<std::int64_t>();
      if (!samples.empty() && samples.back().first >= at) throw std::runtime_error(name + " goes back");
      samples.emplace_back(at, event.at("args").begin().value().get<double>());
    } else if (phase == "X") {
      if (!event.at("ts").is_number_integer() || !event.at("dur").is_number_integer() || event.at("dur") < 0)
        throw std::runtime_error("times are whole");
      const std::int64_t begin = event.at("ts"), end = begin + event.at("dur").get<std::int64_t>();
      read.tracks.at(processes.at(pid) + "/" + threads.at({pid, event.at("tid")}))
          .push_back({begin, end, event.at("name"), event.value("args", nlohmann::json::object())});
    } else if (phase != "M") {
      throw std::runtime_error("an unknown phase " + phase);
    }
  }
  for (auto& [name, slices] : read.tracks) {
    std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
      return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
    });
    for (std::size_t i = 1; i < slices.size(); ++i) {
      if (slices[i].begin < slices[i - 1].end) throw std::runtime_error(name + ": slices overlap");
    }
  }
  return read;
}

}  // namespace tilebeat::testing
