#include "app/mcp/server.h"

#include "app/command_options.h"
#include "app/commands.h"
#include "app/provenance.h"
#include "schema/json_file.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace tilebeat::mcp {
namespace {

constexpr std::array<std::string_view, 3> kVersions{"2024-11-05", "2025-03-26", "2025-06-18"};
constexpr std::string_view kWithoutBatches = kVersions[2], kLatest = kVersions[2];
constexpr std::size_t kMostCalls = 16;      // at the same time
constexpr std::size_t kMostText = 100'000;  // characters of an answer
constexpr std::string_view kPages = "tilebeat://docs/";

constexpr const char* kInstructions =
    "Tilebeat simulates a neural-network processor, cycle by cycle: a hardware file and a workload file go "
    "in, "
    "cycles, bytes, energy and outputs come out. Files are paths or objects; schema says their fields. run "
    "simulates, explain says what a layer waited for, whatif measures what changes of the hardware bring: do "
    "not "
    "advise one that was not measured. docs reads and searches the documentation.";

bool is_id(const Json& id) {
  return id.is_string() || id.is_number_integer();
}

// The text at `key` of a request's parameters.
std::string text_at(const Json& params, const char* key) {
  if (!params.contains(key) || !params[key].is_string())
    throw RequestError(ErrorCode::kInvalidParams, fmt::format("params: /{}: a text is expected", key));
  return params[key].get<std::string>();
}

std::string shortened(std::string text) {
  if (text.size() <= kMostText) return text;
  const std::size_t left = text.size() - kMostText;
  text.resize(kMostText);
  return text + fmt::format("\n... ({} more characters)\n", left);
}

OrderedJson result_json(ToolResult result, bool with_structure) {
  OrderedJson json{{"content", {{{"type", "text"}, {"text", shortened(std::move(result.text))}}}},
                   {"isError", result.failed}};
  if (with_structure && !result.structured.is_null())
    json["structuredContent"] = std::move(result.structured);
  return json;
}

// Tells of the progress of a call, once a second, and what the command says.
class ProgressNotes {
 public:
  ProgressNotes(Json token, Output& output) : token_(std::move(token)), output_(output) {}

