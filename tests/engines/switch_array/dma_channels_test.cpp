// Cycle by cycle, what the DMA channels of document 000 do, against plain models of their rules that share no
// code with them: docs/soc.md, "DMA channels" (SPEC CY-1, SW-8).
#include "engines/switch_array/sim/dma_channels.h"

#include "engines/switch_array/operations.h"
#include "random_cases.h"
#include "systemc_test.h"
#include "unit_driver.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tilebeat::testing {

using switch_array::LoadInput;
using switch_array::ReadChannel;
using switch_array::StoreChannel;
using switch_array::StoreOutput;
using switch_array::SwitchArrayConfig;

namespace {

constexpr Picoseconds kPeriod = 1000;

/// A channel, the memory behind it and how fast the module at its other side is.
struct Scene {
  int burst = 256, buffer = 1024, outstanding = 4;  // bytes, bytes, bursts
  int grant = 0, answer = 20;                       // cycles from a request to END_REQ, to the response
  int width = 16;                                   // bytes a cycle at the other side
  int hold = 0;                                     // cycles that a burst is held up there
  int written_after = 0;                            // cycles from its last beat to the last write
  std::vector<int> bytes{1024};                     // of the instructions, sent in the cycles 10, 11, ...

  std::string text() const {
    std::string all =
        fmt::format("burst {} buffer {} outstanding {} grant {} answer {} width {} hold {} after {}:", burst,
                    buffer, outstanding, grant, answer, width, hold, written_after);
    for (const int b : bytes) all += fmt::format(" {}", b);
    return all;
  }
};

/// When things happen: requests reach the memory, bursts begin at the other side, instructions end.
struct Times {
  std::vector<Cycle> requests, bursts, released, done;

  std::string text() const {
    std::string all;
    for (const auto& [name, times] : {std::pair("requests", &requests), std::pair("bursts", &bursts),
                                      std::pair("released", &released), std::pair("done", &done)}) {
      all += fmt::format("{}", name);
      for (const Cycle at : *times) all += fmt::format(" {}", at);
      all += "\n";
    }
    return all;
  }
};

constexpr Cycle kSentAt = 10;  // the first instruction; acted upon in the next cycle

/// The bytes of the bursts and which of them end an instruction.
struct Cut {
  explicit Cut(const Scene& scene) {
    for (const int bytes : scene.bytes) {
      for (int left = bytes; left > 0; left -= scene.burst) sizes.push_back(std::min(left, scene.burst));
      last.resize(sizes.size(), false);
      last.back() = true;
    }
  }
  Cycle from(std::size_t burst) const {  // its instruction is known
    const auto number = std::count(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(burst), true);
    return kSentAt + number + 1;
  }
  std::vector<int> sizes;
  std::vector<bool> last;
};

/// What a read channel does: a request a cycle after the grant of the one before, when the landing buffer has
/// room, which a burst leaves when its last beat is taken, and fewer than `outstanding` bursts wait for the
/// begin of their stream; streamed in order from the cycle after their response on.
Times read_model(const Scene& scene) {
  const Cut cut(scene);
  Times times;
  std::vector<Cycle> begins, ends;  // of streams: first beat, the cycle after the last one
  for (std::size_t i = 0; i < cut.sizes.size(); ++i) {
    Cycle at = cut.from(i);
    if (i > 0) at = std::max(at, times.requests.back() + scene.grant + 1);
    if (i >= static_cast<std::size_t>(scene.outstanding))
      at = std::max(at, begins[i - static_cast<std::size_t>(scene.outstanding)]);
    const auto room_at = [&](Cycle cycle) {
      int used = cut.sizes[i];
      for (std::size_t j = 0; j < i; ++j) used += ends[j] > cycle ? cut.sizes[j] : 0;
      return used <= scene.buffer;
    };
    while (!room_at(at)) ++at;
    times.requests.push_back(at);
    const Cycle begin = std::max(at + scene.answer + 1, i > 0 ? ends.back() : 0);
    begins.push_back(begin);
    ends.push_back(begin + scene.hold + (cut.sizes[i] + scene.width - 1) / scene.width);
    if (!cut.last[i]) continue;
    times.released.push_back(at);
    times.done.push_back(ends.back() + scene.written_after);
  }
  times.bursts = begins;
  return times;
}

/// What the store channel does: reads bursts from the output buffer, a beat a cycle, when the staging buffer
/// has room, which a burst leaves in the cycle after its grant; a burst is requested in the cycle after its
/// last beat at the earliest, a cycle after the grant of the one before, with fewer than `outstanding` under
/// way.
Times store_model(const Scene& scene) {
  const Cut cut(scene);
  Times times;
  std::vector<Cycle> free, answered;  // of the staging buffer; the cycle after the response
  Cycle port_free = 0;
  for (std::size_t i = 0; i < cut.sizes.size(); ++i) {
    Cycle read = std::max(cut.from(i), port_free);
    const auto room_at = [&](Cycle cycle) {
      int used = cut.sizes[i];
      for (std::size_t j = 0; j < i; ++j) used += free[j] > cycle ? cut.sizes[j] : 0;
      return used <= scene.buffer;
    };
    while (!room_at(read)) ++read;
    times.bursts.push_back(read);
    port_free = read + (cut.sizes[i] + scene.width - 1) / scene.width;
    Cycle at = port_free;
    if (i > 0) at = std::max(at, times.requests.back() + scene.grant + 1);
    if (i >= static_cast<std::size_t>(scene.outstanding))
      at = std::max(at, answered[i - static_cast<std::size_t>(scene.outstanding)]);
    times.requests.push_back(at);
    free.push_back(at + scene.grant + 1);
    answered.push_back(std::max(at + scene.answer + 1, i > 0 ? answered.back() : 0));
    if (!cut.last[i]) continue;
    times.released.push_back(port_free);
    times.done.push_back(answered.back());
  }
  return times;
}

/// The module behind a read channel.
class Sink : public sc_core::sc_module {
 public:
  MessageTarget<StreamMessage> socket;
  std::vector<Cycle> begins;

