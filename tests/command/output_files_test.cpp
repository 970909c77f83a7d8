// What a run does to files that are there already, and what it leaves when it cannot end (SPEC UI-5).
#include "tilebeat_command.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace tilebeat::testing {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

constexpr const char* kWrittenConfig = "configs/switch16.json";
constexpr const char* kWrittenLayer = "models/worked_dilated.json";
constexpr const char* kWrittenChain = "models/small_chain.json";

std::vector<std::string> arguments_of(const std::string& workload, std::vector<std::string> more) {
  std::vector<std::string> arguments{"run", "--config", source_path(kWrittenConfig), "--layer",
                                     source_path(workload)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Waits until `there` holds; a run that is under way decides when.
bool eventually(const std::function<bool()>& there) {
  for (int i = 0; i < 3000; ++i) {
    if (there()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// What the run of the dilated example writes to --vcd and --timeline.
Files traces() {
  const CommandFolder folder;
  EXPECT_EQ(
      folder.run_layer(kWrittenConfig, kWrittenLayer, {"--vcd", "w.vcd", "--timeline", "t.json"}).status, 0);
  return folder.files();
}

TEST(OutputFiles, UI_3_a_timeline_does_not_change_the_waveform) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kWrittenConfig, kWrittenLayer, {"--vcd", "w.vcd"}).status, 0);
  const Files both = traces();
  EXPECT_EQ(read_bytes(folder.path("w.vcd")), both.at("w.vcd"));
  EXPECT_EQ(read_bytes(folder.path("tilebeat-out/report.json")), both.at("tilebeat-out/report.json"));
  ASSERT_EQ(
      folder.run_layer(kWrittenConfig, kWrittenLayer, {"--timeline", "t.json", "--granularity", "clock"})
          .status,
      0);
  EXPECT_EQ(read_bytes(folder.path("t.json")), both.at("t.json"));
}

TEST(OutputFiles, UI_5_a_pipe_is_written_straight_through) {
  const CommandFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const StartedCommand run = folder.start(arguments_of(kWrittenLayer, {"--vcd", "pipe"}));
  const std::string bytes = read_bytes(pipe);
  EXPECT_EQ(run.finish().status, 0);
  EXPECT_EQ(bytes, traces().at("w.vcd"));
  EXPECT_TRUE(fs::is_fifo(pipe)) << "it is still a pipe";
}

TEST(OutputFiles, UI_5_a_pipe_that_its_reader_leaves_is_an_error) {
  const CommandFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const StartedCommand run = folder.start(arguments_of(kWrittenLayer, {"--vcd", "pipe"}));
  close(open(pipe.c_str(), O_RDONLY));
  const CommandResult result = run.finish();
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "tilebeat: pipe: cannot be written: Broken pipe\n");
  EXPECT_EQ(folder.files(), Files{}) << "nothing but the pipe is there";
}

TEST(OutputFiles, UI_5_a_full_device_is_exit_2_and_stays_a_device) {
  const CommandFolder folder;
  fs::create_symlink("/dev/full", folder.path("full"));
  for (const char* option : {"--vcd", "--timeline"}) {
    const CommandResult result = folder.run_layer(kWrittenConfig, kWrittenLayer, {option, "full"});
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.err, "tilebeat: full: cannot be written: No space left on device\n");
    EXPECT_TRUE(fs::is_symlink(folder.path("full")));
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
    fs::remove(folder.path("full"));
    EXPECT_EQ(folder.files(), Files{}) << "nothing else is written";
    fs::create_symlink("/dev/full", folder.path("full"));
  }
  fs::create_symlink("/dev/null", folder.path("null"));
  EXPECT_EQ(folder.run_layer(kWrittenConfig, kWrittenLayer, {"--vcd", "null", "--timeline", "null"}).status,
            0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(OutputFiles, UI_5_a_symbolic_link_keeps_pointing_to_what_is_written) {
  const CommandFolder folder;
  fs::create_directory(folder.path("far"));
  folder.write("far/old.vcd", "old");
  fs::create_symlink("far/old.vcd", folder.path("w.vcd"));
  fs::create_symlink("far/new.json", folder.path("t.json"));
  const CommandResult result =
      folder.run_layer(kWrittenConfig, kWrittenLayer, {"--vcd", "w.vcd", "--timeline", "t.json"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(fs::read_symlink(folder.path("w.vcd")), "far/old.vcd");
  EXPECT_EQ(fs::read_symlink(folder.path("t.json")), "far/new.json");
  const Files expected = traces();
  EXPECT_EQ(read_bytes(folder.path("far/old.vcd")), expected.at("w.vcd"));
  EXPECT_EQ(read_bytes(folder.path("far/new.json")), expected.at("t.json"));
}

TEST(OutputFiles, UI_5_new_files_have_the_usual_mode_and_old_ones_theirs) {
  const CommandFolder folder;
  folder.write("w.vcd", "old");
  ASSERT_EQ(chmod(folder.path("w.vcd").c_str(), 0640), 0);
  const mode_t before = umask(027);
  EXPECT_EQ(
      folder.run_layer(kWrittenConfig, kWrittenLayer, {"--vcd", "w.vcd", "--timeline", "t.json"}).status, 0);
  umask(before);
  const auto mode = [&](const char* name) {
    return static_cast<unsigned>(fs::status(folder.path(name)).permissions());
  };
  EXPECT_EQ(mode("w.vcd"), 0640U);
  EXPECT_EQ(mode("t.json"), 0640U);
  EXPECT_EQ(mode("tilebeat-out"), 0750U);
  EXPECT_EQ(mode("tilebeat-out/report.json"), 0640U);
}

TEST(OutputFiles, UI_5_files_of_the_user_stay) {
  const CommandFolder folder;
  for (const char* name : {"tilebeat-out", "tilebeat-out/outputs", "tilebeat-out.partial"})
    fs::create_directory(folder.path(name));
  const std::vector<std::string> mine{"tilebeat-out/notes.txt", "tilebeat-out/outputs/mine.npy",
                                      "tilebeat-out.partial/mine.txt", "w.vcd.partial", "t.json.partial"};
  for (const std::string& name : mine) folder.write(name, "mine");
  for (const char* workload : {kWrittenChain, kWrittenLayer}) {
    const CommandResult result =
        folder.run_layer(kWrittenConfig, workload, {"--vcd", "w.vcd", "--timeline", "t.json"});
    EXPECT_EQ(result.status, 0) << result.err;
    for (const std::string& name : mine) EXPECT_EQ(read_bytes(folder.path(name)), "mine") << name;
  }
  for (const auto& [name, bytes] : folder.files())
    EXPECT_EQ(name.find(".tilebeat-"), std::string::npos) << name << " was left behind";
}

TEST(OutputFiles, UI_5_outputs_of_an_earlier_run_go_unless_this_one_reads_them) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kWrittenConfig, kWrittenLayer).status, 0);
  nlohmann::json model = nlohmann::json::parse(read_bytes(source_path(kWrittenLayer)), nullptr, true, true);
  nlohmann::json& layer = model["layers"][0];
  layer["name"] = "second", layer["dilation"] = {1, 1};
  model["outputs"] = {"second"};
  folder.write("second.json", model.dump());
  const std::vector<std::string> run{"run", "--config", source_path(kWrittenConfig), "--layer",
                                     "second.json"};
  ASSERT_EQ(folder.run(run).status, 0);
  EXPECT_EQ(folder.tensors("tilebeat-out").size(), 1U) << "conv1.npy would pass for a result";

  ASSERT_EQ(folder.run_layer(kWrittenConfig, kWrittenLayer, {"--out", "chain"}).status, 0);
  const nlohmann::json shape = {1, 4, 10, 16};
  model["inputs"] = {{{"name", "x"}, {"shape", shape}, {"file", "chain/outputs/conv1.npy"}}};
  folder.write("second.json", model.dump());
  std::vector<std::string> chained = run;
  chained.insert(chained.end(), {"--out", "chain"});
  const CommandResult result = folder.run(chained);
  EXPECT_EQ(result.status, 0) << result.err;
  const Files files = folder.files("chain/outputs");
  EXPECT_TRUE(files.count("conv1.npy") && files.count("second.npy")) << "what the run has read stays";
}

struct Clash {
  const char* name;
  std::vector<std::string> options;
  const char* message;
};
void PrintTo(const Clash& clash, std::ostream* out) {
  *out << clash.name;
}
class RefusedOutput : public ::testing::TestWithParam<Clash> {};

TEST_P(RefusedOutput, UI_5_exit_2_before_simulating_and_nothing_changed) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kWrittenConfig, kWrittenLayer, {"--out", "earlier"}).status, 0);
  nlohmann::json model = nlohmann::json::parse(read_bytes(source_path(kWrittenLayer)), nullptr, true, true);
  fs::copy(folder.path("earlier/outputs/conv1.npy"), folder.path("wanted.npy"));
  model["expected"] = {{"conv1", "wanted.npy"}};
  folder.write("layer.json", model.dump());
  model["expected"] = {{"conv1", "earlier/outputs/conv1.npy"}};
  folder.write("reads_earlier.json", model.dump());
  fs::copy(source_path(kWrittenConfig), folder.path("hw.json"));
  fs::create_symlink("hw.json", folder.path("link.json"));
  fs::create_directories(folder.path("folders/report.json"));
  fs::create_directories(folder.path("tensor_folder/outputs/conv1.npy"));
  fs::create_directory(folder.path("file"));
  folder.write("file/outputs", "no folder");
  folder.write("w.vcd", "old");
  const Files before = folder.files();
  std::vector<std::string> arguments = GetParam().options;
  if (arguments.front() != "--layer") arguments.insert(arguments.end(), {"--layer", "layer.json"});
  arguments.insert(arguments.begin(), {"run", "--config", "hw.json"});
  const CommandResult result = folder.run(arguments);
  EXPECT_EQ(result.status, 2) << result.out;
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << "one line: " << result.err;
  EXPECT_EQ(folder.files(), before) << "nothing is written";
  EXPECT_TRUE(fs::is_symlink(folder.path("link.json")));
}