  void tell(const char* line, const Advance& advance) {
    if (token_.is_null()) return;
    const Clock::time_point now = Clock::now();
    if (line == nullptr && now < told_ + std::chrono::seconds(1)) return;
    told_ = now;
    constexpr double kLeast = 1e-6;  // it has to grow
    share_ = std::max(share_ + kLeast, advance.share);
    OrderedJson params{{"progressToken", token_}, {"progress", share_}, {"total", 1}};
    if (line != nullptr || !advance.text.empty()) params["message"] = line != nullptr ? line : advance.text;
    output_.send(notification("notifications/progress", std::move(params)));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Json token_;
  Output& output_;
  Clock::time_point told_ = Clock::now();
  double share_ = 0;
};

Json progress_token(const Json& params) {
  const Json meta = params.value("_meta", Json::object());
  if (!meta.is_object() || !meta.contains("progressToken") || !is_id(meta["progressToken"])) return nullptr;
  return meta["progressToken"];
}

}  // namespace

Server::Server(int from, int to, int signals) : from_(from), signals_(signals), output_(to, signals) {}

int Server::serve() {
  constexpr int kTick = 100;  // milliseconds, to see whether calls have ended and somebody reads
  std::array<pollfd, 2> ends{{{from_, POLLIN, 0}, {signals_, POLLIN, 0}}};
  std::vector<char> block(1 << 16);
  int signal = 0;
  while (signal == 0 && !output_.is_closed()) {
    reap();
    if (ends[0].fd < 0 && calls_.empty()) break;
    if (poll(ends.data(), ends.size(), calls_.empty() ? -1 : kTick) <= 0) continue;
    signalfd_siginfo arrived{};
    if (ends[1].revents != 0 && read(signals_, &arrived, sizeof arrived) == sizeof arrived)
      signal = static_cast<int>(arrived.ssi_signo);
    if (ends[0].fd < 0 || ends[0].revents == 0) continue;
    const ssize_t count = read(from_, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count > 0)
      lines_.add(block.data(), static_cast<std::size_t>(count));
    else
      lines_.end(), ends[0].fd = -1;
    take_lines();
  }
  cancel_all();
  return signal;
}

void Server::take_lines() {
  std::string line;
  for (Lines::Found found = lines_.next(line); found != Lines::Found::kNothing; found = lines_.next(line)) {
    if (found == Lines::Found::kTooLong)
      output_.send(error_message(nullptr, ErrorCode::kParseError,
                                 fmt::format("a message is longer than {} bytes", kMostLineBytes)));
    else if (line.find_first_not_of(" \t\r") != std::string::npos)
      take(line);
  }
}

void Server::take(const std::string& line) {
  Json message;
  try {
    message = parse_json(line, "message");
  } catch (const UserError& error) {
    return output_.send(error_message(nullptr, ErrorCode::kParseError, error.what()));
  }
  if (message.is_array()) return take_batch(message);
  take_message(message, [this](const std::optional<OrderedJson>& reply) {
    if (reply) output_.send(*reply);
  });
}

void Server::take_batch(const Json& messages) {
  if (messages.empty() || version_ == kWithoutBatches)
    return output_.send(error_message(
        nullptr, ErrorCode::kInvalidRequest,
        messages.empty() ? "a list without messages"
                         : fmt::format("protocol {} has no lists of messages", kWithoutBatches)));
  const auto batch =
      std::make_shared<Batch>(messages.size(), [this](const OrderedJson& answers) { output_.send(answers); });
  for (const Json& message : messages)
    take_message(message, [batch](std::optional<OrderedJson> reply) { batch->take(std::move(reply)); });
}

void Server::take_message(const Json& message, const Reply& reply) {
  const bool is_object = message.is_object();
  const Json id = is_object && message.contains("id") && is_id(message["id"]) ? message["id"] : Json(nullptr);
  const auto refuse = [&](ErrorCode code, const std::string& what) { reply(error_message(id, code, what)); };
  if (!is_object || message.value("jsonrpc", Json()) != "2.0")
    return refuse(ErrorCode::kInvalidRequest, R"(a message is an object with "jsonrpc": "2.0")");
  // Nothing is asked of clients: an answer is to nothing.
  if (!message.contains("method") && (message.contains("result") || message.contains("error")))
    return reply(std::nullopt);
  if (!message.contains("method") || !message["method"].is_string())
    return refuse(ErrorCode::kInvalidRequest, "the message has no method");
  if (message.contains("id") && id.is_null())
    return refuse(ErrorCode::kInvalidRequest, "an id is a text or a whole number");
  const auto method = message["method"].get<std::string>();
  const Json params = message.value("params", Json::object());
  if (!message.contains("id")) {
    if (params.is_object()) take_notification(method, params);
    return reply(std::nullopt);
  }
  try {
    if (!params.is_object()) throw RequestError(ErrorCode::kInvalidParams, "params: an object is expected");
    if (method == "tools/call" && !version_.empty()) return start(id, params, reply);
    reply(result_message(id, answer(method, params)));
  } catch (const RequestError& error) {
    refuse(error.code(), error.what());
  } catch (const UserError& error) {
    refuse(ErrorCode::kInvalidParams, error.what());
  } catch (const std::exception& error) {
    refuse(ErrorCode::kInternalError, error.what());
  }
}

void Server::take_notification(const std::string& method, const Json& params) {
  if (method != "notifications/cancelled") return;
  for (Call& call : calls_) {
    if (call.id == params.value("requestId", Json())) call.cancelled = true;
  }
}

OrderedJson Server::answer(const std::string& method, const Json& params) {
  if (method == "ping") return OrderedJson::object();
  if (method == "initialize") return initialize(params);
  constexpr std::array<std::string_view, 5> kKnown{"tools/list", "tools/call", "resources/list",
                                                   "resources/read", "resources/templates/list"};
  if (std::find(kKnown.begin(), kKnown.end(), method) == kKnown.end())
    throw RequestError(ErrorCode::kMethodNotFound, fmt::format("there is no method {}", shown(method)));
  if (version_.empty())
    throw RequestError(ErrorCode::kInvalidRequest, fmt::format("{} comes after initialize", method));
  if (method == "resources/list") return list_resources();
  if (method == "resources/read") return read_resource(params);
  if (method == "resources/templates/list") return {{"resourceTemplates", OrderedJson::array()}};
  OrderedJson list = OrderedJson::array();
  for (const Tool& tool : tools_)
    list.push_back({{"name", tool.name},
                    {"title", tool.title},
                    {"description", tool.description},
                    {"inputSchema", tool.schema}});
  return {{"tools", std::move(list)}};
}

OrderedJson Server::initialize(const Json& params) {
  const std::string asked = text_at(params, "protocolVersion");
  const bool known = std::find(kVersions.begin(), kVersions.end(), asked) != kVersions.end();
  version_ = known ? asked : kLatest;
  return {{"protocolVersion", version_},
          {"capabilities", {{"tools", OrderedJson::object()}, {"resources", OrderedJson::object()}}},
          {"serverInfo", {{"name", "tilebeat"}, {"title", "Tilebeat"}, {"version", version_number()}}},
          {"instructions", kInstructions}};
}

OrderedJson Server::list_resources() {
  OrderedJson list = OrderedJson::array();
  for (const DocPage& page : pages_)
    list.push_back({{"uri", std::string(kPages) + page.name},
                    {"name", page.name},
                    {"title", page.title},
                    {"mimeType", "text/markdown"}});
  for (const std::string& address : reports_.addresses())
    list.push_back({{"uri", address}, {"name", address}, {"mimeType", "application/json"}});
  return {{"resources", std::move(list)}};
}

OrderedJson Server::read_resource(const Json& params) {
  const std::string uri = text_at(params, "uri");
  std::optional<std::string> text = reports_.find(uri);
  const char* const type = text ? "application/json" : "text/markdown";
  const bool is_page = std::any_of(pages_.begin(), pages_.end(), [&](const DocPage& page) {
    return uri == std::string(kPages) + page.name;
  });
  if (is_page) text = read_page(pages_, uri.substr(kPages.size()));
  if (!text)
    throw RequestError(ErrorCode::kResourceNotFound, fmt::format("there is no resource {}", shown(uri)));
  return {{"contents", {{{"uri", uri}, {"mimeType", type}, {"text", std::move(*text)}}}}};
}

void Server::start(const Json& id, const Json& params, const Reply& reply) {
  const std::string name = text_at(params, "name");
  const auto tool =
      std::find_if(tools_.begin(), tools_.end(), [&](const Tool& known) { return known.name == name; });
  if (tool == tools_.end())
    throw RequestError(ErrorCode::kInvalidParams,
                       fmt::format("params: /name: there is no tool {}", shown(name)));
  reap();
  const bool in_use = std::any_of(calls_.begin(), calls_.end(), [&](const Call& c) { return c.id == id; });
  if (in_use) throw RequestError(ErrorCode::kInvalidRequest, "a call with this id is running");
  if (calls_.size() >= kMostCalls)
    throw RequestError(ErrorCode::kInternalError,
                       fmt::format("{} calls are running: wait, or cancel one", calls_.size()));
  const Work work = tool->prepare(params.value("arguments", Json::object()));
  const bool with_structure = version_ == kLatest;
  Call& call = calls_.emplace_back(id);
  call.thread = std::thread([this, &call, work, reply, with_structure, token = progress_token(params)] {
    ProgressNotes notes(token, output_);
    const Watch watch = [&](const char* line, const Advance& advance) {
      if (!call.cancelled) notes.tell(line, advance);
      return call.cancelled.load();
    };
    std::optional<OrderedJson> answer;
    try {
      answer = result_message(call.id, result_json(work(watch), with_structure));
    } catch (const std::exception& error) {
      answer = error_message(call.id, ErrorCode::kInternalError, error.what());
    }
    // Who has cancelled it expects no answer.
    reply(call.cancelled ? std::nullopt : std::move(answer));
    call.done = true;
  });
}

void Server::reap() {
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (!call->done) {
      ++call;
      continue;
    }
    call->thread.join();
    call = calls_.erase(call);
  }
}

void Server::cancel_all() {
  for (Call& call : calls_) call.cancelled = true;
  for (Call& call : calls_) call.thread.join();
  calls_.clear();
}

}  // namespace tilebeat::mcp

namespace tilebeat {

int serve_mcp() {
  // Calls start this very program.
  if (const std::string self = own_path(); !self.empty()) setenv("TILEBEAT_COMMAND", self.c_str(), 1);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t ending, before;
  sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
  pthread_sigmask(SIG_BLOCK, &ending, &before);
  const int signals = signalfd(-1, &ending, SFD_CLOEXEC);
  mcp::Server server(STDIN_FILENO, STDOUT_FILENO, signals);
  const int signal = server.serve();
  close(signals);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (signal != 0) {
    // So that the parent sees it; delivered before raise returns.
    std::signal(signal, SIG_DFL);
    raise(signal);
  }
  if (server.output_error() == 0) return 0;
  print_message(fmt::format("answers cannot be written: {}", std::strerror(server.output_error())));
  return 1;
}

}  // namespace tilebeat
