#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace tilebeat {

/// A process to start. It has nothing on standard input.
struct ChildStart {
  std::string program;
  std::vector<std::string> arguments;  ///< the first one is its name
  std::string folder;                  ///< empty: the current one
  int out = -1, err = -1;              ///< descriptors of standard output and error
  int channel = -1;                    ///< negative: none; else a further descriptor, which `variable` names
  std::string variable;
};

/// Starts it, with the signals that the caller blocks or handles as usual. Returns 0, or the error.
int start_child(const ChildStart& start, pid_t& process);

/// A process that has been started: ended and waited for, whatever happens.
class Started {
 public:
  explicit Started(pid_t process) : process_(process) {}
  ~Started();
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  void terminate() const;
  /// Waits for its end. Returns 0 or the error: somebody else has waited, or signals of ends are ignored.
  int wait_for(int& status);

 private:
  pid_t process_;
};

}  // namespace tilebeat
