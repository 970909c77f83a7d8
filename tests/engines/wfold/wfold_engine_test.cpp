// The W-fold engine with its two storages on a small bus: requests, lines, results, back-pressure, refusals
// (SPEC WF-2, WF-5, WF-7, WF-8, CY-2, UI-5).
#include "tilebeat/engines/switch_array/operations.h"
#include "tilebeat/engines/wfold/config.h"
#include "tilebeat/engines/wfold/operations.h"
#include "tilebeat/engines/wfold/sim/engine.h"
#include "tilebeat/fabric/interconnect.h"
#include "tilebeat/fabric/scratchpad.h"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit_driver.h"
#include "wfold_formulas.h"

namespace tilebeat::testing {
namespace {

using ::testing::HasSubstr;

constexpr Picoseconds kPeriod = 1000;
constexpr std::uint64_t kNram = std::uint64_t{1} << 42;
constexpr std::int64_t kNramBytes = 1 << 18, kRegionBytes = 1 << 14;
constexpr std::uint32_t kResult = 1 << 17;  // of NRAM, behind the map
constexpr Cycle kSent = 10, kFirst = kSent + 1, kEnd = 60000;

/// What one run on a core's engine did.
struct EngineRun {
  WfoldStats master;
  LineReaderStats reader;
  WfoldWriterStats writer;
  ActivityCycles beats{}, ports{}, broadcast{}, read{}, drain{}, write{};
  Cycle released = -1, done = -1;
  std::vector<std::int32_t> outputs;  // [row][column][kernel]
};

/// A core of the W-fold engine; the map, the kernels and the registers of a dense or strided convolution.
struct EngineCase {
  WfoldConfig config;
  InterconnectConfig bus{64, 1, 1, 16};
  int max_outstanding = 8;
  SpecConv conv;
  int pci = 16;
  WfoldReadMode mode = WfoldReadMode::kContinuous;
  DType output_type = DType::kInt32;
  int result_granularity = 64;

  SpecWfold engine() const {
    return {config.slaves, config.compute_units, config.line_bytes, config.first_buffer_lines,
            config.second_buffer_lines};
  }
  int element() const { return dtype_size(output_type); }
  std::int32_t x(int h, int w, int c) const {
    if (h < 0 || w < 0 || h >= conv.height || w >= conv.width) return 0;
    return (h * 37 + w * 11 + c * 5 + h * w) % 19 - 9;
  }
  std::int32_t weight(int co, int kh, int kw, int c) const {
    return (co * 13 + kh * 7 + kw * 3 + c * 2 + co * c) % 17 - 8;
  }
  std::int32_t output(int ho, int wo, int co) const {
    std::int32_t sum = 0;
    for (int kh = 0; kh < conv.kernel[0]; ++kh) {
      for (int kw = 0; kw < conv.kernel[1]; ++kw) {
        for (int c = 0; c < conv.channels; ++c) {
          sum += weight(co, kh, kw, c) * x(ho * conv.stride[0] + kh * conv.dilation[0] - conv.pad[0],
                                           wo * conv.stride[1] + kw * conv.dilation[1] - conv.pad[1], c);
        }
      }
    }
    return output_type == DType::kInt32 ? sum : std::clamp(sum, -128, 127);
  }
  ConvSetup setup() const {
    ConvSetup s;
    s.kernel_h = static_cast<std::uint16_t>(conv.kernel[0]),
    s.kernel_w = static_cast<std::uint16_t>(conv.kernel[1]);
    s.stride_h = static_cast<std::uint16_t>(conv.stride[0]),
    s.stride_w = static_cast<std::uint16_t>(conv.stride[1]);
    s.dilation_h = static_cast<std::uint16_t>(conv.dilation[0]);
    s.dilation_w = static_cast<std::uint16_t>(conv.dilation[1]);
    s.output_type = output_type;
    if (output_type == DType::kInt8) s.clamp = true, s.clamp_low = -128, s.clamp_high = 127;
    return s;
  }
  WfoldRun run() const {
    WfoldRun r;
    r.row_bytes = static_cast<std::uint32_t>(conv.width * conv.channels);
    r.lead_bytes = conv.pad[1] * conv.channels;
    r.result = kResult, r.result_pixel = static_cast<std::uint32_t>(conv.out_channels * element());
    r.macs_per_output = static_cast<std::uint32_t>(conv.kernel[0] * conv.kernel[1] * conv.channels);
    r.rows = static_cast<std::uint16_t>(conv.out_height),
    r.columns = static_cast<std::uint16_t>(conv.out_width);
    r.kernels = static_cast<std::uint16_t>(conv.out_channels);
    r.height = static_cast<std::uint16_t>(conv.height);
    r.h_offset = static_cast<std::int16_t>(-conv.pad[0]);
    r.pixel_bytes = r.channels = static_cast<std::uint16_t>(conv.stride[1] * conv.channels);
    r.granularity = static_cast<std::uint16_t>(pci);
    r.result_granularity = static_cast<std::uint16_t>(result_granularity);
    r.read_mode = mode;
    return r;
  }
};

/// `columns` x `rows` outputs of 3x3 kernels, the map without padding.
EngineCase dense(int channels, int out_channels, int columns, int rows = 1) {
  EngineCase c;
  c.conv.channels = channels, c.conv.out_channels = out_channels;
  c.conv.kernel[0] = c.conv.kernel[1] = 3;
  c.conv.out_width = columns, c.conv.out_height = rows;
  c.conv.width = columns + 2, c.conv.height = rows + 2;
  return c;
}

/// Keeps when the writer reports that a run is done.
class DoneSink : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<DoneSink> socket;
  Cycle done = -1;

