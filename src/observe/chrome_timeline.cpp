#include "observe/chrome_timeline.h"

#include "observe/trace.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// Shares of the file in per cent; the rest is for events that name tracks and processes.
constexpr std::int64_t kSliceShare = 30, kBurstShare = 15, kActivityShare = 40, kCounterShare = 10;
// Upper bounds of the bytes of an event in the file.
constexpr std::int64_t kActivityBytes = 110, kCounterBytes = 140, kRowBytes = 260, kSliceBytes = 190;

using Sink = std::function<void(std::string_view)>;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

// A module within the process of its cluster: 0 is outside clusters, k + 1 is cluster k.
struct Place {
  int process = 0;
  std::string name;
};

Place place_of(const std::string& module) {
  constexpr std::string_view kCluster = "cluster";
  const std::size_t dot = module.find('.');
  if (module.compare(0, kCluster.size(), kCluster) != 0 || dot == std::string::npos) return {0, module};
  int cluster = 0;
  for (std::size_t i = kCluster.size(); i < dot; ++i) {
    if (module[i] < '0' || module[i] > '9') return {0, module};
    cluster = cluster * 10 + (module[i] - '0');
  }
  return {cluster + 1, module.substr(dot + 1)};
}

// An event that names or sorts a process or a track.
std::string metadata(int process, int thread, std::string_view what, const std::string& args) {
  return fmt::format(",\n{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{{}}}}}", process,
                     thread, what, args);
}

}  // namespace

ChromeTimeline::ChromeTimeline(TimelineOptions options)
    : options_(std::move(options)), tracks_(options_.max_bytes * kActivityShare / 100 / kActivityBytes) {}

// All records of the cycle in which the limit is reached are still taken, so that the order of modules within
// the cycle does not matter.
bool ChromeTimeline::takes() {
  if (!over_ && ended_at_ && cycle(options_.now()) > *ended_at_) {
    over_ = true;
    tracks_.stop();
  }
  return !over_;
}

void ChromeTimeline::spend(std::int64_t bytes) {
  slice_bytes_ += bytes;
  if (!ended_at_ && slice_bytes_ > options_.max_bytes * kSliceShare / 100) ended_at_ = cycle(options_.now());
}

std::uint32_t ChromeTimeline::text(std::string_view text) {
  const auto known = text_numbers_.find(text);
  if (known != text_numbers_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(escaped(text));
  text_numbers_.emplace(text, number);
  return number;
}

void ChromeTimeline::slice(const std::string& track, const Slice& slice) {
  if (!takes() && track != kLayers) return;
  if (!slice.instruction && track != kLayers) return add_burst(track, slice);
  StoredSlice stored{cycle(slice.begin), cycle(slice.end), text(slice.what), {}, {}, slice.bytes, slice.macs};
  if (slice.instruction && options_.place_of) {
    if (const std::optional<WorkPlace> place = options_.place_of(*slice.instruction)) {
      stored.layer = text(place->layer);
      stored.tile = place->tile;
    }
  }
  std::vector<StoredSlice>& all = slices_[track];
  if (all.empty()) spend(kRowBytes);
  all.push_back(stored);
  spend(kSliceBytes + ssize(texts_[stored.what]) +
        (stored.layer ? to_signed(texts_[*stored.layer].size()) : 0));
}

// Keeps all bursts or none: a part of them would depend on the order in which they are recorded.
void ChromeTimeline::add_burst(const std::string& track, const Slice& slice) {
  const std::int64_t most = options_.max_bytes * kBurstShare / 100;
  if (burst_bytes_ > most) return;
  std::vector<StoredSlice>& all = bursts_[track];
  all.push_back({cycle(slice.begin), cycle(slice.end), text(slice.what), {}, {}, slice.bytes, slice.macs});
  // An upper bound: each slice is charged for a track of its own.
  burst_bytes_ += kSliceBytes + kRowBytes + ssize(slice.what);
  if (burst_bytes_ > most) bursts_.clear();
}

ActivityListener& ChromeTimeline::activities(const std::string& module, Picoseconds period) {
  ActivityTrack& track = tracks_.add();
  activities_.push_back({module, period, &track});
  spend(kRowBytes);
  return track;
}

CounterId ChromeTimeline::add_counter(const CounterInfo& info) {
  counters_.emplace_back(info, options_.clock_period);
  return static_cast<CounterId>(counters_.size()) - 1;
}

void ChromeTimeline::count(CounterId counter, Picoseconds begin, Picoseconds end, std::int64_t amount) {
  if (takes()) nth(counters_, counter).count(begin, end, amount);
}

void ChromeTimeline::level(CounterId counter, Picoseconds at, std::int64_t value) {
  if (takes()) nth(counters_, counter).level(at, value);
}

// Viewers drop overlapping slices on a row unless one contains the other: each slice goes to the first free
// row of its track.
void ChromeTimeline::add_slice_rows(const std::string& track, std::vector<StoredSlice>& slices,
                                    std::vector<Row>& rows) const {
  std::sort(slices.begin(), slices.end(), [&](const StoredSlice& a, const StoredSlice& b) {
    return std::tie(a.begin, a.end, texts_[a.what], a.tile, a.bytes, a.macs) <
           std::tie(b.begin, b.end, texts_[b.what], b.tile, b.bytes, b.macs);
  });
  const Place place = place_of(track);
  const std::size_t first = rows.size();
  for (const StoredSlice& slice : slices) {
    const auto free = std::find_if(rows.begin() + to_signed(first), rows.end(),
                                   [&](const Row& row) { return row.slices.back().end <= slice.begin; });
    if (free != rows.end()) {
      free->slices.push_back(slice);
      continue;
    }
    const std::size_t number = rows.size() - first + 1;
    const std::string name = number == 1 ? place.name : fmt::format("{} ({})", place.name, number);
    rows.push_back({place.process, name, {slice}, nullptr});
  }
}

std::vector<ChromeTimeline::Row> ChromeTimeline::rows() {
  std::vector<Row> rows;
  for (auto& [track, slices] : slices_) add_slice_rows(track, slices, rows);
  for (auto& [track, bursts] : bursts_) add_slice_rows(track, bursts, rows);
  for (const ActivityRow& activities : activities_) {
    const Place place = place_of(activities.module);
    rows.push_back({place.process, place.name + " state", {}, &activities});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.process != b.process) return a.process < b.process;
    const bool layers = a.name == kLayers;
    if (layers != (b.name == kLayers)) return layers;
    return natural_less(a.name, b.name);
  });
  return rows;
}