INSTANTIATE_TEST_SUITE_P(
    Places, RefusedOutput,
    ::testing::Values(
        Clash{"vcd_is_the_config", {"--vcd", "hw.json"}, "--vcd: hw.json is read by this run"},
        Clash{"vcd_links_to_the_config", {"--vcd", "link.json"}, "--vcd: link.json is read by this run"},
        Clash{"vcd_is_the_layer", {"--vcd", "./earlier/../layer.json"}, "is read by this run"},
        Clash{"timeline_is_a_tensor", {"--timeline", "wanted.npy"}, "--timeline: wanted.npy is read"},
        Clash{"vcd_is_the_timeline", {"--vcd", "a", "--timeline", "./a"}, "are the same file"},
        Clash{"vcd_is_the_old_timeline", {"--vcd", "w.vcd", "--timeline", "w.vcd"}, "are the same file"},
        Clash{"vcd_is_out", {"--vcd", "o", "--out", "o"}, "--vcd o and --out o"},
        Clash{"out_is_below_vcd", {"--vcd", "o", "--out", "o/p"}, "--vcd o and --out o/p"},
        Clash{"vcd_is_the_report", {"--vcd", "o/report.json", "--out", "o"}, "the report is written there"},
        Clash{"timeline_is_among_the_tensors",
              {"--timeline", "o/outputs/t.json", "--out", "o/"},
              "the folder outputs is for output tensors"},
        Clash{"report_is_a_folder", {"--out", "folders"}, "folders/report.json: is a folder"},
        Clash{"tensor_is_a_folder", {"--out", "tensor_folder"}, "outputs/conv1.npy: is a folder"},
        Clash{"outputs_is_a_file", {"--out", "file"}, "file/outputs: is a file"},
        Clash{"tensor_is_read", {"--layer", "reads_earlier.json", "--out", "earlier"}, "is read by this run"},
        Clash{"out_is_empty", {"--out", ""}, "--out"}, Clash{"vcd_is_empty", {"--vcd", ""}, "--vcd"},
        Clash{"timeline_is_empty", {"--timeline", ""}, "--timeline"}),
    [](const auto& test) { return test.param.name; });

