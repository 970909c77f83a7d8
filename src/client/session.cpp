#include "client/session.h"

#include "client/job.h"
#include "client/process.h"
#include "client/result.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat {
namespace {

constexpr const char* kVariable = "TILEBEAT_STEP_FD";
constexpr const char* kOut = "stdout.txt";
constexpr const char* kErr = "stderr.txt";
constexpr std::int64_t kMostClocks = 4096;  // whose records come at once

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A descriptor that is closed.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {
    if (number < 0) throw std::system_error(errno, std::generic_category(), "a session");
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

PortRecords port_of(const nlohmann::json& port) {
  const std::string record = port.at("record");
  const PortRecords::Kind kind = record == "valid"  ? PortRecords::Kind::kStrobed
                                 : record == "bank" ? PortRecords::Kind::kBank
                                                    : PortRecords::Kind::kChanges;
  std::vector<PortRecords::Field> fields;
  for (const nlohmann::json& field : port.at("fields"))
    fields.push_back({field.at("name"), field.at("bits")});
  return {port.at("name"), kind, port.at("clock_ps"), std::move(fields),
          port.value("signals", std::vector<std::string>{})};
}

}  // namespace

Session::Session(const tilebeat_job& job, std::size_t ahead)
    : ahead_(std::max<std::size_t>(ahead, 1)), program_(command_path()) {
  std::vector<std::string> arguments = arguments_of("run", job, place_);
  arguments.insert(arguments.end(), {"--out", "out"});
  add_mapping(job, place_, arguments);
  add_rest(job, place_, arguments);
  arguments.insert(arguments.begin(), kProgram);
  start(arguments);
  std::string bytes;
  if (read(bytes).kind != kStepPorts) give_up();
  take_ports(bytes);
  read_until_reached();
}

Session::~Session() {
  if (socket_ >= 0) ::close(socket_);
}

void Session::start(const std::vector<std::string>& arguments) {
  const auto file = [this](const char* name) {
    return open(place_.path(name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  };
  const Descriptor out(file(kOut)), err(file(kErr));
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "a session");
  socket_ = ends[0];
  const Descriptor other(ends[1]);
  ChildStart start{program_,     arguments,      place_.folder(), out.number(),
                   err.number(), other.number(), kVariable};
  pid_t process = 0;
  if (const int error = start_child(start, process); error != 0)
    throw SessionBroken(program_ + ": cannot be started: " + std::strerror(error));
  process_.emplace(process);
}

void Session::take_ports(const std::string& text) {
  const nlohmann::json told = nlohmann::json::parse(text);
  clock_ps_ = told.at("clock_ps");
  for (const nlohmann::json& port : told.at("ports")) ports_.push_back(port_of(port));
  for (PortRecords& port : ports_) port.show();
  for (const nlohmann::json& tensor : told.at("tensors"))
    tensors_.push_back(
        {tensor.at("name"), tensor.at("type"), tensor.at("shape").get<std::vector<std::int64_t>>(), {}});
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const KeptTensor& tensor = tensors_[i];
    shown_tensors_.push_back({tensor.name.c_str(), tensor.type.c_str(), tensor.shape.size(),
                              tensor.shape.data(), nullptr,
                              told.at("tensors").at(i).at("bytes").get<std::size_t>()});
  }
}

void Session::send(char kind, std::uint64_t number, std::string_view bytes) {
  const StepMessage head{static_cast<std::uint64_t>(kind), number, bytes.size()};
  std::string all(reinterpret_cast<const char*>(&head), sizeof head);
  all += bytes;
  for (std::size_t sent = 0; sent < all.size();) {
    const ssize_t count = ::send(socket_, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) give_up();
    sent += static_cast<std::size_t>(count);
  }
}

void Session::read(char* to, std::size_t count) {
  constexpr std::size_t kRoom = 1 << 18;
  while (received_.size() - taken_ < count) {
    received_.erase(0, taken_), taken_ = 0;
    const std::size_t had = received_.size();
    received_.resize(had + std::max(kRoom, count - had));
    const ssize_t more = ::recv(socket_, received_.data() + had, received_.size() - had, 0);
    received_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(more, 0)));
    if (more == 0 || (more < 0 && errno != EINTR)) give_up();
  }
  if (count > 0) std::memcpy(to, received_.data() + taken_, count);
  taken_ += count;
}

