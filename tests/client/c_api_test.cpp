// C's interface as a program uses it: the library starts the command that is built beside it.
#include "tilebeat/tilebeat.h"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kConfig = TILEBEAT_SOURCE_DIR "/configs/core1.json";
const std::string kChain = TILEBEAT_SOURCE_DIR "/models/small_chain.json";
// Adds x to itself: every element doubles.
const std::string kDouble = R"({"name": "double",
  "inputs": [{"name": "x", "shape": [1, 1, 2, 4], "dtype": "int8", "random": {"seed": 1}}],
  "layers": [{"name": "twice", "op": "add", "inputs": ["x", "x"], "requant": {"scale": 1}}],
  "outputs": ["twice"]})";

struct Freed {
  void operator()(tilebeat_result* result) const { tilebeat_free(result); }
};
using Result = std::unique_ptr<tilebeat_result, Freed>;

tilebeat_job job_of(const std::string& hardware, const std::string& workload) {
  tilebeat_job job{};
  job.size = sizeof job;
  job.hardware = hardware.c_str(), job.workload = workload.c_str();
  return job;
}

using Call = tilebeat_status (*)(const tilebeat_job*, tilebeat_result**);
Result called(Call call, const tilebeat_job& job) {
  tilebeat_result* made = nullptr;
  const tilebeat_status status = call(&job, &made);
  EXPECT_NE(made, nullptr);
  if (made != nullptr) {
    EXPECT_EQ(tilebeat_status_of(made), status);
  }
  return Result(made);
}

json report_of(const Result& result) {
  const char* const text = tilebeat_document(result.get(), "report.json");
  EXPECT_NE(text, nullptr) << tilebeat_error(result.get());
  return text != nullptr ? json::parse(text) : json::object();
}

