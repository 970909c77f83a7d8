#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/engines/offset_table/schedule.h"
#include "tilebeat/engines/offset_table/tables.h"
#include "tilebeat/fabric/burst_port.h"
#include "tilebeat/sim/context.h"
#include "tilebeat/sim/next_clock.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace tilebeat::offset_table {

/// What the table cache counts.
struct TableStats {
  std::int64_t loads = 0;           ///< of tables that are as a whole in the cache
  std::int64_t reused = 0;          ///< runs whose tables were there already
  std::int64_t loaded_bytes = 0;    ///< all of them
  std::int64_t streamed_bytes = 0;  ///< of tables that pass through halves
  std::int64_t largest_bytes = 0;   ///< of the tables of one map
};

/// The table cache (SPEC OT-3, OT-6): tables of addresses on the chip, and the port by which they come from
/// DRAM.
///
/// Tables that fit are loaded once and stay until others are asked for. Of larger ones the displacements of
/// groups, and the distances of taps, are held; the rest of the cache is divided between offsets and records
/// of threads, of which the smaller part is held as a whole when it takes no more than half. What does not
/// fit its share streams through the two halves of it: the next part is requested in the cycle after the one
/// that lay in its half was used for the last time.
///
/// Throughput: one burst a cycle is requested. Latency: a byte can be used in the cycle after the response.
/// Back-pressure: `max_outstanding` bursts are under way.
class TableMemory {
 public:
  BurstPort port;
  TableStats stats;

  TableMemory(const char* name, const SimContext& context, int table_bytes, const DmaConfig& dma,
              sc_core::sc_event& changed);

  /// What a run needs of the tables whose image lies at `address`: records of the threads in order, `rows` at
  /// a time; for each time the offsets of every slice, by segment. Nothing is requested before cycle `from`.
  /// Throws SimulationError when not even a part fits.
  void begin(std::uint64_t address, const ImageLayout& image, const TableShape& shape,
             const OffsetSchedule& schedule, int rows, Cycle from);
  /// The first cycle in which the records of group `group` of threads, and the offsets of beat number `beat`
  /// of a slice, are there; none: not known yet. Both go forward alone. `used` is the cycle after the last
  /// use of what came before.
  std::optional<Cycle> threads_from(std::int64_t group, Cycle used);
  std::optional<Cycle> offsets_from(std::int64_t group, std::size_t slice, const Beat& beat, Cycle used);

  /// Offsets that are there stay while the run goes on.
  bool offsets_stay() const { return held_ || offsets_.held; }

  /// The image; what is not in the cache has no meaning.
  const std::uint8_t* bytes() const { return image_.data(); }

  /// Takes responses and sends a request; `idle` is booked while nothing is asked for.
  void step(Cycle now, Activity idle);
  void schedule(NextClock& next) const;

 private:
  struct Range {
    std::int64_t begin = 0, end = 0;  // bytes of the image
  };
  // Parts of the image that are used one after the other. One that is held has a single part.
  struct Stream {
    bool held = true;
    std::vector<Range> parts;                  // repeated until `total`
    std::int64_t total = 0;                    // parts that are used
    std::int64_t wanted = 0;                   // that were asked for
    std::int64_t current = 0;                  // that is used
    std::deque<std::optional<Cycle>> arrived;  // from `current` on
  };
  struct Request {
    Range range;
    std::int64_t requested = 0, received = 0;
    Cycle from = 0;
    Stream* stream = nullptr;
    std::int64_t number = 0;  // part of the stream
  };
  void hold_all(std::uint64_t address, const ImageLayout& image, Cycle from);
  void divide(const ImageLayout& image, const OffsetSchedule& schedule, int rows, std::int64_t groups);
  void want(Stream& stream, Cycle from);
  void request_range(Range range, Stream& stream, std::int64_t number, Cycle from);
  std::optional<Cycle> forward(Stream& stream, std::int64_t part, Cycle used);

  std::int64_t table_bytes_;
  int burst_bytes_;
  std::vector<std::uint8_t> image_;
  std::optional<std::uint64_t> held_;  // the tables that are in the cache as a whole
  Stream threads_, offsets_, rest_;
  std::int64_t groups_of_part_ = 1;       // of threads
  std::int64_t segments_of_part_ = 1;     // of offsets
  std::vector<std::int64_t> first_part_;  // by slice, of offsets
  std::vector<int> first_entry_;          // by slice
  int taps_ = 1;
  std::deque<Request> requests_;
  std::uint64_t address_ = 0;
};

}  // namespace tilebeat::offset_table