StepMessage Session::read(std::string& bytes) {
  StepMessage message;
  read(reinterpret_cast<char*>(&message), sizeof message);
  bytes.resize(message.bytes);
  read(bytes.data(), bytes.size());
  return message;
}

// Takes records until the process says that a clock is reached.
void Session::read_until_reached() {
  std::string bytes;
  while (true) {
    const StepMessage message = read(bytes);
    if (message.kind == kStepRecords && message.number < ports_.size()) {
      ports_[message.number].add(bytes);
    } else if (message.kind == kStepReached || message.kind == kStepEnd) {
      complete_ = static_cast<std::int64_t>(message.number), over_ = message.kind == kStepEnd;
      return;
    } else {
      give_up();
    }
  }
}

// The process has ended, which its errors explain.
void Session::give_up() {
  finished_ = true;
  int status = 0;
  shutdown(socket_, SHUT_RDWR);  // so that it ends, if it has not
  if (process_) process_->wait_for(status);
  const std::string errors = errors_of(text_of(place_.path(kErr)));
  if (WIFEXITED(status) && WEXITSTATUS(status) == TILEBEAT_INVALID) throw JobError(errors);
  throw SessionBroken(!errors.empty() ? errors : program_ + ": the simulation ended without a word");
}

void Session::check_goes_on() const {
  if (finished_) throw JobError("the session is finished");
}

void Session::step_to(std::int64_t clock) {
  check_goes_on();
  if (clock < clock_)
    throw JobError("clock " + std::to_string(clock) + " is over, the session is in " +
                   std::to_string(clock_));
  while (!over_ && complete_ <= clock) {
    // What is waiting is read, or forgotten, before there is more.
    for (PortRecords& port : ports_) port.go_to(std::min(clock, complete_ - 1), clock_ps_);
    const auto ahead = static_cast<std::int64_t>(ahead_);
    send(
        kStepGo,
        static_cast<std::uint64_t>(std::max(std::min(clock + 1, complete_ + kMostClocks), complete_ + ahead)),
        "");
    read_until_reached();
  }
  clock_ = over_ ? std::min(clock, complete_) : clock;
}

PortRecords& Session::port(std::int64_t port, std::int64_t field) {
  if (port < 0 || port >= static_cast<std::int64_t>(ports_.size()))
    throw JobError("there is no port " + std::to_string(port));
  PortRecords& found = ports_[static_cast<std::size_t>(port)];
  if (field < 0 || field >= static_cast<std::int64_t>(found.fields().size()))
    throw JobError(found.name() + ": there is no field " + std::to_string(field));
  return found;
}

std::optional<std::string_view> Session::value(std::int64_t number, std::int64_t field) {
  PortRecords& found = port(number, field);
  if (clock_ < 0 || is_over()) return std::nullopt;
  found.go_to(clock_, clock_ps_);
  return found.value(static_cast<std::size_t>(field));
}

std::string Session::ask(char kind, std::uint64_t number, std::string_view bytes) {
  check_goes_on();
  if (over_) throw JobError("the run is over");
  if (complete_ != clock_ + 1)
    throw JobError("the simulation is ahead of the session, in clock " + std::to_string(complete_ - 1) +
                   ": open it with ahead 1");
  send(kind, number, bytes);
  std::string answer;
  const StepMessage message = read(answer);
  if (message.kind == kStepRefused) throw JobError(answer);
  if (message.kind != kStepBytes) give_up();
  return answer;
}

void Session::finish(tilebeat_result& result) {
  check_goes_on();
  if (!over_) send(kStepRunOut, 0, "");
  while (!over_) read_until_reached();
  finished_ = true;
  ProcessEnd end;
  int status = 0;
  end.status = process_->wait_for(status);
  end.how = end.status != 0     ? ProcessEnd::How::kLost
            : WIFEXITED(status) ? ProcessEnd::How::kExited
                                : ProcessEnd::How::kSignalled;
  if (end.status == 0) end.status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  end.out = text_of(place_.path(kOut)), end.err = text_of(place_.path(kErr));
  set_end(end, program_, result);
  take_files(place_, result);
  show_tensors(result);
}

}  // namespace tilebeat
