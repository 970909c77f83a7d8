// What the accesses of a task graph imply (SPEC MA-2).
#include "small_graph.h"
#include "tilebeat/error.h"

#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilebeat {

static bool operator==(const Dependency& a, const Dependency& b) {
  return std::tie(a.from, a.to, a.event, a.cause) == std::tie(b.from, b.to, b.event, b.cause);
}
static void PrintTo(const Dependency& d, std::ostream* out) {
  *out << d.from << " -> " << d.to << (d.event == TaskEvent::kDone ? " done" : " released") << " cause "
       << static_cast<int>(d.cause);
}

namespace testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr TaskEvent kDone = TaskEvent::kDone, kReleased = TaskEvent::kReleased;

class Dependencies : public ::testing::Test {
 protected:
  std::vector<Dependency> found() const { return dependencies_of(g_.graph); }
  // Units do not matter here.
  int add(std::vector<tilebeat::Access> accesses) { return g_.add(0, Unit::kIodma, std::move(accesses)); }

  SmallGraph g_;
};

TEST_F(Dependencies, MA_2_a_reader_waits_for_all_that_write_its_version) {
  const BufferId b = g_.buffer(BufferRole::kMap);
  add({write_of(b)});
  add({write_of(b)});
  add({read_of(b)});
  EXPECT_THAT(found(), UnorderedElementsAre(Dependency{0, 2, kDone, Activity::kMapLoad},
                                            Dependency{1, 2, kDone, Activity::kMapLoad}))
      << "two that write parts of one version do not wait for one another";
}

TEST_F(Dependencies, MA_2_readers_do_not_wait_for_one_another) {
  const BufferId b = g_.buffer();
  add({read_of(b)});
  add({read_of(b)});
  EXPECT_THAT(found(), IsEmpty()) << "what nobody writes is there";
}

TEST_F(Dependencies, MA_2_the_next_version_waits_until_the_readers_are_through) {
  const BufferId b = g_.buffer(BufferRole::kKernels);
  add({read_of(b)});
  add({read_of(b)});
  add({write_of(b, 1)});
  add({write_of(b, 1)});
  const Activity cause = Activity::kKernelRelease;
  EXPECT_THAT(found(),
              UnorderedElementsAre(Dependency{0, 2, kReleased, cause}, Dependency{1, 2, kReleased, cause},
                                   Dependency{0, 3, kReleased, cause}, Dependency{1, 3, kReleased, cause}));
}

TEST_F(Dependencies, MA_2_a_reader_that_needs_its_operands_to_the_end_says_so) {
  const BufferId b = g_.buffer(BufferRole::kKernels);
  Task reader = tagged_task(0, Unit::kMatrix, 0, {read_of(b)});
  reader.operands_free = kDone;
  g_.graph.add(reader);
  add({write_of(b, 1)});
  EXPECT_THAT(found(), ElementsAre(Dependency{0, 1, kDone, Activity::kKernelRelease}));
}

TEST_F(Dependencies, MA_2_the_next_version_of_what_nobody_read_waits_for_the_writers) {
  const BufferId b = g_.buffer(BufferRole::kResult);
  add({write_of(b)});
  add({write_of(b)});
  add({write_of(b, 1)});
  EXPECT_THAT(found(), UnorderedElementsAre(Dependency{0, 2, kDone, Activity::kOutputSpace},
                                            Dependency{1, 2, kDone, Activity::kOutputSpace}))
      << "a writer waits for the place, not for contents";
}

TEST_F(Dependencies, MA_2_readers_stand_for_the_writers_in_front_of_them) {
  const BufferId b = g_.buffer(BufferRole::kMap);
  add({write_of(b)});
  add({read_of(b)});
  add({write_of(b, 1)});
  add({read_of(b, 1)});
  add({write_of(b, 2)});
  EXPECT_THAT(found(), UnorderedElementsAre(Dependency{0, 1, kDone, Activity::kMapLoad},
                                            Dependency{1, 2, kReleased, Activity::kMapRelease},
                                            Dependency{2, 3, kDone, Activity::kMapLoad},
                                            Dependency{3, 4, kReleased, Activity::kMapRelease}));
}

TEST_F(Dependencies, MA_2_accumulations_run_in_the_order_in_which_they_were_added) {
  const BufferId b = g_.buffer(BufferRole::kOutput);
  add({write_of(b)});
  add({accumulate_in(b)});
  add({accumulate_in(b)});
  add({read_of(b)});
  const Activity cause = Activity::kOutputReady;
  EXPECT_THAT(found(), UnorderedElementsAre(Dependency{0, 1, kDone, cause}, Dependency{0, 2, kDone, cause},
                                            Dependency{1, 2, kDone, cause}, Dependency{0, 3, kDone, cause},
                                            Dependency{1, 3, kDone, cause}, Dependency{2, 3, kDone, cause}));
}

TEST_F(Dependencies, MA_2_the_first_accumulation_of_a_version_waits_for_the_place) {
  const BufferId b = g_.buffer(BufferRole::kOutput);
  add({read_of(b)});
  add({accumulate_in(b, 1)});
  EXPECT_THAT(found(), ElementsAre(Dependency{0, 1, kReleased, Activity::kOutputSpace}));
}

