#pragma once

#include "app/mcp/doc_pages.h"
#include "client/process.h"
#include "schema/values.h"

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat::mcp {

/// The reports of the last runs, from several threads.
class Reports {
 public:
  /// Keeps a report and returns its address, "tilebeat://reports/1" and so on. Only the last kMost are kept.
  std::string add(std::string text);
  std::optional<std::string> find(const std::string& address);
  std::vector<std::string> addresses();

 private:
  static constexpr std::size_t kMost = 16;
  std::mutex mutex_;
  std::deque<std::pair<std::string, std::string>> kept_;  // addresses and texts
  std::size_t made_ = 0;
};

/// What a call of a tool came to.
struct ToolResult {
  std::string text;
  bool failed = false;
  OrderedJson structured = nullptr;  ///< the numbers in it; null: none
};

/// A call whose arguments have been read. It hears of its progress and asks whether it is cancelled as calls
/// of C's interface do.
using Work = std::function<ToolResult(const Watch&)>;

/// A tool as the protocol knows it.
struct Tool {
  std::string name, title, description;
  OrderedJson schema;  ///< of its arguments
  /// Reads arguments. Throws UserError, with the path of what is wrong in them.
  std::function<Work(const Json& arguments)> prepare;
};

/// All tools. What they refer to outlives them and their calls.
std::vector<Tool> all_tools(Reports& reports, const std::vector<DocPage>& pages);

}  // namespace tilebeat::mcp
