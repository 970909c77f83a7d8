#pragma once

// The W-fold engine of a core with its two storages on a small bus, for tests of the engine alone.

#include "engines/switch_array/operations.h"
#include "engines/wfold/config.h"
#include "engines/wfold/operations.h"
#include "engines/wfold/sim/wfold_engine.h"
#include "fabric/interconnect.h"
#include "fabric/scratchpad.h"
#include "unit_driver.h"
#include "wfold_formulas.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {

using wfold::LineReaderStats;
using wfold::WfoldConfig;
using wfold::WfoldEngine;
using wfold::WfoldReadMode;
using wfold::WfoldRun;
using wfold::WfoldStats;
using wfold::WfoldWriterStats;

constexpr Picoseconds kEnginePeriod = 1000;
constexpr std::uint64_t kNram = std::uint64_t{1} << 42;
constexpr std::int64_t kNramBytes = 1 << 18, kRegionBytes = 1 << 14;
constexpr std::uint32_t kResult = 1 << 17;  // of NRAM, behind the map
constexpr Cycle kSent = 10, kFirst = kSent + 1, kEnd = 60000;

/// What one run on a core's engine did.
struct EngineRun {
  WfoldStats master;
  LineReaderStats reader;
  WfoldWriterStats writer;
  ActivityCycles beats{}, ports{}, broadcast{}, broadcast1{}, read{}, drain{}, write{};
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
  bool block_outer = false;
  bool biases = false;    ///< every kernel has a record
  int bank_bytes = 16;    ///< of NRAM and of WRAM
  std::vector<int> cuts;  ///< bytes of a folded pixel at which its sums go on in another run