TEST(OutputFiles, UI_5_traces_may_lie_in_the_output_folder) {
  const CommandFolder folder;
  const CommandResult result = folder.run_layer(kWrittenConfig, kWrittenLayer,
                                                {"--out", "o", "--vcd", "o/w.vcd", "--timeline", "o/t.json"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(folder.files("o").size(), 7U);
}

TEST(OutputFiles, UI_5_files_that_grow_too_large_leave_everything_as_it_was) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kWrittenConfig, kWrittenChain, {"--vcd", "w.vcd"}).status, 0);
  const Files before = folder.files();
  CommandSetting limited;
  limited.max_file_bytes = 4096;
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--vcd", "w.vcd"}, {"--timeline", "t.json"}, {"--out", "new/o"}}) {
    const CommandResult result = folder.run(arguments_of(kWrittenLayer, more), limited);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_NE(result.err.find("cannot be written: File too large"), std::string::npos) << result.err;
    EXPECT_EQ(folder.files(), before);
  }
}

// A pipe holds the run back before its last steps: meanwhile the place of the report becomes a folder.
TEST(OutputFiles, UI_5_a_report_that_cannot_be_written_any_more_leaves_everything_as_it_was) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kWrittenConfig, kWrittenChain, {"--vcd", "w.vcd"}).status, 0);
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const StartedCommand run =
      folder.start(arguments_of(kWrittenLayer, {"--vcd", "w.vcd", "--timeline", "pipe"}));
  ASSERT_TRUE(eventually([&] {
    for (const auto& [name, bytes] : folder.files()) {
      if (name.rfind(".tilebeat-", 0) == 0) return true;
    }
    return false;
  })) << "the run has checked its places";
  fs::remove(folder.path("tilebeat-out/report.json"));
  fs::create_directory(folder.path("tilebeat-out/report.json"));
  Files before = folder.files();
  for (auto file = before.begin(); file != before.end();)
    file = file->first.rfind(".tilebeat-", 0) == 0 ? before.erase(file) : std::next(file);
  read_bytes(folder.path("pipe"));
  const CommandResult result = run.finish();
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("report.json: is a folder"), std::string::npos) << result.err;
  EXPECT_EQ(folder.files(), before) << "the old waveform and tensors are there, nothing new";
}