  DoneSink(const sc_core::sc_module_name& name, const SimContext& context)
      : sc_module(name), socket("socket"), context_(context) {
    socket.register_b_transport(this, &DoneSink::take);
  }

 private:
  void take(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    if (message_of<UnitMessage>(payload, socket).kind == UnitMessage::Kind::kDone)
      done = context_.clock.cycle_of(now_ps());
  }
  SimContext context_;
};

/// The engine, its NRAM on a bus, its regions.
class Core {
 public:
  Core(const EngineCase& c, Granularity granularity)
      : case_(c),
        bus_("bus", c.bus, context_, {"lines", "results", "host"},
             {{kNram, kNram + static_cast<std::uint64_t>(kNramBytes), 0}}),
        nram_("nram", context_, {kNramBytes, 16, 16, 1}, kNramBytes, kNram, c.bus.bytes_per_clock),
        wram_("wram", context_, {kRegionBytes * c.config.slaves, c.config.slaves, 16, 1},
              kRegionBytes * c.config.slaves, 0, c.bus.bytes_per_clock, ScratchpadLayout::kRegions),
        engine_("engine", context_, c.config, c.max_outstanding, kNram, kRegionBytes, granularity, order_),
        driver_("driver", context_),
        done_("done", context_),
        host_("host", context_),
        kernels_("kernels", context_) {
    engine_.master->reader.port.socket.bind(bus_.initiator_ports[0]);
    engine_.writer->port.socket.bind(bus_.initiator_ports[1]);
    host_.socket.bind(bus_.initiator_ports[2]);
    bus_.target_ports[0].bind(nram_.socket);
    kernels_.socket.bind(wram_.socket);
    driver_.command.bind(engine_.master->command);
    engine_.master->completion.bind(driver_.completion);
    engine_.writer->completion.bind(done_.socket);
    for (int i = 0; i < c.config.slaves; ++i)
      engine_.slaves[static_cast<std::size_t>(i)]->region.bind(wram_.region_port(i));
  }
  void load() {
    const SpecConv& v = case_.conv;
    std::vector<std::uint8_t> map;
    for (int h = 0; h < v.height; ++h)
      for (int w = 0; w < v.width; ++w)
        for (int ch = 0; ch < v.channels; ++ch) map.push_back(static_cast<std::uint8_t>(case_.x(h, w, ch)));
    access(host_.socket, tlm::TLM_WRITE_COMMAND, kNram, map);
    // A region: the slave's kernels, each as [row][folded column][phase][channel] (SPEC WF-3, WF-5).
    const auto columns = tap_columns(v.kernel[1], v.stride[1], v.dilation[1]);
    const int slaves = case_.config.slaves;
    for (int slave = 0; slave < slaves; ++slave) {
      std::vector<std::uint8_t> region;
      for (int k = 0; k < ceiling(v.out_channels, slaves); ++k) {
        const int co = slave + slaves * k;
        for (int kh = 0; kh < v.kernel[0]; ++kh) {
          for (const int column : columns) {
            for (int phase = 0; phase < v.stride[1]; ++phase) {
              const int at = column * v.stride[1] + phase;
              const int kw = at / v.dilation[1];
              const bool tap = co < v.out_channels && at % v.dilation[1] == 0 && kw < v.kernel[1];
              for (int ch = 0; ch < v.channels; ++ch)
                region.push_back(tap ? static_cast<std::uint8_t>(case_.weight(co, kh, kw, ch)) : 0);
            }
          }
        }
      }
      access(kernels_.socket, tlm::TLM_WRITE_COMMAND, static_cast<std::uint64_t>(slave * kRegionBytes),
             region);
    }
  }
  EngineRun run() {
    load();
    driver_.send(kSent, case_.setup());
    driver_.send(kSent, case_.run());
    sc_core::sc_start(to_sc_time(context_.clock.at(kEnd)));
    EngineRun result;
    const auto take = [](CycleLedger& ledger) {
      ledger.settle(kEnd);
      EXPECT_EQ(sum_of(ledger.cycles()), kEnd);
      return ledger.cycles();
    };
    result.beats = take(engine_.master->slaves_ledger());
    result.ports = take(engine_.master->weights_ledger());
    result.broadcast = take(engine_.master->broadcast_ledger());
    result.read = take(engine_.master->reader.port.ledger);
    result.drain = take(engine_.writer->drain_ledger);
    result.write = take(engine_.writer->port.ledger);
    result.master = engine_.master->stats;
    result.reader = engine_.master->reader.stats;
    result.writer = engine_.writer->stats;
    result.released = driver_.released(2), result.done = done_.done;
    const SpecConv& v = case_.conv;
    std::vector<std::uint8_t> bytes(
        static_cast<std::size_t>(v.out_height * v.out_width * v.out_channels * case_.element()));
    access(host_.socket, tlm::TLM_READ_COMMAND, kNram + kResult, bytes);
    for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(case_.element())) {
      std::int32_t value = static_cast<std::int8_t>(bytes[at]);
      if (case_.element() == 4) std::memcpy(&value, &bytes[at], 4);
      result.outputs.push_back(value);
    }
    // What lies behind the results is untouched.
    std::vector<std::uint8_t> behind(64);
    access(host_.socket, tlm::TLM_READ_COMMAND, kNram + kResult + bytes.size(), behind);
    EXPECT_EQ(behind, std::vector<std::uint8_t>(64, 0)) << "surplus columns and channels are dropped";
    return result;
  }
  std::string refusal(const ConvSetup& setup, const Operation& run) {
    driver_.send(kSent, setup);
    driver_.send(kSent, run);
    return error_of_run(3000, kPeriod);
  }