  SpecWfold engine() const {
    if (config.first_buffer == wfold::FirstBuffer::kKernels) {  // the buffers' roles are swapped
      return {config.slaves, config.second_buffer_lines / 2, config.line_bytes, config.second_buffer_lines,
              2 * config.compute_units};
    }
    return {config.slaves, config.compute_units, config.line_bytes, config.first_buffer_lines,
            config.second_buffer_lines};
  }
  /// The engine whose beats are as many: with kernels in the first buffers, a beat is one line of columns.
  SpecWfold engine_of_beats() const {
    if (config.first_buffer == wfold::FirstBuffer::kMaps) return engine();
    return {config.slaves * config.compute_units, 1, config.line_bytes};
  }
  int element() const { return dtype_size(output_type); }
  std::int32_t x(int h, int w, int c) const {
    if (h < 0 || w < 0 || h >= conv.height || w >= conv.width) return 0;
    return (h * 37 + w * 11 + c * 5 + h * w) % 19 - 9;
  }
  std::int32_t weight(int co, int kh, int kw, int c) const {
    return (co * 13 + kh * 7 + kw * 3 + c * 2 + co * c) % 17 - 8;
  }
  static std::int32_t bias(int co) { return co * 29 % 401 - 200; }
  std::int32_t output(int ho, int wo, int co) const {
    std::int32_t sum = biases ? bias(co) : 0;
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
    s.post_parameters = biases;
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
  /// The runs, one behind the other, that together are `run`.
  std::vector<WfoldRun> runs() const {
    std::vector<int> ends = cuts;
    ends.push_back(conv.stride[1] * conv.channels);
    const auto columns = tap_columns(conv.kernel[1], conv.stride[1], conv.dilation[1]).size();
    const auto lines = static_cast<std::uint32_t>(ceiling(conv.out_channels, config.slaves)) *
                       static_cast<std::uint32_t>(conv.kernel[0]) * static_cast<std::uint32_t>(columns);
    std::vector<WfoldRun> made;
    int begin = 0;
    for (const int end : ends) {
      WfoldRun part = run();
      part.first_channel = static_cast<std::uint16_t>(begin);
      part.channels = static_cast<std::uint16_t>(end - begin);
      part.weights = lines * static_cast<std::uint32_t>(begin);
      part.block_outer = block_outer;
      part.begins_sums = begin == 0, part.ends_sums = end == ends.back();
      made.push_back(part);
      begin = end;
    }
    return made;
  }
};

/// `columns` x `rows` outputs of 3x3 kernels, the map without padding.
inline EngineCase dense(int channels, int out_channels, int columns, int rows = 1) {
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
  MessageTarget<UnitMessage> socket;
  Cycle done = -1;

  DoneSink(const sc_core::sc_module_name& name, const SimContext& context)
      : sc_module(name), socket("socket"), context_(context) {
    socket.register_b_transport(this, &DoneSink::take);
  }

 private:
  void take(UnitMessage& message, sc_core::sc_time&) {
    if (message.kind == UnitMessage::Kind::kDone) done = context_.clock.cycle_of(now_ps());
  }
  SimContext context_;
};

/// The engine, its NRAM on a bus, its regions.
class EngineCore {
 public:
  EngineCore(const EngineCase& c, Granularity granularity)
      : case_(c),
        bus_("bus", c.bus, context_, ports_of(c),
             {{kNram, kNram + static_cast<std::uint64_t>(kNramBytes), 0}}),
        nram_("nram", context_, {kNramBytes, 16, c.bank_bytes, 1}, kNramBytes, kNram, c.bus.bytes_per_clock),
        wram_(std::make_unique<Scratchpad>(
            "wram", context_, MemoryConfig{kRegionBytes * c.config.slaves, c.config.slaves, c.bank_bytes, 1},
            kRegionBytes * c.config.slaves, 0, c.bus.bytes_per_clock, c.config.weight_port_bytes)),
        engine_("engine", context_, c.config, c.max_outstanding, kNram, kRegionBytes, granularity, order_),
        driver_("driver", context_),
        done_("done", context_),
        host_("host", context_),
        kernels_("kernels", context_) {
    engine_.master->readers[0]->port.socket.bind(bus_.initiator_ports[0]);
    engine_.writer->port.socket.bind(bus_.initiator_ports[1]);
    host_.socket.bind(bus_.initiator_ports[2]);
    if (c.config.masters > 1) engine_.master->readers[1]->port.socket.bind(bus_.initiator_ports[3]);
    bus_.target_ports[0].bind(nram_.socket);
    kernels_.socket.bind(wram_->socket);
    driver_.command.bind(engine_.master->command);
    engine_.master->completion.bind(driver_.completion);
    engine_.writer->completion.bind(done_.socket);
    for (int i = 0; i < c.config.slaves; ++i)
      engine_.slaves[static_cast<std::size_t>(i)]->region.bind(wram_->region_port(i));
    if (c.config.storage == wfold::StoragePlace::kShared) {
      engine_.master->reservations.bind(wram_->reservations);
      nram_.divide(std::move(wram_));
    }
  }
  void load() {
    const SpecConv& v = case_.conv;
    std::vector<std::uint8_t> map;
    for (int h = 0; h < v.height; ++h)
      for (int w = 0; w < v.width; ++w)
        for (int ch = 0; ch < v.channels; ++ch) map.push_back(static_cast<std::uint8_t>(case_.x(h, w, ch)));
    access(host_.socket, tlm::TLM_WRITE_COMMAND, kNram, map);
    for (int slave = 0; slave < case_.config.slaves; ++slave) {
      std::vector<std::uint8_t> region = region_of(slave);
      access(kernels_.socket, tlm::TLM_WRITE_COMMAND, static_cast<std::uint64_t>(slave * kRegionBytes),
             region);
    }
  }
  EngineRun run() {
    load();
    driver_.send(kSent, case_.setup());
    const std::vector<WfoldRun> runs = case_.runs();
    for (const WfoldRun& part : runs) driver_.send(kSent, part);
    sc_core::sc_start(to_sc_time(context_.clock.at(kEnd)));
    EngineRun result;
    const auto take = [](CycleLedger& ledger) {
      ledger.settle(kEnd);
      EXPECT_EQ(sum_of(ledger.cycles()), kEnd);
      return ledger.cycles();
    };
    result.beats = take(engine_.master->slaves_ledger());
    result.ports = take(engine_.master->weights_ledger());
    result.broadcast = take(engine_.master->broadcast_ledger(0));
    if (case_.config.masters > 1) result.broadcast1 = take(engine_.master->broadcast_ledger(1));
    result.read = take(engine_.master->readers[0]->port.ledger);
    result.drain = take(engine_.writer->drain_ledger);
    result.write = take(engine_.writer->port.ledger);
    result.master = engine_.master->stats;
    result.reader = engine_.master->reader_stats();
    result.writer = engine_.writer->stats;
    result.released = driver_.released(1 + static_cast<int>(runs.size())), result.done = done_.done;
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
  std::string refusal(const ConvSetup& setup, const std::vector<Operation>& runs) {
    driver_.send(kSent, setup);
    for (const Operation& run : runs) driver_.send(kSent, run);
    return error_of_run(3000, kEnginePeriod);
  }

 private:
  static std::vector<std::string> ports_of(const EngineCase& c) {
    std::vector<std::string> ports{"lines", "results", "host"};
    if (c.config.masters > 1) ports.emplace_back("lines1");
    return ports;
  }
  /// Of each tile of channels the slave's kernels: block by block of Pci bytes [kernel][row][folded column]
  /// (SPEC WF-3, WF-5). Behind them their records.
  std::vector<std::uint8_t> region_of(int slave) const {
    const int slaves = case_.config.slaves, channels = case_.conv.out_channels;
    std::vector<std::uint8_t> region;
    for (int first = 0; first < channels; first += case_.engine().tile_channels()) {
      std::vector<int> kernels;
      for (int co = first; co < std::min(channels, first + case_.engine().tile_channels()); co += slaves)
        kernels.push_back(co + slave);
      add_lines(kernels, region);
      for (const int co : kernels) {
        if (!case_.biases) break;
        PostParameter record;
        record.bias = EngineCase::bias(co);
        const auto bytes = encode(record);
        region.insert(region.end(), bytes.begin(), bytes.end());
      }
    }
    return region;
  }
  void add_lines(const std::vector<int>& kernels, std::vector<std::uint8_t>& region) const {
    const SpecConv& v = case_.conv;
    const int pixel = v.stride[1] * v.channels;
    for (int begin = 0; begin < pixel; begin += case_.pci) {
      for (const int co : kernels) {
        for (int kh = 0; kh < v.kernel[0]; ++kh) {
          for (const int column : tap_columns(v.kernel[1], v.stride[1], v.dilation[1])) {
            for (int at = begin; at < std::min(begin + case_.pci, pixel); ++at)
              region.push_back(weight_at(co, kh, column, at));
          }
        }
      }
    }
  }
  /// Byte `at` of a folded column of a kernel.
  std::uint8_t weight_at(int co, int kh, int column, int at) const {
    const SpecConv& v = case_.conv;
    const int position = column * v.stride[1] + at / v.channels, kw = position / v.dilation[1];
    const bool tap = co < v.out_channels && position % v.dilation[1] == 0 && kw < v.kernel[1];
    return tap ? static_cast<std::uint8_t>(case_.weight(co, kh, kw, at % v.channels)) : 0;
  }
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
  SimContext context_{ClockDomain(kEnginePeriod)};
  BuildOrder order_;
  Interconnect bus_;
  Scratchpad nram_;
  std::unique_ptr<Scratchpad> wram_;
  WfoldEngine engine_;
  UnitDriver driver_;
  DoneSink done_;
  ScriptedInitiator host_, kernels_;
};

inline std::string bytes_of(const EngineRun& r) {
  std::string text(reinterpret_cast<const char*>(&r.master), sizeof r.master);
  const auto add = [&](const void* from, std::size_t count) {
    text.append(static_cast<const char*>(from), count);
  };
  add(&r.reader, sizeof r.reader), add(&r.writer, sizeof r.writer);
  for (const ActivityCycles* cycles :
       {&r.beats, &r.ports, &r.broadcast, &r.broadcast1, &r.read, &r.drain, &r.write})
    add(cycles, sizeof *cycles);
  add(&r.released, sizeof r.released), add(&r.done, sizeof r.done);
  add(r.outputs.data(), r.outputs.size() * 4);
  return text;
}
inline EngineRun run_of(const std::string& text) {
  EngineRun r;
  std::size_t at = 0;
  const auto take = [&](void* to, std::size_t count) {
    std::memcpy(to, text.data() + at, count);
    at += count;
  };
  take(&r.master, sizeof r.master), take(&r.reader, sizeof r.reader), take(&r.writer, sizeof r.writer);
  for (ActivityCycles* cycles :
       {&r.beats, &r.ports, &r.broadcast, &r.broadcast1, &r.read, &r.drain, &r.write})
    take(cycles, sizeof *cycles);
  take(&r.released, sizeof r.released), take(&r.done, sizeof r.done);
  r.outputs.resize((text.size() - at) / 4);
  take(r.outputs.data(), r.outputs.size() * 4);
  return r;
}

/// Runs in both granularities, checks the outputs, and that all counts agree; returns them.
inline EngineRun run_engine(const EngineCase& c) {
  std::vector<std::string> both;
  const bool failed_before = ::testing::Test::HasFailure();
  for (const Granularity granularity : {Granularity::kClock, Granularity::kTile}) {
    both.push_back(in_child([&] {
      strict_systemc();
      EngineCore core(c, granularity);
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
  EXPECT_EQ(run.master.beats, wfold_beats(v, c.engine_of_beats(), c.pci));
  const std::int64_t lines = wfold_map_lines(v, c.engine(), c.pci);
  EXPECT_EQ(run.reader.lines, c.config.masters * lines) << "each master has all of them";
  EXPECT_EQ(cycles_of(run.beats, Activity::kBusy), run.master.beats);
  EXPECT_EQ(cycles_of(run.broadcast, Activity::kBusy), lines);
  EXPECT_EQ(cycles_of(run.broadcast1, Activity::kBusy), c.config.masters > 1 ? lines : 0);
  EXPECT_EQ(run.writer.results, std::int64_t{v.out_height} * v.out_width * v.out_channels);
  return run;
}

}  // namespace tilebeat::testing