// The folders that calls have left behind where temporary files are.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "client-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
    setenv("TMPDIR", path_.c_str(), 1);
  }
  ~TemporaryFolder() {
    unsetenv("TMPDIR");
    std::filesystem::remove_all(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  bool is_empty() const { return std::filesystem::is_empty(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(CApi, AP_1_a_run_hands_out_report_outputs_and_table) {
  const TemporaryFolder folder;
  const Result result = called(tilebeat_run, job_of(kConfig, kChain));
  ASSERT_EQ(tilebeat_status_of(result.get()), TILEBEAT_OK) << tilebeat_error(result.get());
  EXPECT_STREQ(tilebeat_error(result.get()), "");
  const json report = report_of(result);
  EXPECT_TRUE(report.at("passed"));
  EXPECT_GT(report.at("total").at("cycles"), 100);
  EXPECT_THAT(tilebeat_text(result.get()), HasSubstr("small_chain on core1"));
  ASSERT_EQ(tilebeat_tensor_count(result.get()), report.at("outputs").size());
  for (std::size_t i = 0; i < tilebeat_tensor_count(result.get()); ++i) {
    const tilebeat_tensor& tensor = *tilebeat_tensor_at(result.get(), i);
    std::size_t bytes = std::strcmp(tensor.type, "int32") == 0 ? 4 : 1;
    for (std::size_t axis = 0; axis < tensor.axes; ++axis)
      bytes *= static_cast<std::size_t>(tensor.shape[axis]);
    EXPECT_EQ(tensor.bytes, bytes) << tensor.name;
  }
  EXPECT_EQ(tilebeat_tensor_at(result.get(), tilebeat_tensor_count(result.get())), nullptr);
  EXPECT_EQ(tilebeat_document(result.get(), "nothing"), nullptr);
  EXPECT_TRUE(folder.is_empty()) << "files are left";
}

TEST(CApi, AP_1_elements_go_in_and_come_out) {
  std::vector<std::int8_t> elements{1, -2, 3, 40, -50, 63, -64, 0};
  const std::array<std::int64_t, 4> shape{1, 1, 2, 4};
  const tilebeat_tensor input{"x", "int8", shape.size(), shape.data(), elements.data(), elements.size()};
  tilebeat_job job = job_of(kConfig, kDouble);
  job.inputs = &input, job.input_count = 1;
  const Result result = called(tilebeat_run, job);
  ASSERT_EQ(tilebeat_status_of(result.get()), TILEBEAT_OK) << tilebeat_error(result.get());
  ASSERT_EQ(tilebeat_tensor_count(result.get()), 1U);
  const tilebeat_tensor& output = *tilebeat_tensor_at(result.get(), 0);
  EXPECT_STREQ(output.name, "twice");
  EXPECT_STREQ(output.type, "int8");
  EXPECT_EQ(std::vector<std::int64_t>(output.shape, output.shape + output.axes),
            std::vector<std::int64_t>(shape.begin(), shape.end()));
  ASSERT_EQ(output.bytes, elements.size());
  std::vector<std::int8_t> got(output.bytes);
  std::memcpy(got.data(), output.elements, output.bytes);
  for (std::int8_t& element : elements) element = static_cast<std::int8_t>(2 * element);
  EXPECT_EQ(got, elements);
}

TEST(CApi, AP_1_equal_jobs_have_equal_results) {
  const Result first = called(tilebeat_run, job_of(kConfig, kDouble));
  const Result second = called(tilebeat_run, job_of(kConfig, kDouble));
  ASSERT_EQ(tilebeat_status_of(first.get()), TILEBEAT_OK) << tilebeat_error(first.get());
  EXPECT_TRUE(report_of(first) == report_of(second));
  EXPECT_EQ(report_of(first).at("provenance").at("run").at("layer"), "workload.json");
  EXPECT_STREQ(tilebeat_text(first.get()), tilebeat_text(second.get()));
}

TEST(CApi, AP_1_an_error_names_its_path) {
  const TemporaryFolder folder;
  const std::string wrong = R"({"dataflow": "dilated", "switch_array": {"rows": -3}})";
  const Result result = called(tilebeat_run, job_of(wrong, kChain));
  EXPECT_EQ(tilebeat_status_of(result.get()), TILEBEAT_INVALID);
  EXPECT_STREQ(tilebeat_error_path(result.get()), "/switch_array/rows");
  EXPECT_THAT(tilebeat_error(result.get()), HasSubstr("hardware.json: /switch_array/rows: -3"));
  EXPECT_THAT(tilebeat_error(result.get()), Not(HasSubstr(folder.path()))) << "a place that nobody knows";
  EXPECT_EQ(tilebeat_document(result.get(), "report.json"), nullptr);
  EXPECT_TRUE(folder.is_empty());
}

TEST(CApi, AP_1_wrong_jobs_are_refused) {
  const std::array<std::int64_t, 2> shape{2, 3};
  const std::array<char, 6> elements{};
  const auto refused = [](const tilebeat_job& job, const char* why) {
    const Result result = called(tilebeat_run, job);
    EXPECT_EQ(tilebeat_status_of(result.get()), TILEBEAT_INVALID);
    EXPECT_THAT(tilebeat_error(result.get()), HasSubstr(why));
  };
  refused({}, "no size");
  tilebeat_job job = job_of(kConfig, kDouble);
  job.hardware = nullptr;
  refused(job, "no hardware");
  job = job_of(kConfig, kDouble);
  job.workload = nullptr;
  refused(job, "no workload");
  for (const auto& [input, why] : std::vector<std::pair<tilebeat_tensor, const char*>>{
           {{"x", "int8", 2, shape.data(), elements.data(), 5}, "input 0: has 5 bytes, its shape 6"},
           {{"x", "int24", 2, shape.data(), elements.data(), 12}, "type \"int24\""},
           {{nullptr, "int8", 2, shape.data(), elements.data(), 6}, "no name"},
           {{"x", "int8", 2, nullptr, elements.data(), 6}, "no shape"},
           {{"y", "int8", 2, shape.data(), elements.data(), 6}, "no such input"}}) {
    job = job_of(kConfig, kDouble);
    job.inputs = &input, job.input_count = 1;
    refused(job, why);
  }
  EXPECT_EQ(tilebeat_run(&job, nullptr), TILEBEAT_INVALID);
  tilebeat_result* made = nullptr;
  EXPECT_EQ(tilebeat_run(nullptr, &made), TILEBEAT_INVALID);
  tilebeat_free(made);
  tilebeat_free(nullptr);
}

TEST(CApi, AP_1_jobs_of_shorter_versions_are_understood) {
  tilebeat_job job = job_of(kConfig, kDouble);
  job.size = offsetof(tilebeat_job, mapping);
  job.mapping = "a field that this version has not";
  const Result result = called(tilebeat_run, job);
  EXPECT_EQ(tilebeat_status_of(result.get()), TILEBEAT_OK) << tilebeat_error(result.get());
}

TEST(CApi, AP_1_files_in_texts_begin_at_the_folder) {
  const TemporaryFolder folder;
  const Result first = called(tilebeat_run, job_of(kConfig, kDouble));
  std::string named = kDouble;
  named.replace(named.find(R"("random": {"seed": 1})"), 21, R"("file": "x.npy")");
  tilebeat_job job = job_of(kConfig, named);
  job.folder = folder.path().c_str();
  const Result missing = called(tilebeat_run, job);
  EXPECT_EQ(tilebeat_status_of(missing.get()), TILEBEAT_INVALID);
  EXPECT_THAT(tilebeat_error(missing.get()), HasSubstr(folder.path() + "/x.npy"));
  std::string expecting = kDouble;
  expecting.insert(expecting.rfind('}'), R"(, "expected": {"twice": "twice.npy"} // with a comment
)");
  job.workload = expecting.c_str();
  EXPECT_THAT(tilebeat_error(called(tilebeat_run, job).get()), HasSubstr(folder.path() + "/twice.npy"));
}

TEST(CApi, AP_1_a_plan_hands_out_a_mapping_that_runs) {
  const Result plan = called(tilebeat_plan, job_of(kConfig, kChain));
  ASSERT_EQ(tilebeat_status_of(plan.get()), TILEBEAT_OK) << tilebeat_error(plan.get());
  const char* const mapping = tilebeat_document(plan.get(), "mapping.json");
  ASSERT_NE(mapping, nullptr);
  tilebeat_job job = job_of(kConfig, kChain);
  const json free = report_of(called(tilebeat_run, job));
  job.mapping = mapping;
  EXPECT_EQ(report_of(called(tilebeat_run, job)).at("total").at("cycles"), free.at("total").at("cycles"));
}

TEST(CApi, AP_1_whatif_hands_out_its_table) {
  tilebeat_job job = job_of(kConfig, kDouble);
  const std::array<const char*, 2> options{"--knobs", "dram.preset"};
  job.options = options.data(), job.option_count = options.size();
  const Result result = called(tilebeat_whatif, job);
  ASSERT_EQ(tilebeat_status_of(result.get()), TILEBEAT_OK) << tilebeat_error(result.get());
  ASSERT_NE(tilebeat_document(result.get(), "whatif.json"), nullptr);
  EXPECT_TRUE(json::parse(tilebeat_document(result.get(), "whatif.json")).is_object());
  EXPECT_NE(tilebeat_document(result.get(), "whatif.html"), nullptr);
}

TEST(CApi, AP_1_files_in_options_begin_at_the_current_folder) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  tilebeat_job job = job_of(kConfig, kDouble);
  const std::array<const char*, 3> options{"--vcd", "wave.vcd", "--timeline=time.json"};
  job.options = options.data(), job.option_count = options.size();
  const Result result = called(tilebeat_run, job);
  std::filesystem::current_path(before);
  EXPECT_EQ(tilebeat_status_of(result.get()), TILEBEAT_OK) << tilebeat_error(result.get());
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/wave.vcd"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/time.json"));
}

// Whatever file an option of the help names begins in the current folder: what is written is there, what is
// missing is missed there.
TEST(CApi, AP_1_every_option_of_a_file_begins_at_the_current_folder) {
  const std::set<std::string> of_the_job{"--config", "--layer", "--out", "--program"};
  const std::regex of_file(R"(^ +(--[\w-]+) (?:FILE|DIR)\b)");
  for (const auto& [command, call] : {std::pair{"run", &tilebeat_run}, {"plan", &tilebeat_plan}}) {
    const std::array<const char*, 2> help{command, "--help"};
    tilebeat_result* made = nullptr;
    ASSERT_EQ(tilebeat_command(help.data(), help.size(), nullptr, nullptr, &made), TILEBEAT_OK);
    std::istringstream lines(tilebeat_text(made));
    tilebeat_free(made);
    int tried = 0;
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (!std::regex_search(line, match, of_file) || of_the_job.count(match[1]) > 0) continue;
      const std::string option = match[1];
      if (call == &tilebeat_plan && option == "--mapping") continue;  // the call writes it itself
      const TemporaryFolder folder;
      const auto before = std::filesystem::current_path();
      std::filesystem::current_path(folder.path());
      // Tables are compiled for the offset-table engine alone.
      const std::string offset = TILEBEAT_SOURCE_DIR "/configs/offset_cluster4x4.json";
      tilebeat_job job = job_of(option == "--tables" ? offset : kConfig, kDouble);
      std::vector<const char*> options{option.c_str(), "here"};
      if (option == "--fault-table") options.insert(options.end(), {"--fault-campaign", "1"});
      job.options = options.data(), job.option_count = options.size();
      const Result result = called(call, job);
      std::filesystem::current_path(before);
      const std::string here = folder.path() + "/here";
      EXPECT_TRUE(std::filesystem::exists(here) ||
                  std::string(tilebeat_error(result.get())).find(here) != std::string::npos)
          << command << ' ' << line << tilebeat_error(result.get());
      ++tried;
    }
    EXPECT_GE(tried, 3) << command;
  }
}