 private:
  template <class Socket>
  static void access(Socket& socket, tlm::tlm_command command, std::uint64_t address,
                     std::vector<std::uint8_t>& bytes) {
    if (bytes.empty()) return;
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(bytes.size()));
    payload.set_streaming_width(payload.get_data_length());
    if (socket->transport_dbg(payload) != bytes.size()) throw std::runtime_error("debug access");
  }

  EngineCase case_;
  SimContext context_{ClockDomain(kPeriod)};
  BuildOrder order_;
  Interconnect bus_;
  Scratchpad nram_, wram_;
  WfoldEngine engine_;
  UnitDriver driver_;
  DoneSink done_;
  ScriptedInitiator host_, kernels_;
};

std::string bytes_of(const EngineRun& r) {
  std::string text(reinterpret_cast<const char*>(&r.master), sizeof r.master);
  const auto add = [&](const void* from, std::size_t count) {
    text.append(static_cast<const char*>(from), count);
  };
  add(&r.reader, sizeof r.reader), add(&r.writer, sizeof r.writer);
  for (const ActivityCycles* cycles : {&r.beats, &r.ports, &r.broadcast, &r.read, &r.drain, &r.write})
    add(cycles, sizeof *cycles);
  add(&r.released, sizeof r.released), add(&r.done, sizeof r.done);
  add(r.outputs.data(), r.outputs.size() * 4);
  return text;
}
EngineRun run_of(const std::string& text) {
  EngineRun r;
  std::size_t at = 0;
  const auto take = [&](void* to, std::size_t count) {
    std::memcpy(to, text.data() + at, count);
    at += count;
  };
  take(&r.master, sizeof r.master), take(&r.reader, sizeof r.reader), take(&r.writer, sizeof r.writer);
  for (ActivityCycles* cycles : {&r.beats, &r.ports, &r.broadcast, &r.read, &r.drain, &r.write})
    take(cycles, sizeof *cycles);
  take(&r.released, sizeof r.released), take(&r.done, sizeof r.done);
  r.outputs.resize((text.size() - at) / 4);
  take(r.outputs.data(), r.outputs.size() * 4);
  return r;
}

