// Writes that were handed over before their time (SPEC CY-1): what a second port sees of them, and when.
#include "fabric/timed_writes.h"

#include "fabric/direct_access.h"
#include "random_cases.h"
#include "second_port.h"

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing::timed_writes {
namespace {

constexpr Picoseconds kPeriod = 1000;

struct TimedBank : ::testing::Test {
  TimedBank() {
    strict_systemc();
    writer.socket.bind(banks.banks[0]->ports[0]);
    other.socket.bind(banks.banks[1]->ports[0]);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }
  void write(std::uint64_t address, std::uint8_t value, Picoseconds after) {
    transport(writer.socket, writer.payload, tlm::TLM_WRITE_COMMAND, address, &value, 1, to_sc_time(after));
  }
  std::uint8_t read(std::uint64_t address, Picoseconds after = 0) {
    return banks.readers[0]->read(address, 1, after).front();
  }
  static void pass(Cycle cycles) { sc_core::sc_start(to_sc_time(cycles * kPeriod)); }
  SimContext context{ClockDomain(kPeriod)};
  WatchedBanks banks{context, 2, 64};
  SecondPort writer{"writer"}, other{"other"};
};

TEST_F(TimedBank, CY_1_a_write_of_a_later_clock_is_seen_from_that_clock_on) {
  write(8, 7, 3 * kPeriod);
  for (Cycle now = 0; now < 6; ++now, pass(1)) EXPECT_EQ(read(8), now >= 3 ? 7 : 0) << now;
}

TEST_F(TimedBank, CY_1_writes_of_successive_clocks_are_seen_one_after_the_other) {
  write(8, 7, 0);
  write(9, 7, kPeriod);
  for (Cycle now = 0; now < 3; ++now, pass(1)) {
    const std::vector<std::uint8_t> bytes = banks.readers[0]->read(8, 2);
    EXPECT_EQ(bytes[0], 7) << now;
    EXPECT_EQ(bytes[1], now >= 1 ? 7 : 0) << now;
  }
}

TEST_F(TimedBank, CY_1_a_read_ahead_of_time_sees_what_will_lie_there_and_shows_it_to_nobody) {
  write(8, 7, 3 * kPeriod);
  EXPECT_EQ(read(8, 2 * kPeriod), 0);
  EXPECT_EQ(read(8, 3 * kPeriod), 7);
  std::uint8_t byte = 0xEE;
  writer.payload.set_command(tlm::TLM_READ_COMMAND);
  writer.payload.set_address(8), writer.payload.set_data_ptr(&byte), writer.payload.set_data_length(1);
  writer.socket->transport_dbg(writer.payload);
  EXPECT_EQ(byte, 0) << "the present contents";
}

TEST_F(TimedBank, CY_1_the_later_of_two_writes_of_a_byte_stays) {
  write(8, 1, 2 * kPeriod);
  write(8, 2, 4 * kPeriod);
  EXPECT_EQ(read(8, 4 * kPeriod), 2);
  pass(3);
  EXPECT_EQ(read(8, 2 * kPeriod), 2);
  pass(4);
  EXPECT_EQ(read(8), 2);
}

TEST_F(TimedBank, CY_1_who_reads_without_transports_sees_each_word_at_its_clock) {
  DirectReader reader(1, 4);
  struct Sockets {
    tlm_utils::simple_initiator_socket<SecondPort>* socket;
    auto& operator[](std::size_t) { return *socket; }
    auto* begin() { return socket; }
    auto* end() { return socket + 1; }
  } one{&banks.readers[0]->socket};
  write(8, 7, 3 * kPeriod);
  for (Cycle now = 0; now < 6; ++now, pass(1)) {
    std::array<std::uint8_t, 4> word{};
    reader.read(one, 0, 8, word.data(), now_ps());
    EXPECT_EQ(word[0], now >= 3 ? 7 : 0) << now;
  }
}

TEST_F(TimedBank, CY_1_direct_access_that_was_granted_shows_each_word_at_its_clock) {
  const auto cells = ask_for_cells(banks.readers[0]->socket, tlm::TLM_READ_COMMAND, 0);
  ASSERT_TRUE(cells);
  write(8, 7, 3 * kPeriod);
  for (Cycle now = 0; now < 6; ++now, pass(1)) {
    cells->commit();
    EXPECT_EQ(cells->cells[8], now >= 3 ? 7 : 0) << now;
  }
}

TEST_F(TimedBank, CY_3_a_stuck_cell_is_changed_when_it_is_written) {
  banks.banks[0]->inject_fault(8, 0x40);
  write(8, 7, 2 * kPeriod);
  EXPECT_EQ(read(8), 0);
  pass(2);
  EXPECT_EQ(read(8), 0x47);
}

/// Cells of plain memory.
struct PlainCells : TimedCells {
  explicit PlainCells(std::size_t bytes) : memory(bytes) { cells_ = memory.data(); }
  void written(std::uint64_t, std::uint64_t) override {}
  std::vector<std::uint8_t> memory;
};

/// Cells of which some are watched.
struct WatchedCells : TimedCells {
  WatchedCells(std::size_t bytes, std::uint64_t begin, std::uint64_t end) : memory(bytes) {
    cells_ = memory.data();
    watched_begin_ = begin, watched_end_ = end;
  }
  void written(std::uint64_t begin, std::uint64_t end) override { told.emplace_back(begin, end); }
  std::vector<std::uint8_t> memory;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
};

// Six words of two bytes, eight bytes apart, of which two lie among the watched bytes.
TEST(TimedRuns, CY_3_words_of_a_run_are_told_where_they_are_watched) {
  TimedWrites row(1);
  WatchedCells bank(64, 16, 32);
  row.join(0, bank);
  WriteRun run;
  run.due = run.interval = kPeriod, run.address = 4, run.step = 8, run.words = 6, run.word_bytes = 2;
  row.add(run, std::vector<std::uint8_t>(12, 1).data());
  row.commit(10 * kPeriod);
  EXPECT_EQ(bank.told, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{20, 22}, {28, 30}}));
}