TEST(CApi, AP_1_any_command_runs) {
  const std::array<const char*, 2> arguments{"schema", "hardware"};
  tilebeat_result* made = nullptr;
  EXPECT_EQ(tilebeat_command(arguments.data(), arguments.size(), nullptr, nullptr, &made), TILEBEAT_OK);
  const Result result(made);
  EXPECT_TRUE(json::parse(tilebeat_text(made)).at("properties").contains("dataflow"));
}

TEST(CApi, AP_1_a_run_tells_what_share_is_simulated) {
  const std::string layer = TILEBEAT_SOURCE_DIR "/models/alexnet.json";
  tilebeat_job job = job_of(kConfig, layer);
  std::vector<std::pair<double, std::string>> told;
  job.user = &told;
  job.progress = [](void* user, const char*) {
    static_cast<std::vector<std::pair<double, std::string>>*>(user)->emplace_back(tilebeat_share(),
                                                                                  tilebeat_state());
    return 0;
  };
  const Result result = called(tilebeat_run, job);
  ASSERT_EQ(tilebeat_status_of(result.get()), TILEBEAT_OK) << tilebeat_error(result.get());
  double share = 0;
  std::set<double> between;
  for (const auto& [now, state] : told) {
    if (state.find("layers complete") == std::string::npos) continue;
    EXPECT_GE(now, share) << state;
    share = now;
    if (now > 0 && now < 1) between.insert(now);
  }
  EXPECT_GT(between.size(), 3U) << told.size();
  EXPECT_EQ(tilebeat_share(), 0);
  EXPECT_STREQ(tilebeat_state(), "");
}

