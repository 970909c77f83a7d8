#pragma once

#include "app/output_files.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace tilebeat {

/// Appends to files on a thread of its own, in the order in which it was told to: a run goes on while what it
/// has recorded is written. Where the machine has no further thread, the caller's writes.
class BackgroundWriter {
 public:
  BackgroundWriter();
  /// Drops what still waits.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Appends the first `count` bytes of the buffer to the file, which must live until `finish`, and leaves
  /// another buffer of any size in its place. Waits while too much is on its way.
  void append(OutputFile& file, std::vector<char>& buffer, std::size_t count);
  /// Waits until all is written. Nobody else may touch the files before.
  void finish();

 private:
  struct Piece {
    OutputFile* file = nullptr;
    std::vector<char> buffer;
    std::size_t count = 0;
  };

  void write();

  std::mutex mutex_;
  std::condition_variable told_, done_;
  std::deque<Piece> waiting_;
  std::vector<std::vector<char>> spare_;  // buffers whose bytes are written
  std::size_t waiting_bytes_ = 0;         // of those in `waiting_` and of the one that is being written
  bool writes_ = false;                   // a piece is being written
  bool ended_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace tilebeat
