#pragma once

#include "observe/timeline.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tilebeat {

/// Writes the programs of all processors in the format Kanata 0004, which Konata shows as a pipeline: a row
/// per instruction, a thread per processor, the stages F (fetch), D (decode), W (wait), X (execute). The file
/// is written during the run; the same run gives the same bytes.
class KonataLog : public ProgramLog {
 public:
  /// `now` returns the present cycle; `sink` takes the text piece by piece.
  KonataLog(std::function<Cycle()> now, std::function<void(std::string_view)> sink)
      : now_(std::move(now)), sink_(std::move(sink)) {}

  int add_processor(const std::string& name) override;
  void begin(int processor, std::uint64_t number, ProgramStage stage, Cycle at) override;
  void name(int processor, std::uint64_t number, const std::string& text) override;
  /// Writes the rest; instructions in flight end unfinished.
  void finish();

 private:
  using Key = std::pair<int, std::uint64_t>;  // processor and number
  struct Event {
    Cycle at = 0;
    Key key;
    ProgramStage stage = ProgramStage::kFetch;
    std::string text;
    friend bool operator<(const Event& a, const Event& b) {
      return std::tie(a.at, a.key, a.stage) < std::tie(b.at, b.key, b.stage);
    }
  };
  // An instruction that has not retired.
  struct Open {
    std::uint64_t id = 0;
    char stage = 'F';
  };
  void write_before(Cycle cycle);
  void write(const Event& event);

  std::function<Cycle()> now_;
  std::function<void(std::string_view)> sink_;
  std::vector<std::string> processors_;
  std::vector<Event> pending_;
  std::map<Key, std::string> names_;
  std::map<Key, Open> open_;
  std::uint64_t next_id_ = 0, retired_ = 0;
  Cycle written_ = 0;  // the cycle that the file stands at
  bool begun_ = false;
};

}  // namespace tilebeat