TEST(CApi, AP_1_commands_of_many_runs_tell_how_many_are_done) {
  tilebeat_job job = job_of(kConfig, kChain);
  const std::array options{"--knobs", "dram"};
  job.options = options.data(), job.option_count = options.size();
  std::set<std::string> told;
  job.user = &told;
  job.progress = [](void* user, const char*) {
    static_cast<std::set<std::string>*>(user)->insert(tilebeat_state());
    return 0;
  };
  const Result result = called(tilebeat_whatif, job);
  ASSERT_EQ(tilebeat_status_of(result.get()), TILEBEAT_OK) << tilebeat_error(result.get());
  // The first one runs by itself.
  const std::regex many("[0-9]+ of [0-9]+ runs done");
  EXPECT_GT(std::count_if(told.begin(), told.end(),
                          [&](const std::string& state) { return std::regex_match(state, many); }),
            0);
}

TEST(CApi, AP_1_a_call_can_be_cancelled) {
  const TemporaryFolder folder;
  const std::string resnet = TILEBEAT_SOURCE_DIR "/models/resnet50.json";
  tilebeat_job job = job_of(kConfig, resnet);
  int asked = 0;
  job.user = &asked;
  job.progress = [](void* user, const char*) { return ++*static_cast<int*>(user) < 3 ? 0 : 1; };
  const Result result = called(tilebeat_run, job);
  EXPECT_EQ(tilebeat_status_of(result.get()), TILEBEAT_CANCELLED);
  EXPECT_STREQ(tilebeat_error(result.get()), "cancelled");
  EXPECT_EQ(tilebeat_document(result.get(), "report.json"), nullptr);
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(folder.is_empty());
}