/// Runs in both granularities, checks the outputs, and that all counts agree; returns them.
EngineRun run_engine(const EngineCase& c) {
  std::vector<std::string> both;
  const bool failed_before = ::testing::Test::HasFailure();
  for (const Granularity granularity : {Granularity::kClock, Granularity::kTile}) {
    both.push_back(in_child([&] {
      strict_systemc();
      Core core(c, granularity);
      const EngineRun run = core.run();
      if (!failed_before && ::testing::Test::HasFailure())
        throw std::runtime_error("ledgers or results, see above");
      return bytes_of(run);
    }));
  }
  EXPECT_EQ(both[0], both[1]) << "clock and tile granularity";
  const EngineRun run = run_of(both[0]);
  EXPECT_GT(run.done, run.released);
  const SpecConv& v = c.conv;
  std::size_t at = 0;
  for (int ho = 0; ho < v.out_height; ++ho) {
    for (int wo = 0; wo < v.out_width; ++wo) {
      for (int co = 0; co < v.out_channels; ++co, ++at) {
        if (run.outputs.at(at) == c.output(ho, wo, co)) continue;
        ADD_FAILURE() << "output " << ho << ", " << wo << ", " << co << " is " << run.outputs[at];
        return run;
      }
    }
  }
  EXPECT_EQ(run.master.beats, wfold_beats(v, c.engine(), c.pci));
  EXPECT_EQ(run.reader.lines, wfold_lines(v, c.engine(), c.pci));
  EXPECT_EQ(cycles_of(run.beats, Activity::kBusy), run.master.beats);
  EXPECT_EQ(cycles_of(run.broadcast, Activity::kBusy), run.reader.lines);
  EXPECT_EQ(run.writer.results, std::int64_t{v.out_height} * v.out_width * v.out_channels);
  return run;
}

// ---- reading: WF-2 ----

TEST(WfoldEngine, WF_2_continuous_one_request_a_line) {
  const EngineCase c = dense(16, 64, 16, 2);
  const EngineRun run = run_engine(c);
  // Lines of 4 columns over 18: the last of 5 has two columns that do not exist, and is one request still.
  EXPECT_EQ(run.reader.requests, 2 * 3 * 5);
  EXPECT_EQ(run.reader.requests, wfold_requests(c.conv, c.engine(), c.pci, SpecReading::kContinuous));
  EXPECT_EQ(run.reader.bytes, 2 * 3 * 18 * 16);
}

TEST(WfoldEngine, WF_2_strided_one_request_a_column_and_block) {
  EngineCase c = dense(47, 20, 14);
  c.mode = WfoldReadMode::kStrided;
  const EngineRun run = run_engine(c);
  EXPECT_EQ(run.reader.requests, 3 * 3 * 16) << "kernel rows x blocks x columns that exist";
  EXPECT_EQ(run.reader.bytes, 3 * 47 * 16);
}

TEST(WfoldEngine, WF_2_transit_once_or_once_a_block) {
  EngineCase c = dense(47, 20, 14);
  c.mode = WfoldReadMode::kTransit;
  // A row window: 5 lines of 4 columns of 47 bytes.
  c.config.transit_bytes = 2 * 5 * 4 * 47;
  EXPECT_EQ(run_engine(c).reader.requests, 3 * 16) << "half of it holds the row window";
  c.config.transit_bytes -= 1;
  EXPECT_EQ(run_engine(c).reader.requests, 3 * 3 * 16) << "it is read once for each block";
}

TEST(WfoldEngine, WF_2_absent_rows_and_columns_are_not_requested) {
  for (const WfoldReadMode mode : {WfoldReadMode::kContinuous, WfoldReadMode::kStrided}) {
    EngineCase c = dense(16, 16, 20, 4);
    c.mode = mode;
    c.conv.pad[0] = 2, c.conv.pad[1] = 5;  // of a map that ends early at the right, too
    c.conv.height = 3, c.conv.width = 9;
    const EngineRun run = run_engine(c);
    EXPECT_EQ(run.reader.requests,
              wfold_requests(
                  c.conv, c.engine(), c.pci,
                  mode == WfoldReadMode::kContinuous ? SpecReading::kContinuous : SpecReading::kStrided));
  }
}

