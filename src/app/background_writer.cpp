#include "app/background_writer.h"

#include "app/signals_blocked.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

namespace tilebeat {
namespace {

constexpr std::size_t kMostWaiting = std::size_t{16} << 20;

void append_to(OutputFile& file, const std::vector<char>& buffer, std::size_t count) {
  file.append(std::string_view(buffer.data(), count));
}

}  // namespace

BackgroundWriter::BackgroundWriter() {
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { write(); });
  } catch (const std::system_error&) {
    // The machine has no further thread: `append` writes.
  }
}

BackgroundWriter::~BackgroundWriter() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.clear();
    ended_ = true;
  }
  told_.notify_one();
  thread_.join();
}

void BackgroundWriter::append(OutputFile& file, std::vector<char>& buffer, std::size_t count) {
  if (!thread_.joinable()) return append_to(file, buffer, count);
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [this] { return waiting_bytes_ < kMostWaiting; });
  waiting_bytes_ += count;
  waiting_.push_back({&file, std::move(buffer), count});
  buffer = {};
  // One that is large enough for the next piece: new pages cost more than they are written for.
  const auto spare = std::find_if(spare_.rbegin(), spare_.rend(),
                                  [count](const std::vector<char>& one) { return one.size() >= count; });
  if (spare != spare_.rend()) {
    buffer = std::move(*spare);
    spare_.erase(std::prev(spare.base()));
  }
  lock.unlock();
  told_.notify_one();
}

void BackgroundWriter::finish() {
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [this] { return waiting_.empty() && !writes_; });
}

void BackgroundWriter::write() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    told_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (ended_) return;
    Piece piece = std::move(waiting_.front());
    waiting_.pop_front();
    writes_ = true;
    lock.unlock();
    append_to(*piece.file, piece.buffer, piece.count);
    lock.lock();
    writes_ = false;
    waiting_bytes_ -= piece.count;
    spare_.push_back(std::move(piece.buffer));
    done_.notify_all();
  }
}

}  // namespace tilebeat
