#pragma once

#include "observe/activity_tracks.h"
#include "observe/timeline.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// The place of an instruction in a network.
struct WorkPlace {
  std::string_view layer;
  int tile = 0;  ///< number of earlier instructions of its kind in the layer's program of this processor
};

/// The options of a timeline.
struct TimelineOptions {
  std::string system = "soc";    ///< name of the modules outside clusters
  Picoseconds clock_period = 0;  ///< of the NPU clock
  std::int64_t peak_macs = 1;    ///< multiply-accumulates of a core in a cycle
  std::int64_t max_bytes = std::int64_t{48} << 20;
  std::function<Picoseconds()> now;  ///< simulated time
  /// The place of the instruction at an address; may be empty.
  std::function<std::optional<WorkPlace>(std::uint64_t)> place_of;
};

/// Collects a timeline and writes it in the Chrome trace-event format, which Perfetto opens (SPEC UI-7). A
/// microsecond there is a cycle of the NPU, so that all numbers are whole. A process is a cluster, or the
/// part outside clusters; its tracks are sorted by name, so that those of a core are together. Slices of a
/// track follow one another: overlapping slices go to further tracks `track (2)`.
///
/// Slices without an instruction, the bursts of buses, are shown only when there is room for all of them. The
/// file never grows beyond `max_bytes`, and memory stays below it: the activities of a long run are joined
/// into windows, its counters into longer ones, and when the slices alone reach their share, recording ends
/// with the present cycle.
class ChromeTimeline : public Timeline {
 public:
  explicit ChromeTimeline(TimelineOptions options);

  void slice(const std::string& track, const Slice& slice) override;
  ActivityListener& activities(const std::string& module, Picoseconds period) override;
  CounterId add_counter(const CounterInfo& info) override;
  void count(CounterId counter, Picoseconds begin, Picoseconds end, std::int64_t amount) override;
  void level(CounterId counter, Picoseconds at, std::int64_t value) override;

  /// The track of the layers, which is shown even after the timeline has ended.
  static constexpr const char* kLayers = "layers";

  /// Writes the whole file, piece by piece; the run ends with cycle `end`.
  void write(Cycle end, const std::function<void(std::string_view)>& sink);
  /// The last recorded cycle; none: everything was recorded.
  std::optional<Cycle> ended_at() const { return ended_at_; }

 private:
  struct StoredSlice {
    Cycle begin, end;
    std::uint32_t what;                  // index into texts_
    std::optional<std::uint32_t> layer;  // index into texts_
    std::optional<int> tile;
    std::optional<std::int64_t> bytes, macs;
  };
  struct ActivityRow {
    std::string module;
    Picoseconds period;
    ActivityTrack* track;
  };
  // A track of the file: slices, or activities.
  struct Row {
    int process;
    std::string name;
    std::vector<StoredSlice> slices;
    const ActivityRow* activities;
  };

  bool takes();
  void spend(std::int64_t bytes);
  std::uint32_t text(std::string_view text);
  void add_burst(const std::string& track, const Slice& slice);
  Cycle cycle(Picoseconds at) const { return at / options_.clock_period; }
  std::vector<Row> rows();
  void add_slice_rows(const std::string& track, std::vector<StoredSlice>& slices,
                      std::vector<Row>& rows) const;
  std::string header(const std::vector<Row>& rows) const;
  std::string event(const StoredSlice& slice) const;
  void write_row(const Row& row, int number, Cycle end,
                 const std::function<void(std::string_view)>& sink) const;
  void write_counters(const std::function<void(std::string_view)>& sink);

  TimelineOptions options_;
  std::int64_t slice_bytes_ = 0;
  std::optional<Cycle> ended_at_;
  std::map<std::string, std::vector<StoredSlice>> slices_;  // by track
  std::map<std::string, std::vector<StoredSlice>> bursts_;  // by track; all dropped when there is no room
  std::int64_t burst_bytes_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> text_numbers_;
  std::vector<std::string> texts_;
  ActivityTracks tracks_;
  std::deque<ActivityRow> activities_;
  std::vector<CounterTrack> counters_;
};

}  // namespace tilebeat