TEST(WfoldEngine, WF_5_a_map_that_is_folded_where_it_lies) {
  for (int stride = 1; stride <= 8; ++stride) {
    EngineCase c = dense(3, 18, 9, 2);
    c.conv.stride[0] = 2, c.conv.stride[1] = stride;
    c.conv.kernel[1] = 5, c.conv.dilation[1] = stride % 3 + 1;
    c.conv.pad[1] = 2, c.conv.pad[0] = 1;
    c.conv.width = 8 * stride + 4 * c.conv.dilation[1] + 1 - 3, c.conv.height = 4;
    c.pci = 32;
    c.mode = stride * 3 <= 32 ? WfoldReadMode::kContinuous : WfoldReadMode::kStrided;
    run_engine(c);
  }
}

// ---- results: WF-7 ----

TEST(WfoldEngine, WF_7_one_write_request_a_line_when_all_channels_fit_it) {
  EngineCase c = dense(16, 32, 24);
  c.output_type = DType::kInt8, c.result_granularity = 32;  // lines of 2 columns
  const EngineRun run = run_engine(c);
  EXPECT_EQ(run.writer.requests, 24 / 2);
  EXPECT_EQ(run.writer.requests, wfold_writes(c.conv, c.engine(), c.pci, 32));
  EXPECT_EQ(run.writer.bytes, 24 * 32);
}

TEST(WfoldEngine, WF_7_whole_parts_and_a_remainder) {
  EngineCase c = dense(16, 40, 18);
  c.output_type = DType::kInt8, c.result_granularity = 16;
  const EngineRun run = run_engine(c);
  EXPECT_EQ(run.writer.requests, 18 * 3) << "16, 16 and 8 bytes of every column";
  EXPECT_EQ(run.writer.bytes, 18 * 40);
}

TEST(WfoldEngine, WF_7_surplus_columns_and_channels_are_dropped) {
  for (const int out_channels : {1, 5, 15, 17, 33, 63, 65}) {
    for (const int columns : {1, 15, 17}) run_engine(dense(16, out_channels, columns));
  }
}

// Beats of a tile: Nco. Results: 16 columns of 64 bytes = 16 slave results a clock: 16 * Nco clocks.
TEST(WfoldEngine, WF_8_output_drain_of_tiles_that_are_shorter_than_their_results) {
  const auto drain_of = [](int channels) {
    EngineCase c = dense(channels, 64, 16 * 8);
    c.conv.kernel[0] = c.conv.kernel[1] = 1, c.conv.width = 16 * 8, c.conv.height = 1;
    c.mode = channels > 16 ? WfoldReadMode::kTransit : WfoldReadMode::kContinuous;
    c.config.transit_bytes = 1 << 16, c.config.write_queue = 4096;
    return run_engine(c);
  };
  const EngineRun run = drain_of(16);
  const Cycle drain = 16 * 4, beats = 4;
  EXPECT_EQ(cycles_of(run.drain, Activity::kBusy), 8 * drain);
  // Tiles 0 and 1 have halves; tile n + 2 waits for tile n: 8 tiles end at the pace of the third buffers.
  EXPECT_GT(cycles_of(run.beats, Activity::kOutputDrain), 5 * (drain - beats));
  EXPECT_LE(cycles_of(run.beats, Activity::kOutputDrain), 6 * drain);
}

TEST(WfoldEngine, WF_7_a_full_write_queue_holds_the_third_buffers_back) {
  // One clock more of the drain for each request that has to wait; a longer queue never takes more.
  Cycle before = -1;
  for (const int queue : {1, 2, 4, 64}) {
    EngineCase c = dense(16, 64, 64);
    c.config.write_queue = queue;
    c.bus.bytes_per_clock =
        16;  // a write of 64 bytes takes 4 clocks, 4 of them leave the third buffers a column
    const EngineRun run = run_engine(c);
    if (before >= 0) {
      EXPECT_LE(run.done, before) << queue << " requests";
    }
    before = run.done;
    EXPECT_EQ(cycles_of(run.write, Activity::kBusy), 64 * 4) << "requests of a line, 4 a column";
  }
}

