#pragma once

#include "schema/values.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

namespace tilebeat::mcp {

/// Error codes of JSON-RPC 2.0, and the Model Context Protocol's own for a resource that is not there.
enum class ErrorCode {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kResourceNotFound = -32002,
};

/// A request that is refused.
class RequestError : public std::runtime_error {
 public:
  RequestError(ErrorCode code, const std::string& what) : std::runtime_error(what), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

OrderedJson result_message(const Json& id, OrderedJson result);
/// `id` is null where a request's cannot be known.
OrderedJson error_message(const Json& id, ErrorCode code, const std::string& what);
OrderedJson notification(const char* method, OrderedJson params);

/// The longest line that is read, in bytes: what a file of JSON may have.
constexpr std::size_t kMostLineBytes = std::size_t{64} << 20;

/// Makes lines of the bytes that come in. It holds no more than one line of the allowed length.
class Lines {
 public:
  /// What `next` found.
  enum class Found : unsigned char { kNothing, kLine, kTooLong };

  void add(const char* bytes, std::size_t count);
  /// What comes in has ended: what is left is a line, too.
  void end();
  /// Takes the next line, without its end. kTooLong stands for one line, whose bytes are dropped.
  Found next(std::string& line);

 private:
  std::string bytes_;
  std::size_t searched_ = 0;  // no line ends in front of it
  bool skipping_ = false;     // the rest of a line that was too long
};

/// The messages that go out, a line each, from several threads. Once nobody reads them, or one of the signals
/// behind `signals` has arrived, they are dropped.
class Output {
 public:
  /// `signals`: a descriptor that can be read once the process is asked to end.
  Output(int to, int signals) : to_(to), signals_(signals) {}
  void send(const OrderedJson& message);
  /// The error of a write that failed, or would; 0: none.
  int error() const { return error_; }
  /// Whether the other side has closed its end, which is an error.
  bool is_closed();

 private:
  bool wait_for_room() const;

  int to_, signals_;
  std::mutex mutex_;
  std::atomic<int> error_ = 0;
};

/// Takes the answer to a message, once: nothing, if there is none to give.
using Reply = std::function<void(std::optional<OrderedJson>)>;

/// Collects the answers to `requests` messages that came as a list, and hands them to `send` as a list when
/// the last one is there: each of them is a call of `take`.
class Batch {
 public:
  Batch(std::size_t requests, std::function<void(const OrderedJson&)> send)
      : open_(requests), send_(std::move(send)) {}
  void take(std::optional<OrderedJson> answer);

 private:
  std::mutex mutex_;
  std::size_t open_;
  OrderedJson answers_ = OrderedJson::array();
  std::function<void(const OrderedJson&)> send_;
};

}  // namespace tilebeat::mcp
