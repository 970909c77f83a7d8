#pragma once

#include "client/child.h"
#include "client/port_records.h"
#include "client/step_messages.h"
#include "client/workplace.h"
#include "tilebeat/tilebeat.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilebeat {

/// What a session cannot do any more: its process has ended, or answers nonsense.
class SessionBroken : public std::runtime_error {
 public:
  explicit SessionBroken(const std::string& what) : std::runtime_error(what) {}
};

/// The library's side of a run that stops between clocks (tilebeat_open). Its functions throw JobError where
/// the caller is wrong, and SessionBroken.
class Session {
 public:
  /// Starts the process and waits until its ports are there.
  Session(const tilebeat_job& job, std::size_t ahead);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::vector<PortRecords>& ports() const { return ports_; }
  const std::vector<tilebeat_tensor>& tensors() const { return shown_tensors_; }
  std::int64_t clock() const { return clock_; }
  bool is_over() const { return over_ && clock_ + 1 >= complete_; }
  void step_to(std::int64_t clock);
  /// The bytes of a field in this clock; nothing: it has no value.
  std::optional<std::string_view> value(std::int64_t port, std::int64_t field);
  /// The port of a number. Throws JobError, also where it has no such field.
  PortRecords& port(std::int64_t port, std::int64_t field);
  /// What the process answers to a request that has to find it in this clock.
  std::string ask(char kind, std::uint64_t number, std::string_view bytes);
  /// Runs on to the end and fills the result.
  void finish(tilebeat_result& result);

 private:
  void start(const std::vector<std::string>& arguments);
  void take_ports(const std::string& text);
  void check_goes_on() const;
  void send(char kind, std::uint64_t number, std::string_view bytes);
  StepMessage read(std::string& bytes);
  void read(char* to, std::size_t count);
  void read_until_reached();
  [[noreturn]] void give_up();

  Workplace place_;
  std::size_t ahead_;
  std::string program_;
  std::optional<Started> process_;
  int socket_ = -1;
  std::string received_;  // and not read yet, from `taken_` on
  std::size_t taken_ = 0;
  std::vector<PortRecords> ports_;
  std::vector<KeptTensor> tensors_;
  std::vector<tilebeat_tensor> shown_tensors_;
  std::int64_t clock_ps_ = 0;
  std::int64_t clock_ = -1, complete_ = 0;  // the session's clock; so many are complete
  bool over_ = false, finished_ = false;
};

}  // namespace tilebeat