// ---- back-pressure and widths ----

TEST(WfoldEngine, CY_2_line_queue_bounds_what_is_read_ahead) {
  // A request takes its answer and a clock; with one place the next line is asked for when the last one left.
  Cycle before = -1;
  for (const int queue : {1, 2, 3, 16}) {
    EngineCase c = dense(16, 16, 32, 2);
    c.config.line_queue = queue;
    const EngineRun run = run_engine(c);
    if (before >= 0) {
      EXPECT_LE(run.released, before) << queue << " lines";
    }
    if (queue == 1) {
      EXPECT_GT(cycles_of(run.read, Activity::kLanding), 0);
    }
    before = run.released;
  }
}

// A line is requested, answered, and leaves in the clock after; its place takes the next request in that
// clock. N places so fetch N lines in that time.
TEST(WfoldEngine, CY_2_line_queue_sets_the_pace_of_a_slow_bus) {
  for (const int queue : {1, 2, 4, 5}) {
    const auto released = [&](int rows) {
      EngineCase c = dense(16, 1, 16, rows);  // one write a tile is all that meets the reads
      c.result_granularity = 4;
      c.conv.kernel[0] = c.conv.kernel[1] = 1, c.conv.width = 16, c.conv.height = rows;
      c.config.line_queue = queue;
      c.bus.response_cycles = 20;
      return run_engine(c).released;
    };
    const Cycle scratchpad = 1 + 1 + 64 / 64;  // latency 1, a line of 4 words of 16 bytes a clock
    const Cycle trip = 1 + scratchpad + 20 + 1;
    const Cycle more = released(20) - released(10), expected = 10 * 4 * trip / queue;
    EXPECT_GE(more, expected) << "40 lines more, " << queue << " places";
    EXPECT_LE(more, expected + (queue <= 2 ? 0 : 10))
        << queue << " places: where requests follow closely the write of each of 10 tiles may cost a clock";
  }
}

// One write under way at a time: while the first of 8 is, the queue has to hold 7 others.
TEST(WfoldEngine, CY_2_write_queue_at_n_and_n_minus_1) {
  for (const int queue : {6, 7, 8}) {
    EngineCase c = dense(16, 64, 2);
    c.config.write_queue = queue, c.max_outstanding = 1;
    c.bus.response_cycles = 100;
    const EngineRun run = run_engine(c);
    EXPECT_EQ(run.writer.requests, 2 * 64 * 4 / 64);
    EXPECT_EQ(cycles_of(run.drain, Activity::kBusy), 8) << "64 bytes of results a clock";
    const Cycle waits = cycles_of(run.drain, Activity::kOutstanding);
    if (queue >= 7) {
      EXPECT_EQ(waits, 0) << queue << " requests";
    } else {
      EXPECT_GE(waits, 100 - 8) << "until the first write is answered";
    }
  }
}

TEST(WfoldEngine, CY_2_a_narrower_bus_makes_beats_wait_for_lines) {
  const auto run_at = [](int width) {
    EngineCase c = dense(64, 16, 16);
    c.pci = 64, c.bus.bytes_per_clock = width;
    return run_engine(c);
  };
  const EngineRun wide = run_at(64), narrow = run_at(32);
  EXPECT_EQ(narrow.reader.requests, wide.reader.requests);
  // Refills of 6 lines for 3 beats: lines bound the tile, each takes twice as long.
  const Cycle more =
      cycles_of(narrow.beats, Activity::kInputLoad) - cycles_of(wide.beats, Activity::kInputLoad);
  EXPECT_GE(more, wide.reader.lines * 3 / 4);
  EXPECT_LE(more, wide.reader.lines + 8);
}

TEST(WfoldEngine, WF_8_a_narrower_region_port_makes_beats_wait_for_kernels) {
  const auto stalls = [](int port) {
    EngineCase c = dense(64, 64, 4);
    c.pci = 64, c.config.weight_port_bytes = port;
    return cycles_of(run_engine(c).beats, Activity::kWeightLoad);
  };
  EXPECT_EQ(stalls(64), 0);
  // 36 kernel lines in 2 (4) clocks each from the first clock of the run on, a clock more until the last
  // beat. Before the first beat 4 lines of the map come, which hides some of it.
  EXPECT_LE(stalls(32), 36 * 2 + 1 - 36);
  EXPECT_GT(stalls(32), 36 * 2 + 1 - 36 - 20);
  EXPECT_EQ(stalls(16) - stalls(32), 36 * 2) << "twice the clocks of a line";
}