// A pipe holds the first run back while the second one starts.
TEST(OutputFiles, UI_5_one_run_at_a_time_writes_into_a_folder) {
  const CommandFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const StartedCommand first =
      folder.start(arguments_of(kWrittenLayer, {"--out", "o", "--timeline", "pipe"}));
  ASSERT_TRUE(eventually([&] { return fs::exists(folder.path("o/outputs")); }));
  const CommandResult second = folder.run(arguments_of(kWrittenChain, {"--out", "o"}));
  EXPECT_EQ(second.status, 2);
  EXPECT_NE(second.err.find("o: another run is writing there"), std::string::npos) << second.err;
  read_bytes(folder.path("pipe"));
  EXPECT_EQ(first.finish().status, 0);
  EXPECT_EQ(folder.report("o").at("workload"), "worked_dilated");
  EXPECT_EQ(folder.run(arguments_of(kWrittenChain, {"--out", "o"})).status, 0) << "the next one may";
}

// The lock goes with the process.
TEST(OutputFiles, UI_5_a_killed_run_keeps_nobody_out) {
  const CommandFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  const StartedCommand first =
      folder.start(arguments_of(kWrittenLayer, {"--out", "o", "--timeline", "pipe"}));
  ASSERT_TRUE(eventually([&] { return fs::exists(folder.path("o/outputs")); }));
  first.signal(SIGKILL);
  EXPECT_EQ(first.finish().status, 128 + SIGKILL);
  EXPECT_EQ(folder.run(arguments_of(kWrittenChain, {"--out", "o"})).status, 0);
}

