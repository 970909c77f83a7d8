#pragma once

#include "app/mcp/messages.h"
#include "app/mcp/tools.h"

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tilebeat::mcp {

/// A server of the Model Context Protocol, versions 2024-11-05, 2025-03-26 and 2025-06-18: JSON-RPC 2.0, a
/// message a line. Calls of tools run in threads of their own, everything else is answered at once.
class Server {
 public:
  /// Reads from `from` and writes to `to`; it ends when `signals`, a signalfd, has something to read.
  Server(int from, int to, int signals);
  /// Serves until the input ends and all calls are answered, or nobody reads the answers any more, or a
  /// signal arrives, whose number it returns, else 0. Calls that still run then are cancelled.
  int serve();
  /// The error of the write that ended it; 0: none.
  int output_error() const { return output_.error(); }

 private:
  struct Call {
    explicit Call(const Json& request) : id(request) {}
    Json id;
    std::atomic<bool> cancelled = false, done = false;
    std::thread thread;
  };

  void take_lines();
  void take(const std::string& line);
  void take_batch(const Json& messages);
  void take_message(const Json& message, const Reply& reply);
  void take_notification(const std::string& method, const Json& params);
  OrderedJson answer(const std::string& method, const Json& params);
  OrderedJson initialize(const Json& params);
  OrderedJson list_resources();
  OrderedJson read_resource(const Json& params);
  void start(const Json& id, const Json& params, const Reply& reply);
  void reap();
  void cancel_all();

  int from_, signals_;
  Output output_;
  Lines lines_;
  Reports reports_;
  const std::vector<DocPage> pages_ = doc_pages();
  const std::vector<Tool> tools_ = all_tools(reports_, pages_);
  std::string version_;  // of the protocol; empty: the client has not said its own
  std::list<Call> calls_;
};

}  // namespace tilebeat::mcp
