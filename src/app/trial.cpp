#include "app/trial.h"

#include "app/command_options.h"
#include "app/output_files.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilebeat {
namespace {

constexpr int kCannotBe = 2;  // status of a trial that throws UserError

// Runs `simulate` in a process that ends with its parent and owns none of its files.
int try_in_process(const std::string& what, const std::function<Cycle()>& simulate, int to) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    const Cycle cycles = simulate();
    return write(to, &cycles, sizeof cycles) == sizeof cycles ? 0 : 1;
  } catch (const UserError&) {
    return kCannotBe;
  } catch (const std::exception& error) {
    print_message(fmt::format("a trial of {}: {}", what, error.what()));
    return 1;
  }
}

}  // namespace

Trial::Trial(std::string what, const std::function<Cycle()>& simulate) : what_(std::move(what)) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0)
    throw UserError(fmt::format("no pipe for a trial of {}: {}", what_, std::strerror(errno)));
  child_ = fork();
  if (child_ < 0) {
    const int error = errno;
    close(ends[0]), close(ends[1]);
    throw UserError(fmt::format("no process for a trial of {}: {}", what_, std::strerror(error)));
  }
  if (child_ == 0) {
    close(ends[0]);
    _exit(try_in_process(what_, simulate, ends[1]));
  }
  close(ends[1]);
  from_ = ends[0];
}

Trial::Trial(Trial&& other) noexcept
    : what_(std::move(other.what_)),
      child_(std::exchange(other.child_, -1)),
      from_(std::exchange(other.from_, -1)) {}

Trial& Trial::operator=(Trial&& other) noexcept {
  std::swap(what_, other.what_), std::swap(child_, other.child_), std::swap(from_, other.from_);
  return *this;
}

Trial::~Trial() {
  if (child_ < 0) return;
  kill(child_, SIGKILL);
  close(from_);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::size_t Trial::first_ended(const std::vector<Trial>& trials) {
  std::vector<pollfd> waits;
  for (const Trial& trial : trials) waits.push_back({trial.from_, POLLIN, 0});
  while (poll(waits.data(), waits.size(), -1) < 0 && errno == EINTR) {
  }
  const auto ended =
      std::find_if(waits.begin(), waits.end(), [](const pollfd& wait) { return wait.revents != 0; });
  return ended == waits.end() ? 0 : to_size(ended - waits.begin());
}

std::optional<Cycle> Trial::finish() {
  Cycle cycles = 0;
  ssize_t got = 0;
  do got = read(from_, &cycles, sizeof cycles);
  while (got < 0 && errno == EINTR);
  close(from_);
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotBe) return {};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || got != sizeof cycles)
    throw SimulationError(fmt::format("a trial of {} was ended", what_));
  return cycles;
}

}  // namespace tilebeat