// The first port writes words in clocks 2, 4, 6 and 8, the second one in clocks 4 to 7, to the same bytes.
TEST(TimedRuns, CY_1_two_ports_write_a_byte_in_the_order_of_time) {
  TimedWrites row(1);
  PlainCells bank(8);
  row.join(0, bank);
  WriteRun slow;
  slow.due = slow.interval = 2 * kPeriod;
  slow.words = 4, slow.word_bytes = 1, slow.step = 1;
  WriteRun fast = slow;
  fast.port = 1, fast.due = 4 * kPeriod, fast.interval = kPeriod;
  row.add(slow, std::array<std::uint8_t, 4>{1, 2, 3, 4}.data());
  row.add(fast, std::array<std::uint8_t, 4>{11, 12, 13, 14}.data());
  row.commit(10 * kPeriod);
  bank.memory.resize(4);
  EXPECT_EQ(bank.memory, (std::vector<std::uint8_t>{11, 12, 13, 4}));
}

// ---- random runs against single bytes ----

/// What a run writes, byte by byte: time, number of the run, bank, address, value.
using ByteWrite = std::tuple<Picoseconds, int, std::size_t, std::uint64_t, std::uint8_t>;

TEST(TimedWritesProperty, CY_1_runs_write_what_their_words_would_write_one_by_one_in_the_order_of_time) {
  check_cases(60, [] {
    const auto count = static_cast<std::size_t>(number(1, 5));
    constexpr std::size_t kBytes = 256;
    TimedWrites row(count);
    std::vector<std::unique_ptr<PlainCells>> banks;
    for (std::size_t i = 0; i < count; ++i) {
      banks.push_back(std::make_unique<PlainCells>(kBytes));
      row.join(i, *banks.back());
    }
    const bool several_ports = one_in(2);
    std::vector<ByteWrite> all;
    std::vector<std::vector<std::uint8_t>> memory(count, std::vector<std::uint8_t>(kBytes));
    Picoseconds now = 0;
    int value = 0;
    // A bank's port writes in the order in which it is told to.
    std::vector<std::vector<Picoseconds>> free_at(2, std::vector<Picoseconds>(count, 0));
    WriteRun line;  // words at one time, at which the banks behind theirs are free; without words: none
    line.words = 0;
    for (int step = 0; step < 60; ++step) {
      if (one_in(3)) now += kPeriod * number(0, 4);
      WriteRun run;
      run.port = static_cast<std::uint8_t>(several_ports ? number(0, 1) : 0);
      run.walk = one_in(2) ? WriteRun::Walk::kInBank : WriteRun::Walk::kAcrossBanks;
      run.bank = static_cast<std::uint32_t>(number(0, static_cast<int>(count) - 1));
      run.word_bytes = static_cast<std::uint32_t>(number(1, 8));
      run.words = static_cast<std::uint32_t>(one_in(2) ? 1 : number(1, 9));
      run.together = run.walk == WriteRun::Walk::kInBank
                         ? 1U
                         : static_cast<std::uint32_t>(number(1, static_cast<int>(count)));
      run.interval = kPeriod * number(1, 2);
      run.step = static_cast<std::uint64_t>(number(0, 9));
      run.address = static_cast<std::uint64_t>(number(0, 150));
      const std::uint32_t behind = line.bank + line.words;
      const bool continues = line.words > 0 && behind < count && one_in(2);
      if (continues) {  // the next words of the line
        run = line, run.bank = behind, run.walk = WriteRun::Walk::kAcrossBanks;
        run.words = run.together = static_cast<std::uint32_t>(number(1, static_cast<int>(count - behind)));
      }
      std::vector<Picoseconds>& free = free_at[run.port];
      if (!continues) run.due = now + kPeriod * number(1, 6);
      if (run.walk == WriteRun::Walk::kInBank) {
        run.due = std::max(run.due, free[run.bank]);
      } else if (!continues) {
        run.due = std::max(run.due, *std::max_element(free.begin(), free.end()));
      }
      line = run;
      const bool is_free =
          std::all_of(free.begin() + run.bank, free.end(), [&](Picoseconds at) { return at <= run.due; });
      if (run.words > run.together || !(is_free || continues)) line.words = 0;
      // Banks in front of a line may be busy for longer than the line is.
      const Picoseconds end = run.due + run.words * run.interval;
      for (std::size_t i = 0; i < count; ++i)
        if (run.walk == WriteRun::Walk::kAcrossBanks || i == run.bank) free[i] = std::max(free[i], end);
      std::vector<std::uint8_t> bytes(std::size_t{run.words} * run.word_bytes);
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(++value);
      std::size_t bank = run.bank;
      std::uint64_t address = run.address;
      for (std::size_t word = 0; word < run.words; ++word) {
        const Picoseconds due = run.due + static_cast<Picoseconds>(word / run.together) * run.interval;
        for (std::size_t i = 0; i < run.word_bytes; ++i)
          all.emplace_back(due, step, bank, address + i, bytes[word * run.word_bytes + i]);
        if (run.walk == WriteRun::Walk::kInBank || ++bank == count) {
          if (run.walk == WriteRun::Walk::kAcrossBanks) bank = 0;
          address += run.step;
        }
      }
      row.add(run, bytes.data());
      if (one_in(3)) continue;
      // Everything that is due by `now`, and what somebody sees who looks further.
      const Picoseconds ahead = now + kPeriod * number(0, 9);
      std::stable_sort(all.begin(), all.end(), [](const ByteWrite& a, const ByteWrite& b) {
        return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
      });
      const auto apply = [&](std::vector<std::vector<std::uint8_t>>& to, Picoseconds until) {
        for (const auto& [due, number, in_bank, at, byte] : all)
          if (due <= until) to[in_bank][at] = byte;
      };
      row.commit(now);
      apply(memory, now);
      all.erase(all.begin(), std::find_if(all.begin(), all.end(), [now](const ByteWrite& write) {
                  return std::get<0>(write) > now;
                }));
      std::vector<std::vector<std::uint8_t>> later = memory;
      apply(later, ahead);
      for (std::size_t i = 0; i < count; ++i) {
        RC_ASSERT(banks[i]->memory == memory[i]);
        const auto from = static_cast<std::size_t>(number(0, 200)),
                   length = static_cast<std::size_t>(number(1, 50));
        std::vector<std::uint8_t> seen(memory[i].begin() + static_cast<std::ptrdiff_t>(from),
                                       memory[i].begin() + static_cast<std::ptrdiff_t>(from + length));
        row.look_ahead(i, from, seen.data(), length, ahead);
        RC_ASSERT(std::equal(seen.begin(), seen.end(), later[i].begin() + static_cast<std::ptrdiff_t>(from)));
      }
    }
  });
}

}  // namespace
}  // namespace tilebeat::testing::timed_writes