TEST(CApi, AP_1_a_command_that_cannot_run_is_broken) {
  setenv("TILEBEAT_COMMAND", "/nonexistent/tilebeat", 1);
  const Result missing = called(tilebeat_run, job_of(kConfig, kDouble));
  EXPECT_EQ(tilebeat_status_of(missing.get()), TILEBEAT_BROKEN);
  EXPECT_THAT(tilebeat_error(missing.get()), HasSubstr("/nonexistent/tilebeat: cannot be started"));
  setenv("TILEBEAT_COMMAND", "/bin/sh", 1);
  const std::array<const char*, 2> arguments{"-c", "kill -KILL $$"};
  tilebeat_result* made = nullptr;
  EXPECT_EQ(tilebeat_command(arguments.data(), arguments.size(), nullptr, nullptr, &made), TILEBEAT_BROKEN);
  EXPECT_THAT(tilebeat_error(made), HasSubstr("ended by signal 9"));
  tilebeat_free(made);
  unsetenv("TILEBEAT_COMMAND");
}

TEST(CApi, AP_1_an_end_that_nobody_saw_is_no_success) {
  std::signal(SIGCHLD, SIG_IGN);  // the kernel forgets how processes ended
  const Result result = called(tilebeat_run, job_of(kConfig, kDouble));
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(tilebeat_status_of(result.get()), TILEBEAT_BROKEN);
  EXPECT_THAT(tilebeat_error(result.get()), HasSubstr("nobody knows how it ended"));
}

TEST(CApi, AP_1_calls_from_several_threads_share_nothing) {
  std::array<std::string, 4> reports;
  std::vector<std::thread> threads;
  for (std::string& report : reports)
    threads.emplace_back([&report] {
      const Result result = called(tilebeat_run, job_of(kConfig, kDouble));
      report = tilebeat_document(result.get(), "report.json");
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& report : reports) EXPECT_TRUE(report == reports[0]);
  EXPECT_THAT(reports[0], Not(IsEmpty()));
}

TEST(CApi, AP_1_versions_are_told) {
  EXPECT_EQ(tilebeat_abi(), TILEBEAT_ABI);
  const std::array<const char*, 1> arguments{"--version"};
  tilebeat_result* made = nullptr;
  ASSERT_EQ(tilebeat_command(arguments.data(), 1, nullptr, nullptr, &made), TILEBEAT_OK);
  EXPECT_THAT(tilebeat_text(made), HasSubstr(tilebeat_version()));
  tilebeat_free(made);
}

}  // namespace