std::string ChromeTimeline::header(const std::vector<Row>& rows) const {
  std::string text = fmt::format(
      "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"unit\":\"1 us is 1 cycle of the "
      "NPU\",\"clock_ps\":\"{}\","
      "\"activity_window_cycles\":\"{}\",\"bursts\":\"{}\",\"complete\":\"{}\"}},\n\"traceEvents\":[\n",
      options_.clock_period, tracks_.window(), bursts_.empty() ? "no" : "yes", ended_at_ ? "no" : "yes");
  text += fmt::format(
      "{{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{{\"name\":\"{}\"}}}}",
      escaped(options_.system));
  int process = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (row.process != process) {
      process = row.process;
      text += metadata(process + 1, 0, "process_name", fmt::format("\"name\":\"cluster{}\"", process - 1));
      text += metadata(process + 1, 0, "process_sort_index", fmt::format("\"sort_index\":{}", process + 1));
    }
    const int thread = to_int(i) + 1;
    text += metadata(process + 1, thread, "thread_name", fmt::format("\"name\":\"{}\"", escaped(row.name)));
    text += metadata(process + 1, thread, "thread_sort_index", fmt::format("\"sort_index\":{}", thread));
  }
  return text;
}

std::string ChromeTimeline::event(const StoredSlice& slice) const {
  std::string args;
  if (slice.layer) args += fmt::format("\"layer\":\"{}\",", texts_[*slice.layer]);
  if (slice.tile) args += fmt::format("\"tile\":{},", *slice.tile);
  if (slice.bytes) args += fmt::format("\"bytes\":{},", *slice.bytes);
  if (slice.macs) args += fmt::format("\"macs\":{},", *slice.macs);
  return fmt::format("\"name\":\"{}\",\"args\":{{{}\"clocks\":{}}}", texts_[slice.what], args,
                     slice.end - slice.begin);
}

void ChromeTimeline::write_row(const Row& row, int number, Cycle run_end, const Sink& sink) const {
  const auto begin_event = [&](Cycle begin, Cycle end) {
    return fmt::format(",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},", row.process + 1,
                       number, begin, end - begin);
  };
  for (const StoredSlice& slice : row.slices) sink(begin_event(slice.begin, slice.end) + event(slice) + "}");
  if (row.activities == nullptr) return;
  const Picoseconds period = row.activities->period;
  const bool own_clock = period != options_.clock_period;
  // Units work for some cycles after the last layer; reports end with the layer.
  const Cycle last = run_end * options_.clock_period / period;
  row.activities->track->for_each([&](Activity activity, Cycle begin, Cycle end) {
    end = std::min(end, last);
    if (begin >= end) return;
    std::string text = begin_event(cycle(begin * period), cycle(end * period));
    text += fmt::format("\"name\":\"{}\"", activity_name(activity));
    // Modules with a clock of their own also show their own cycles, which are not whole cycles of the viewer.
    if (own_clock) text += fmt::format(",\"args\":{{\"own_clocks\":{}}}", end - begin);
    sink(text + "}");
  });
}

void ChromeTimeline::write_counters(const Sink& sink) {
  const std::int64_t room = options_.max_bytes * kCounterShare / 100 / kCounterBytes;
  const auto share = to_size(room) / std::max<std::size_t>(counters_.size(), 1);
  std::vector<CounterTrack*> sorted;
  for (CounterTrack& counter : counters_) sorted.push_back(&counter);
  std::sort(sorted.begin(), sorted.end(), [](const CounterTrack* a, const CounterTrack* b) {
    return natural_less(a->info().module + " " + a->info().name, b->info().module + " " + b->info().name);
  });
  for (CounterTrack* counter : sorted) {
    counter->limit(share);
    const CounterInfo& info = counter->info();
    const Place place = place_of(info.module);
    const bool work = info.kind == CounterInfo::Kind::kWork;
    counter->for_each([&](Cycle at, double value) {
      if (work) value *= 100.0 / static_cast<double>(options_.peak_macs);
      sink(fmt::format(",\n{{\"ph\":\"C\",\"pid\":{},\"ts\":{},\"name\":\"{} {}\",\"args\":{{\"{}\":{}}}}}",
                       place.process + 1, at, escaped(place.name), info.name, info.unit, value));
    });
  }
}

void ChromeTimeline::write(Cycle end, const Sink& sink) {
  tracks_.finish();
  if (ended_at_) {
    const Cycle at = *ended_at_;
    slices_["timeline"].push_back(
        {at, at + 1, text(fmt::format("ends here: limit of {} bytes", options_.max_bytes)), {}, {}, {}, {}});
  }
  const std::vector<Row> all = rows();
  sink(header(all));
  for (std::size_t i = 0; i < all.size(); ++i) write_row(all[i], to_int(i) + 1, end, sink);
  write_counters(sink);
  sink("\n]}\n");
}

}  // namespace tilebeat