TEST(OutputFiles, UI_5_an_output_that_is_another_one_under_a_second_name_is_refused) {
  const CommandFolder folder;
  ASSERT_EQ(folder.run_layer(kWrittenConfig, kWrittenLayer, {"--out", "o"}).status, 0);
  fs::remove(folder.path("o/outputs/conv1.npy"));
  fs::create_symlink("../report.json", folder.path("o/outputs/conv1.npy"));
  const Files before = folder.files();
  const CommandResult result = folder.run_layer(kWrittenConfig, kWrittenLayer, {"--out", "o"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("o/report.json and o/outputs/conv1.npy: are the same file"), std::string::npos)
      << result.err;
  EXPECT_EQ(folder.files(), before);
}

TEST(OutputFiles, UI_5_what_a_program_reads_is_an_input) {
  const CommandFolder folder;
  const std::string program =
      folder.write("p.program", ".data 0x10000 x.npy\n.program core 0.0\nlayer.end\nhalt\n");
  ASSERT_EQ(folder.run_layer(kWrittenConfig, kWrittenLayer, {"--out", "o"}).status, 0);
  fs::copy(folder.path("o/outputs/conv1.npy"), folder.path("x.npy"));
  const Files before = folder.files();
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--timeline", "x.npy"}, {"--timeline", "p.program"}, {"--vcd", "x.npy"}}) {
    std::vector<std::string> arguments{"run", "--config", source_path("configs/core1.json"), "--program",
                                       program};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = folder.run(arguments);
    EXPECT_EQ(result.status, 2) << more[1];
    EXPECT_NE(result.err.find(more[0] + ": " + more[1] + " is read by this run"), std::string::npos)
        << result.err;
    EXPECT_EQ(folder.files(), before);
  }
}

// Exit statuses tell what nobody can read.
TEST(OutputFiles, UI_5_a_standard_error_that_cannot_be_written_changes_nothing) {
  const CommandFolder folder;
  const auto status_of = [&](const std::string& arguments, const std::string& to) {
    const std::string line =
        fmt::format("cd {} && {} {} >/dev/null 2>{}", folder.path(""), TILEBEAT_BINARY, arguments, to);
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  };
  const std::string good =
      fmt::format("run --config {} --layer {}", source_path(kWrittenConfig), source_path(kWrittenLayer));
  for (const char* to : {"&-", "/dev/full"}) {
    EXPECT_EQ(status_of("run --config missing.json --layer missing.json", to), 2) << to;
    EXPECT_EQ(status_of("frobnicate", to), 2) << to;
    EXPECT_EQ(status_of(good, to), 0) << to;
  }
}

class Interrupted : public ::testing::TestWithParam<int> {};

TEST_P(Interrupted, UI_5_a_signal_removes_what_is_not_complete) {
  const CommandFolder folder;
  folder.write("w.vcd", "old");
  const Files before = folder.files();
  const StartedCommand run = folder.start(
      arguments_of("models/vgg16_conv3_2.json", {"--granularity", "clock", "--vcd", "w.vcd", "--vcd-signals",
                                                 "clk", "--timeline", "t.json", "--out", "a/b"}));
  ASSERT_TRUE(eventually([&] { return folder.files().size() > before.size() + 4; }))
      << "folders and two traces";
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  run.signal(GetParam());
  const CommandResult result = run.finish();
  EXPECT_EQ(result.status, 128 + GetParam()) << result.err;
  EXPECT_EQ(folder.files(), before);
  const bool said = result.err.find("tilebeat: interrupted behind clock ") != std::string::npos &&
                    result.err.find(" of 1 layers complete; nothing was written\n") != std::string::npos;
  EXPECT_EQ(said, GetParam() == SIGINT) << result.err;
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupted, ::testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& test) { return sigabbrev_np(test.param); });

TEST(OutputFiles, UI_5_a_signal_that_is_ignored_stays_ignored) {
  const CommandFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  CommandSetting background;
  background.interrupts_ignored = true;
  const StartedCommand run = folder.start(arguments_of(kWrittenLayer, {"--vcd", "pipe"}), background);
  ASSERT_TRUE(eventually([&] { return !folder.files().empty(); }));
  run.signal(SIGINT);
  read_bytes(folder.path("pipe"));
  EXPECT_EQ(run.finish().status, 0);
}

}  // namespace
}  // namespace tilebeat::testing
