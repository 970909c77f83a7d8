// The fuzz targets without a fuzzer: what lies in the corpus of each, and the same with a few bytes changed.
// A target ends the process where it finds something. scripts/fuzz searches further, with coverage and
// sanitizers; its planner target needs clang's headers and is not here.
#include "budget.h"
#include "mutated_bytes.h"
#include "replayed_targets.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

static void PrintTo(const ReplayedTarget& target, std::ostream* out) {
  *out << target.name;
}

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kMutations = 4000;  // of a target
volatile sig_atomic_t current = 0;

void tell_case(int signal) {
  std::fprintf(stderr, "case %d ended the process\n", static_cast<int>(current));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// The seeds of scripts/fuzz: the corpus, and the JSON files that come with the program.
std::vector<std::string> seeds_of(const std::string& target) {
  const fs::path source = TILEBEAT_SOURCE_DIR;
  std::vector<fs::path> folders{source / "tests/fuzz/corpus" / target};
  if (target == "hardware") folders.push_back(source / "configs");
  if (target == "workload") folders.push_back(source / "models");
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

class Replay : public ::testing::TestWithParam<ReplayedTarget> {};

TEST_P(Replay, UI_5_corpus_and_changed_bytes) {
  const std::vector<std::string> seeds = seeds_of(GetParam().name);
  ASSERT_FALSE(seeds.empty());
  const auto old_abort = std::signal(SIGABRT, tell_case), old_fault = std::signal(SIGSEGV, tell_case);
  const auto tried = [](const std::string& bytes) {
    GetParam().target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    current = current + 1;
  };
  for (const std::string& bytes : seeds) tried(bytes);
  std::mt19937_64 random(1);
  for (int i = 0; i < budget(kMutations); ++i) {
    std::string bytes = seeds[random() % seeds.size()];
    for (std::uint64_t rounds = 1 + random() % 3; rounds > 0; --rounds) bytes = mutated(bytes, random);
    tried(bytes);
  }
  std::signal(SIGABRT, old_abort);
  std::signal(SIGSEGV, old_fault);
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, ::testing::ValuesIn(kReplayedTargets),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace tilebeat::testing
