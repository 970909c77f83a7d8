// The reference beside a run (NU-5).
#include "app/reference_run.h"

#include "reference/reference.h"

#include <csignal>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

Workload workload_of(const std::string& model) {
  return load_workload(std::string(TILEBEAT_SOURCE_DIR) + "/models/" + model);
}

TEST(ReferenceRun, NU_5_gives_what_the_reference_gives) {
  const Workload workload = workload_of("resnet18_block.json");
  ReferenceRun run(workload);
  Progress progress;
  const std::map<std::string, Tensor> made = run.take(progress), expected = run_reference(workload);
  ASSERT_EQ(made.size(), expected.size());
  for (const auto& [layer, tensor] : expected) {
    EXPECT_EQ(made.at(layer).shape, tensor.shape) << layer;
    EXPECT_EQ(made.at(layer).bytes, tensor.bytes) << layer;
  }
}

TEST(ReferenceRun, NU_5_says_what_went_wrong) {
  Workload workload = workload_of("resnet18_block.json");
  workload.input_data.clear();
  ReferenceRun run(workload);
  Progress progress;
  EXPECT_THROW(run.take(progress), std::out_of_range);
}

TEST(ReferenceRun, UI_5_may_be_given_up_and_leaves_signals_as_they_were) {
  const Workload workload = workload_of("resnet18.json");
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  { const ReferenceRun run(workload); }  // ends behind the layer under way
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
}

}  // namespace
}  // namespace tilebeat::testing
