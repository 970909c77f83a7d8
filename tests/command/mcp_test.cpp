// `tilebeat mcp` as a client of the Model Context Protocol uses it, over two pipes.
#include "tilebeat_command.h"

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601,
              kInvalidParams = -32602, kNoResource = -32002;

const std::string kHardware = source_path("configs/core1.json");
const std::string kChain = source_path("models/small_chain.json");
// Measuring all of its knobs takes a minute.
const std::string kLong = source_path("models/vgg16_conv3_2.json");

// A server whose temporary files lie in a folder of their own.
class Client {
 public:
  Client() {
    std::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> in{}, out{};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0)
      throw std::runtime_error("pipe");
    to_ = in[1], from_ = out[0];
    process_ = fork();
    if (process_ == 0) {
      dup2(in[0], STDIN_FILENO), dup2(out[1], STDOUT_FILENO);
      setenv("TMPDIR", temporary_.path("").c_str(), 1);
      std::signal(SIGPIPE, SIG_DFL);
      execl(tilebeat_binary(), tilebeat_binary(), "mcp", nullptr);
      _exit(126);
    }
    close(in[0]), close(out[1]);
  }
  ~Client() {
    if (process_ > 0) kill(process_, SIGKILL), waitpid(process_, nullptr, 0);
    close_input(), close_output();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send_bytes(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = write(to_, bytes.data(), bytes.size());
      if (count <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void send(const json& message) const { send_bytes(message.dump() + "\n"); }
  /// The next message; null when there is none for a minute, or none any more.
  json receive() {
    std::size_t end = read_.find('\n');
    for (; end == std::string::npos; end = read_.find('\n')) {
      pollfd ready{from_, POLLIN, 0};
      std::array<char, 1 << 16> block{};
      if (poll(&ready, 1, 60'000) <= 0) return nullptr;
      const ssize_t count = read(from_, block.data(), block.size());
      if (count <= 0) return nullptr;
      read_.append(block.data(), static_cast<std::size_t>(count));
    }
    const std::string line = read_.substr(0, end);
    read_.erase(0, end + 1);
    return json::parse(line);
  }
  /// Sends a request and returns its answer; what comes before is in `notes`.
  json ask(const std::string& method, const json& params = json::object()) {
    send({{"jsonrpc", "2.0"}, {"id", ++asked_}, {"method", method}, {"params", params}});
    for (json message = receive(); !message.is_null(); message = receive()) {
      if (message.value("id", json()) == asked_) return message;
      notes.push_back(message);
    }
    return json::object();
  }
  json initialize(const std::string& version = "2025-06-18") {
    const json answer = ask("initialize", {{"protocolVersion", version},
                                           {"capabilities", json::object()},
                                           {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
    send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
    return answer.at("result");
  }
  /// Calls a tool and returns its text; a failure begins with "ERROR ".
  std::string tool(const std::string& name, const json& arguments) {
    const json answer = ask("tools/call", {{"name", name}, {"arguments", arguments}});
    if (!answer.contains("result")) return "ERROR " + answer.dump();
    const json& result = answer.at("result");
    structured = result.value("structuredContent", json());
    return (result.at("isError").get<bool>() ? "ERROR " : "") +
           result.at("content").at(0).at("text").get<std::string>();
  }
  void start_long_call(const json& id) const {
    send({{"jsonrpc", "2.0"},
          {"id", id},
          {"method", "tools/call"},
          {"params",
           {{"name", "whatif"},
            {"arguments", {{"hardware", kHardware}, {"workload", kLong}, {"budget_seconds", 600}}},
            {"_meta", {{"progressToken", "long"}}}}}});
  }
  void signal(int number) const { kill(process_, number); }
  void close_input() { close(std::exchange(to_, -1)); }
  void close_output() { close(std::exchange(from_, -1)); }
  /// Waits for its end: exit status, or 128 + signal. The test's time limit is that of a server that stays.
  int finish() {
    int status = 0;
    waitpid(std::exchange(process_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  bool has_left_files() const { return !std::filesystem::is_empty(temporary_.path("")); }

  std::vector<json> notes;
  json structured;

 private:
  TemporaryFolder temporary_;
  int to_ = -1, from_ = -1, asked_ = 0;
  pid_t process_ = -1;
  std::string read_;
};

int code_of(const json& message) {
  return message.contains("error") ? message.at("error").at("code").get<int>() : 0;
}

json ping(const json& id) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", "ping"}};
}

json job(const std::string& hardware = kHardware, const std::string& workload = kChain) {
  return {{"hardware", hardware}, {"workload", workload}};
}

TEST(Mcp, AP_4_versions_are_agreed_on) {
  for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18"}) {
    Client client;
    EXPECT_EQ(client.initialize(version).at("protocolVersion"), version);
  }
  Client client;
  EXPECT_EQ(code_of(client.ask("tools/list")), kInvalidRequest) << "nothing was agreed on yet";
  EXPECT_EQ(client.ask("ping").at("result"), json::object());
  EXPECT_EQ(code_of(client.ask("initialize", {{"protocolVersion", 3}})), kInvalidParams);
  const json result = client.initialize("2030-01-01");
  EXPECT_EQ(result.at("protocolVersion"), "2025-06-18");
  EXPECT_TRUE(result.at("capabilities").contains("tools"));
  EXPECT_EQ(result.at("serverInfo").at("name"), "tilebeat");
  client.close_input();
  EXPECT_EQ(client.finish(), 0);
}

TEST(Mcp, AP_4_a_run_says_what_the_command_says) {
  const CommandFolder folder;
  const CommandResult run = folder.run({"run", "--config", kHardware, "--layer", kChain});
  Client client;
  client.initialize();
  const std::string text = client.tool("run", job());
  EXPECT_THAT(text, StartsWith(run.out.substr(0, run.out.find("\nWrote "))));
  EXPECT_EQ(client.structured.at("total"), folder.report().at("total"));
  EXPECT_EQ(client.structured.at("report"), "tilebeat://reports/1");
  const json read =
      client.ask("resources/read", {{"uri", "tilebeat://reports/1"}}).at("result").at("contents").at(0);
  EXPECT_EQ(json::parse(read.at("text").get<std::string>()).at("layers"), folder.report().at("layers"));
  // The same of objects in place of files.
  json given = job();
  given["hardware"] = json::parse(read_bytes(kHardware), nullptr, true, true);
  EXPECT_THAT(client.tool("run", given), HasSubstr("tilebeat://reports/2"));
  EXPECT_EQ(client.structured.at("total"), folder.report().at("total"));
  EXPECT_FALSE(client.has_left_files());
}

TEST(Mcp, AP_4_every_tool_works) {
  Client client;
  client.initialize();
  std::vector<std::string> names;
  const json listed = client.ask("tools/list");
  for (const json& tool : listed.at("result").at("tools")) {
    names.push_back(tool.at("name"));
    EXPECT_EQ(tool.at("inputSchema").at("type"), "object") << tool;
    EXPECT_FALSE(tool.at("description").get<std::string>().empty()) << tool;
  }
  EXPECT_THAT(names, ::testing::ElementsAre("run", "plan", "whatif", "sweep", "explain", "schema", "docs"));
  json arguments = job();
  arguments["mapping"] = true;
  EXPECT_THAT(client.tool("plan", arguments),
              ::testing::AllOf(HasSubstr("layer conv1"), HasSubstr("tilebeat_mapping")));
  arguments = job();
  arguments["knobs"] = {"dram.channels"};
  EXPECT_THAT(client.tool("whatif", arguments), HasSubstr("dram.channels 1 -> 2"));
  arguments = job();
  arguments["axes"] = {{"/dram/channels", {1, 2}}, {"workload:/name", {"a", "b"}}};
  const std::string swept = client.tool("sweep", arguments);
  EXPECT_THAT(swept,
              ::testing::AllOf(HasSubstr("4 points, 4 passed"),
                               HasSubstr("\ndram.channels=2+name=b,2,b,passed,"), Not(HasSubstr("Wrote"))));
  EXPECT_THAT(client.tool("schema", {{"kind", "hardware"}}), HasSubstr("`/clock_mhz`"));
  const std::string schema = client.tool("schema", {{"kind", "sweep"}, {"table", false}});
  EXPECT_TRUE(json::parse(schema).contains("$schema"));
  EXPECT_FALSE(client.has_left_files());
}

TEST(Mcp, AP_4_explain_says_what_a_layer_waited_for) {
  const CommandFolder folder;
  folder.run({"run", "--config", kHardware, "--layer", kChain});
  const json conv2 = folder.report().at("layers").at(1);
  Client client;
  client.initialize();
  const std::string report = folder.path("tilebeat-out/report.json");
  const std::string all = client.tool("explain", {{"report", report}});
  EXPECT_THAT(all, HasSubstr("Layers with most cycles, 3 of 3"));
  const std::string text = client.tool("explain", {{"report", report}, {"layer", "conv2"}});
  for (const auto& [cause, cycles] : conv2.at("stall_cycles").items())
    EXPECT_THAT(text, ::testing::ContainsRegex("\n  " + cause + " +" + cycles.dump() + " ")) << text;
  EXPECT_THAT(text, HasSubstr("maps are not in the engine's buffers yet"));
  EXPECT_THAT(client.tool("explain", {{"report", report}, {"layer", "con2"}}),
              ::testing::AllOf(StartsWith("ERROR "), HasSubstr("the nearest name is conv2")));
  EXPECT_THAT(client.tool("explain", {{"report", "nowhere.json"}}),
              HasSubstr("ERROR nowhere.json: cannot be opened"));
  EXPECT_THAT(client.tool("explain", {{"report", kHardware}}), StartsWith("ERROR "));
}

TEST(Mcp, AP_4_pages_are_listed_read_and_searched) {
  Client client;
  client.initialize();
  std::vector<std::string> pages;
  const json listed = client.ask("resources/list");
  for (const json& resource : listed.at("result").at("resources")) pages.push_back(resource.at("uri"));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("docs")))
    files += entry.path().extension() == ".md" ? 1 : 0;
  EXPECT_EQ(pages.size(), files);
  const json read = client.ask("resources/read", {{"uri", "tilebeat://docs/whatif.md"}});
  EXPECT_EQ(read.at("result").at("contents").at(0).at("text"), read_bytes(source_path("docs/whatif.md")));
  EXPECT_EQ(client.tool("docs", {{"page", "whatif"}}), read_bytes(source_path("docs/whatif.md")));
  const std::string section = client.tool("docs", {{"page", "c_api.md#calls"}});
  EXPECT_THAT(section, ::testing::AllOf(StartsWith("## Calls\n"), HasSubstr("tilebeat_whatif")));
  EXPECT_THAT(client.tool("docs", {{"search", "bank_conflict"}}), HasSubstr("switch_array.md#"));
  EXPECT_THAT(client.tool("docs", {{"page", "whatiff"}}), HasSubstr("the nearest one is whatif.md"));
  EXPECT_THAT(client.tool("docs", {{"page", "../README"}}), StartsWith("ERROR there is no page"));
  for (const char* uri : {"tilebeat://docs/../README.md", "tilebeat://reports/1", "file:///etc/passwd"})
    EXPECT_EQ(code_of(client.ask("resources/read", {{"uri", uri}})), kNoResource) << uri;
}

TEST(Mcp, AP_4_wrong_messages_are_refused_and_the_server_stays) {
  Client client;
  client.initialize();
  const auto refused = [&](const std::string& line, int code) {
    client.send_bytes(line + "\n");
    const json answer = client.receive();
    EXPECT_EQ(code_of(answer), code) << line << answer;
    return answer;
  };
  for (const char* line : {"{", "nonsense", "{\"a\": 1, \"a\": 2}", "\xff", "{\"id\": 1e999}"})
    EXPECT_EQ(refused(line, kParseError).at("id"), nullptr);
  refused(std::string(100'000, '['), kParseError);
  refused(std::string("{\"a\": \"\0\"}", 9), kParseError);
  for (const char* line :
       {"3", "[]", "{}", R"({"id": 1, "method": "ping"})", R"({"jsonrpc": "1.0", "id": 1, "method": "ping"})",
        R"({"jsonrpc": "2.0", "id": 1})", R"({"jsonrpc": "2.0", "id": 1, "method": 2})",
        R"({"jsonrpc": "2.0", "id": null, "method": "ping"})",
        R"({"jsonrpc": "2.0", "id": 1.5, "method": "ping"})"})
    refused(line, kInvalidRequest);
  EXPECT_EQ(refused(R"({"jsonrpc": "2.0", "id": "x", "method": "tools/lost"})", kMethodNotFound).at("id"),
            "x");
  EXPECT_EQ(
      refused(R"({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]})", kInvalidParams).at("id"), 1);
  // Nothing is said to notifications, answers and blank lines.
  client.send_bytes("\n  \r\n");
  client.send({{"jsonrpc", "2.0"}, {"method", "notifications/unknown"}});
  client.send({{"jsonrpc", "2.0"}, {"id", 7}, {"result", json::object()}});
  client.send(ping("last"));
  EXPECT_EQ(client.receive().at("id"), "last");
}

TEST(Mcp, AP_4_wrong_arguments_name_their_place) {
  Client client;
  client.initialize();
  const auto refused = [&](const std::string& name, const json& arguments, const char* what) {
    const json answer = client.ask("tools/call", {{"name", name}, {"arguments", arguments}});
    EXPECT_EQ(code_of(answer), kInvalidParams) << answer;
    EXPECT_THAT(answer.dump(), HasSubstr(what));
  };
  refused("rum", json::object(), "there is no tool");
  refused("run", json::object(), "arguments: /hardware: is missing");
  refused("run", json::array(), "arguments: ");
  json arguments = job();
  arguments["maping"] = "x";
  refused("run", arguments, "mapping");
  refused("run", {{"hardware", 3}, {"workload", "x"}}, "/hardware: 3 is not allowed");
  refused("schema", {{"kind", "chair"}}, "hardware");
  arguments = job();
  arguments["axes"] = {{"/dram/channels", 3}};
  refused("sweep", arguments, "arguments: /axes/~1dram~1channels: 3 is not allowed");
  arguments = job();
  arguments["budget_seconds"] = 0;
  refused("whatif", arguments, "/budget_seconds: 0 is not allowed");
  // What the command refuses is a result that says so.
  arguments = job();
  arguments["hardware"] = {{"dram", {{"channels", 0}}}};
  EXPECT_THAT(client.tool("run", arguments),
              StartsWith("ERROR hardware.json: /dram/channels: 0 is not allowed"));
  arguments = job();
  arguments["options"] = {"--granulrity", "clock"};
  EXPECT_THAT(client.tool("run", arguments), HasSubstr("the nearest one is --granularity"));
  arguments["options"] = {"--help"};
  EXPECT_THAT(client.tool("run", arguments), StartsWith("ERROR ")) << "no run";
}

TEST(Mcp, AP_4_a_huge_line_is_refused_and_the_next_one_served) {
  Client client;
  client.initialize();
  const std::string block(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 130; ++i) client.send_bytes(block);
  client.send_bytes("\n" + ping(1).dump() + "\n");
  const json refused = client.receive();
  EXPECT_EQ(code_of(refused), kParseError);
  EXPECT_THAT(refused.dump(), HasSubstr("longer than 67108864 bytes"));
  EXPECT_EQ(client.receive().at("id"), 1);
}

TEST(Mcp, AP_4_lists_of_messages_are_answered_where_the_protocol_has_them) {
  Client client;
  client.initialize("2025-03-26");
  client.send(json::array({ping("a"), {{"jsonrpc", "2.0"}, {"method", "notifications/x"}}, 3, ping("b")}));
  const json answers = client.receive();
  ASSERT_EQ(answers.size(), 3U) << answers;
  EXPECT_EQ(answers.at(0).at("id"), "a");
  EXPECT_EQ(code_of(answers.at(1)), kInvalidRequest);
  EXPECT_EQ(answers.at(2).at("id"), "b");
  client.send(json::array({{{"jsonrpc", "2.0"}, {"method", "notifications/x"}}}));
  client.send(ping("c"));
  EXPECT_EQ(client.receive().at("id"), "c") << "nothing is answered to a list of notifications";
  Client other;
  other.initialize("2025-06-18");
  other.send(json::array({ping("a")}));
  EXPECT_EQ(code_of(other.receive()), kInvalidRequest);
}

TEST(Mcp, AP_4_a_call_tells_its_progress_until_it_is_cancelled) {
  Client client;
  client.initialize();
  client.start_long_call("slow");
  double progress = 0;
  for (int i = 0; i < 2; ++i) {
    const json note = client.receive();
    ASSERT_EQ(note.value("method", ""), "notifications/progress") << note;
    EXPECT_EQ(note.at("params").at("progressToken"), "long");
    EXPECT_GT(note.at("params").at("progress"), progress);
    progress = note.at("params").at("progress");
    EXPECT_EQ(note.at("params").at("total"), 1);
    EXPECT_LT(progress, 1);
  }
  client.start_long_call("slow");
  json answer = client.receive();
  while (answer.contains("method")) answer = client.receive();
  EXPECT_EQ(code_of(answer), kInvalidRequest) << "the id is in use";
  EXPECT_THAT(client.tool("docs", {{"page", "energy"}}), StartsWith("# Energy"))
      << "others are answered meanwhile";
  client.send(
      {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", "slow"}}}});
  client.close_input();
  for (json message = client.receive(); !message.is_null(); message = client.receive())
    EXPECT_FALSE(message.contains("id")) << "a cancelled call is not answered: " << message;
  EXPECT_EQ(client.finish(), 0);
  EXPECT_FALSE(client.has_left_files());
}

TEST(Mcp, AP_4_calls_are_answered_after_the_input_has_ended) {
  Client client;
  client.initialize();
  for (int id = 100; id < 103; ++id)
    client.send({{"jsonrpc", "2.0"},
                 {"id", id},
                 {"method", "tools/call"},
                 {"params", {{"name", "run"}, {"arguments", job()}}}});
  client.send_bytes(ping("without a line's end").dump());
  client.close_input();
  int answers = 0;
  for (json message = client.receive(); !message.is_null(); message = client.receive())
    answers += message.contains("result") ? 1 : 0;
  EXPECT_EQ(answers, 4);
  EXPECT_EQ(client.finish(), 0);
}

TEST(Mcp, AP_4_nobody_who_reads_ends_the_server_and_its_runs) {
  Client client;
  client.initialize();
  client.start_long_call("slow");
  client.receive();
  client.close_output();
  EXPECT_EQ(client.finish(), 1);
  EXPECT_FALSE(client.has_left_files());
}

TEST(Mcp, AP_4_a_signal_ends_the_server_and_its_runs) {
  Client client;
  client.initialize();
  client.start_long_call("slow");
  client.receive();
  client.signal(SIGTERM);
  EXPECT_EQ(client.finish(), 128 + SIGTERM);
  EXPECT_FALSE(client.has_left_files());
}

}  // namespace
}  // namespace tilebeat::testing