TEST_F(Dependencies, MA_2_a_task_does_not_wait_for_itself) {
  const BufferId b = g_.buffer(BufferRole::kMap);
  add({write_of(b)});
  add({read_of(b), write_of(b, 1)});  // over its own operand
  add({read_of(b, 1)});
  EXPECT_THAT(found(), UnorderedElementsAre(Dependency{0, 1, kDone, Activity::kMapLoad},
                                            Dependency{1, 2, kDone, Activity::kMapLoad}));
}

TEST_F(Dependencies, MA_2_over_its_own_operand_a_task_waits_for_the_other_readers) {
  const BufferId b = g_.buffer(BufferRole::kMap);
  add({read_of(b)});
  add({read_of(b), write_of(b, 1)});
  EXPECT_THAT(found(), ElementsAre(Dependency{0, 1, kReleased, Activity::kMapRelease}));
}

TEST_F(Dependencies, MA_2_buffers_are_apart) {
  const BufferId a = g_.buffer(), b = g_.buffer();
  add({write_of(a)});
  add({read_of(b)});
  add({write_of(b, 1)});
  EXPECT_THAT(found(), ElementsAre(Dependency{1, 2, kReleased, Activity::kMapRelease}));
}

TEST_F(Dependencies, MA_2_by_rising_number_of_the_task_that_waits) {
  const BufferId a = g_.buffer(), b = g_.buffer();
  for (int i = 0; i < 5; ++i) {
    add({write_of(a, i)});
    add({read_of(a, i), write_of(b, i)});
    add({read_of(b, i)});
  }
  int last = 0;
  for (const Dependency& d : found()) {
    EXPECT_LE(last, d.to);
    EXPECT_LT(d.from, d.to);
    last = d.to;
  }
}

TEST_F(Dependencies, MA_2_a_version_that_was_read_is_complete) {
  for (const AccessKind kind : {AccessKind::kWrite, AccessKind::kAccumulate}) {
    SmallGraph g;
    const BufferId b = g.buffer();
    g.add(0, Unit::kIodma, {write_of(b)});
    g.add(0, Unit::kIodma, {read_of(b)});
    g.add(0, Unit::kIodma, {{b, 0, kind}});
    EXPECT_THROW(dependencies_of(g.graph), SimulationError);
  }
}

TEST_F(Dependencies, MA_2_a_version_that_was_overwritten_is_gone) {
  for (const AccessKind kind : {AccessKind::kRead, AccessKind::kWrite, AccessKind::kAccumulate}) {
    SmallGraph g;
    const BufferId b = g.buffer();
    g.add(0, Unit::kIodma, {write_of(b)});
    g.add(0, Unit::kIodma, {write_of(b, 1)});
    g.add(0, Unit::kIodma, {{b, 0, kind}});
    EXPECT_THROW(dependencies_of(g.graph), SimulationError);
  }
}

TEST_F(Dependencies, MA_2_a_task_may_name_what_it_writes_before_what_it_reads) {
  const BufferId b = g_.buffer(BufferRole::kMap);
  add({write_of(b)});
  add({write_of(b, 1), read_of(b)});
  add({write_of(b, 2)});
  EXPECT_EQ(found().back(), (Dependency{1, 2, kDone, Activity::kMapRelease}));
}

TEST_F(Dependencies, MA_2_buffers_of_a_ring_are_filled_in_turn) {
  BufferRing ring(g_.graph, BufferRole::kStaging, 2);
  EXPECT_EQ(ring.count(), 2);
  for (int filling = 0; filling < 6; ++filling) {
    const BufferRing::Filling next = ring.next();
    EXPECT_EQ(next.place, filling % 2);
    EXPECT_EQ(next.version, filling / 2);
    EXPECT_EQ(g_.graph.role(next.buffer), BufferRole::kStaging);
    EXPECT_EQ(next.write().kind, AccessKind::kWrite);
    EXPECT_EQ(next.read().version, next.version);
  }
  EXPECT_EQ(g_.graph.buffers(), 2);
}

TEST_F(Dependencies, MA_2_what_is_taken_back_leaves_no_trace) {
  const BufferId b = g_.buffer();
  add({write_of(b)});
  const auto size = g_.graph.size();
  const BufferId later = g_.buffer();
  g_.graph.also(read_of(b));
  add({write_of(later)});
  g_.graph.shrink(size);
  add({write_of(b)});
  EXPECT_EQ(g_.graph.buffers(), 1);
  EXPECT_THAT(found(), IsEmpty()) << "the last task does not read as the one that was taken back did";
}

TEST_F(Dependencies, MA_2_a_task_may_have_any_number_of_accesses) {
  constexpr int kBuffers = 11;
  std::vector<tilebeat::Access> read;
  std::vector<Dependency> expected;
  for (int i = 0; i < kBuffers; ++i) {
    const BufferId b = g_.buffer(BufferRole::kMap);
    read.push_back(read_of(b));
    add({write_of(b)});
    expected.push_back({i, kBuffers, kDone, Activity::kMapLoad});
  }
  add(read);
  EXPECT_THAT(found(), ::testing::UnorderedElementsAreArray(expected));
}

}  // namespace
}  // namespace testing
}  // namespace tilebeat