// ---- refusals ----

std::string refusal_of(
    const EngineCase& c, const Operation& run,
    const std::function<void(ConvSetup&)>& change = [](ConvSetup&) {}) {
  return in_child([&] {
    strict_systemc();
    Core core(c, Granularity::kTile);
    ConvSetup setup = c.setup();
    change(setup);
    return core.refusal(setup, run);
  });
}

TEST(WfoldEngineRefusal, UI_5_conv_run_is_for_the_switch_array) {
  ConvRun run;
  EXPECT_THAT(refusal_of(dense(16, 16, 16), run),
              HasSubstr("the matrix unit of this core is a W-fold engine"));
}
TEST(WfoldEngineRefusal, UI_5_kernels_beyond_the_region) {
  const EngineCase c = dense(16, 16, 16);
  WfoldRun run = c.run();
  run.weights = kRegionBytes - 9 * 16;  // the slave's one kernel ends with the region
  EXPECT_EQ(refusal_of(c, run), "");
  ++run.weights;
  EXPECT_THAT(refusal_of(c, run),
              HasSubstr("wfold.run: kernels take bytes 16241 to 16385 of a region of 16384"));
}
TEST(WfoldEngineRefusal, WF_2_continuous_of_several_blocks) {
  EXPECT_THAT(refusal_of(dense(17, 16, 16), dense(17, 16, 16).run()),
              HasSubstr("wfold.run: a map of several channel blocks cannot be read continuously"));
}
TEST(WfoldEngineRefusal, WF_2_a_transit_window_that_does_not_fit) {
  EngineCase c = dense(48, 16, 16);
  c.mode = WfoldReadMode::kTransit;
  c.config.transit_bytes = 2 * 5 * 64;
  EXPECT_EQ(refusal_of(c, c.run()), "");
  c.config.transit_bytes -= 1;
  EXPECT_THAT(refusal_of(c, c.run()),
              HasSubstr("wfold.run: a row window does not fit the 319 bytes of half the "
                        "transit buffer"));
}
TEST(WfoldEngineRefusal, UI_5_empty_shapes) {
  const EngineCase c = dense(16, 16, 16);
  for (std::uint16_t WfoldRun::*field :
       {&WfoldRun::rows, &WfoldRun::columns, &WfoldRun::kernels, &WfoldRun::channels}) {
    WfoldRun run = c.run();
    run.*field = 0;
    EXPECT_THAT(refusal_of(c, run), HasSubstr("wfold.run: "));
  }
  EXPECT_THAT(refusal_of(c, c.run(), [](ConvSetup& s) { s.kernel_w = 0; }),
              HasSubstr("wfold.run: 1 x 16 outputs of 16 kernels 3 x 0 over 16 channels"));
  EXPECT_THAT(refusal_of(c, c.run(), [](ConvSetup& s) { s.stride_w = 0; }), HasSubstr("wfold.run: "));
}
TEST(WfoldEngineRefusal, WF_1_granularities_that_do_not_exist) {
  const EngineCase c = dense(16, 16, 16);
  for (const int granularity : {0, 1, 24, 128}) {
    WfoldRun run = c.run();
    run.granularity = static_cast<std::uint16_t>(granularity);
    EXPECT_THAT(refusal_of(c, run), HasSubstr("powers of two from 2 to 64 exist"));
    run = c.run();
    run.result_granularity = static_cast<std::uint16_t>(granularity);
    EXPECT_THAT(refusal_of(c, run), HasSubstr("powers of two from 2 to 64 exist"));
  }
}
TEST(WfoldEngineRefusal, UI_5_a_map_or_results_outside_nram) {
  const EngineCase c = dense(16, 16, 16);
  WfoldRun run = c.run();
  run.map = kNramBytes - 16;
  EXPECT_THAT(refusal_of(c, run), HasSubstr("no memory at address"));
  run = c.run();
  run.result = kNramBytes - 16;
  EXPECT_THAT(refusal_of(c, run), HasSubstr("no memory at address"));
}

}  // namespace
}  // namespace tilebeat::testing
