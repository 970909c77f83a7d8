#include "app/mcp/messages.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace tilebeat::mcp {

OrderedJson result_message(const Json& id, OrderedJson result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

OrderedJson error_message(const Json& id, ErrorCode code, const std::string& what) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(code)}, {"message", what}}}};
}

OrderedJson notification(const char* method, OrderedJson params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

void Lines::add(const char* bytes, std::size_t count) {
  if (skipping_) {
    const std::string_view added(bytes, count);
    const std::size_t end = added.find('\n');
    if (end == std::string_view::npos) return;
    skipping_ = false;
    bytes += end + 1, count -= end + 1;
  }
  bytes_.append(bytes, count);
}

void Lines::end() {
  if (!bytes_.empty() && bytes_.back() != '\n') bytes_ += '\n';
}

Lines::Found Lines::next(std::string& line) {
  const std::size_t end = bytes_.find('\n', searched_);
  const bool whole = end != std::string::npos;
  searched_ = whole ? 0 : bytes_.size();
  if ((whole ? end : bytes_.size()) > kMostLineBytes) {
    skipping_ = !whole;
    bytes_.erase(0, whole ? end + 1 : bytes_.size());
    searched_ = 0;
    return Found::kTooLong;
  }
  if (!whole) return Found::kNothing;
  line.assign(bytes_, 0, end);
  bytes_.erase(0, end + 1);
  return Found::kLine;
}

// False: the process is to end, or nobody reads.
bool Output::wait_for_room() const {
  std::array<pollfd, 2> ends{{{to_, POLLOUT, 0}, {signals_, POLLIN, 0}}};
  while (poll(ends.data(), ends.size(), -1) < 0) {
    if (errno != EINTR) return false;
  }
  return ends[1].revents == 0;
}

void Output::send(const OrderedJson& message) {
  // Texts of commands may have bytes of any kind.
  std::string line = message.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  // A pipe that has room takes so much at once, so that a signal never waits behind a write.
  constexpr std::size_t kAtOnce = 4096;
  const std::lock_guard lock(mutex_);
  for (std::string_view left = line; !left.empty() && error_ == 0;) {
    if (!wait_for_room()) return;
    const ssize_t written = write(to_, left.data(), std::min(left.size(), kAtOnce));
    if (written >= 0)
      left.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR && errno != EAGAIN)
      error_ = errno;
  }
}

bool Output::is_closed() {
  pollfd end{to_, 0, 0};
  int none = 0;
  if (poll(&end, 1, 0) > 0 && (end.revents & (POLLERR | POLLHUP)) != 0)
    error_.compare_exchange_strong(none, EPIPE);
  return error_ != 0;
}

void Batch::take(std::optional<OrderedJson> answer) {
  const std::lock_guard lock(mutex_);
  if (answer) answers_.push_back(std::move(*answer));
  if (--open_ == 0 && !answers_.empty()) send_(answers_);
}

}  // namespace tilebeat::mcp