  Sink(const sc_core::sc_module_name& name, const SimContext& context, const Scene& scene)
      : sc_module(name), socket("socket"), context_(context), scene_(scene) {
    socket.register_b_transport(this, &Sink::take);
  }

 private:
  void take(StreamMessage& message, sc_core::sc_time&) {
    const auto* data = std::get_if<StreamMessage::Data>(&message.content);
    if (data == nullptr) return;
    const Cycle now = context_.clock.cycle_of(now_ps());
    begins.push_back(now);
    const Cycle accepted = now + scene_.hold + (data->count + scene_.width - 1) / scene_.width;
    message.answer = {accepted, scene_.hold, accepted + scene_.written_after};
  }
  SimContext context_;
  Scene scene_;
};

/// The output buffer of a store channel.
class Source : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Source> socket;
  std::vector<std::pair<Cycle, std::uint64_t>> reads;  // cycle and address of each beat

  Source(const sc_core::sc_module_name& name, const SimContext& context)
      : sc_module(name), socket("socket"), context_(context) {
    socket.register_b_transport(this, &Source::take);
  }

 private:
  void take(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    reads.emplace_back(context_.clock.cycle_of(now_ps() + static_cast<Picoseconds>(delay.value())),
                       payload.get_address());
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  SimContext context_;
};

void take_times(Times& times, const ScriptedTarget& memory, const UnitDriver& driver, const Scene& scene) {
  for (const auto& arrival : memory.arrivals) times.requests.push_back(arrival.cycle);
  for (int i = 1; i <= static_cast<int>(scene.bytes.size()); ++i) {
    times.released.push_back(driver.released(i));
    times.done.push_back(driver.done(i));
  }
}

DmaConfig dma_of(const Scene& scene) {
  DmaConfig config;
  config.burst_bytes = scene.burst, config.buffer_bytes = scene.buffer,
  config.max_outstanding = scene.outstanding;
  return config;
}

template <class Build>
std::string times_of(const Scene& scene, Build build) {
  return in_child([&] {
    strict_systemc();
    const SimContext context{ClockDomain(kPeriod)};
    UnitDriver driver("driver", context);
    ScriptedTarget memory("memory", context);
    memory.accept_cycles = scene.grant, memory.respond_cycles = scene.answer;
    return build(context, driver, memory);
  });
}

std::string read_times(const Scene& scene) {
  return times_of(scene, [&](const SimContext& context, UnitDriver& driver, ScriptedTarget& memory) {
    ReadChannel channel("channel", context, dma_of(scene), SwitchArrayConfig{}, Unit::kLoad, 16);
    Sink sink("sink", context, scene);
    driver.command.bind(channel.command);
    channel.completion.bind(driver.completion);
    channel.port.socket.bind(memory.socket);
    channel.stream.bind(sink.socket);
    for (std::size_t i = 0; i < scene.bytes.size(); ++i) {
      LoadInput load;
      load.address = 4096 * (i + 1), load.height = load.width = 1;
      load.channels = static_cast<std::uint16_t>(scene.bytes[i]);
      driver.send(kSentAt + static_cast<Cycle>(i), load);
    }
    sc_core::sc_start(to_sc_time(20000 * kPeriod));
    Times times;
    take_times(times, memory, driver, scene);
    times.bursts = sink.begins;
    return times.text();
  });
}

std::string store_times(const Scene& scene) {
  return times_of(scene, [&](const SimContext& context, UnitDriver& driver, ScriptedTarget& memory) {
    StoreChannel channel("channel", context, dma_of(scene), scene.width);
    Source source("source", context);
    driver.command.bind(channel.command);
    channel.completion.bind(driver.completion);
    channel.port.socket.bind(memory.socket);
    channel.source.bind(source.socket);
    for (std::size_t i = 0; i < scene.bytes.size(); ++i) {
      StoreOutput store;
      store.address = 4096 * (i + 1), store.rows = store.columns = 1;
      store.pixel_bytes = static_cast<std::uint32_t>(scene.bytes[i]);
      store.source = static_cast<std::uint32_t>(65536 * i);
      driver.send(kSentAt + static_cast<Cycle>(i), store);
    }
    sc_core::sc_start(to_sc_time(20000 * kPeriod));
    Times times;
    take_times(times, memory, driver, scene);
    std::string wrong;
    for (std::size_t i = 0; i < source.reads.size(); ++i) {
      const auto& [at, address] = source.reads[i];
      if (address % 65536 % static_cast<unsigned>(scene.burst) == 0) times.bursts.push_back(at);
      const bool goes_on = i > 0 &&
                           address == source.reads[i - 1].second + static_cast<unsigned>(scene.width) &&
                           address % 65536 % static_cast<unsigned>(scene.burst) != 0;
      if (goes_on && at != source.reads[i - 1].first + 1) wrong = "a burst is not read a beat a cycle\n";
    }
    return times.text() + wrong;
  });
}

TEST(LoadPath, SW_8_a_burst_alone_takes_its_way_and_its_beats) {
  Scene scene;
  scene.bytes = {256};
  // Sent in 10, requested in 11, answered in 31, streamed from 32 to 47, done in the cycle behind.
  EXPECT_EQ(read_times(scene), "requests 11\nbursts 32\nreleased 11\ndone 48\n");
}

TEST(LoadPath, CY_6_the_landing_buffer_is_free_when_the_last_beat_is_taken) {
  Scene scene;
  scene.buffer = 256, scene.bytes = {512};
  // The second burst finds no room until the first has left it, in cycle 48.
  EXPECT_EQ(read_times(scene), "requests 11 48\nbursts 32 69\nreleased 48\ndone 85\n");
  scene.buffer = 512;
  EXPECT_EQ(read_times(scene), "requests 11 12\nbursts 32 48\nreleased 12\ndone 64\n");
  scene.buffer = 511;
  EXPECT_EQ(read_times(scene), "requests 11 48\nbursts 32 69\nreleased 48\ndone 85\n");
}

TEST(StorePath, SW_8_a_burst_alone_is_read_then_requested) {
  Scene scene;
  scene.bytes = {256};
  // Read from 11 to 26, requested in 27, answered in 47, done in the cycle behind.
  EXPECT_EQ(store_times(scene), "requests 27\nbursts 11\nreleased 27\ndone 48\n");
}

TEST(StorePath, CY_6_staging_is_free_in_the_cycle_after_the_grant) {
  Scene scene;
  scene.buffer = 256, scene.bytes = {512}, scene.grant = 5;
  EXPECT_EQ(store_times(scene), "requests 27 49\nbursts 11 33\nreleased 49\ndone 70\n");
  scene.buffer = 512;
  EXPECT_EQ(store_times(scene), "requests 27 43\nbursts 11 27\nreleased 43\ndone 64\n");
}

Scene random_scene() {
  Scene scene;
  scene.width = 4 << number(0, 4);
  scene.burst = scene.width << number(0, 4);
  scene.buffer = scene.burst * number(1, 6) + number(0, scene.burst - 1);
  scene.outstanding = number(1, 6);
  scene.grant = one_in(2) ? 0 : number(1, 12);
  scene.answer = scene.grant + number(1, 60);
  scene.hold = one_in(2) ? 0 : number(1, 9);
  scene.written_after = one_in(2) ? 0 : number(1, 9);
  scene.bytes.clear();
  for (int i = number(1, 3); i > 0; --i) scene.bytes.push_back(number(1, std::min(4096, 12 * scene.burst)));
  return scene;
}

TEST(LoadPath, CY_6_random_loads_equal_a_plain_model_cycle_by_cycle) {
  check_cases(60, [] {
    const Scene scene = random_scene();
    RC_LOG() << scene.text() << "\n";
    RC_ASSERT(read_times(scene) == read_model(scene).text());
  });
}

TEST(StorePath, CY_6_random_stores_equal_a_plain_model_cycle_by_cycle) {
  check_cases(60, [] {
    const Scene scene = random_scene();
    RC_LOG() << scene.text() << "\n";
    RC_ASSERT(store_times(scene) == store_model(scene).text());
  });
}

}  // namespace
}  // namespace tilebeat::testing
