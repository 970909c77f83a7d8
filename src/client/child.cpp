#include "client/child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tilebeat {
namespace {

constexpr int kChannel = 3;  // the further descriptor, of the process that is started
// Variables that name one: those of this process are not for its own children.
constexpr std::array kVariables{"TILEBEAT_PROGRESS_FD=", "TILEBEAT_STEP_FD="};

std::vector<char*> as_argv(const std::vector<std::string>& texts) {
  std::vector<char*> argv;
  for (const std::string& text : texts) argv.push_back(const_cast<char*>(text.c_str()));
  argv.push_back(nullptr);
  return argv;
}

std::vector<std::string> variables(const ChildStart& start) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    bool names_one = false;
    for (const char* known : kVariables) names_one |= std::strncmp(*variable, known, std::strlen(known)) == 0;
    if (!names_one) all.emplace_back(*variable);
  }
  if (start.channel >= 0) all.push_back(start.variable + "=" + std::to_string(kChannel));
  return all;
}

}  // namespace

int start_child(const ChildStart& start, pid_t& process) {
  const std::vector<std::string> environment = variables(start);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, start.out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, start.err, STDERR_FILENO);
  if (start.channel >= 0) posix_spawn_file_actions_adddup2(&files, start.channel, kChannel);
  if (!start.folder.empty()) posix_spawn_file_actions_addchdir_np(&files, start.folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none), sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) sigaddset(&usual, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawnp(&process, start.program.c_str(), &files, &attributes,
                                 as_argv(start.arguments).data(), as_argv(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

Started::~Started() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  int ignored = 0;
  wait_for(ignored);
}

void Started::terminate() const {
  kill(process_, SIGTERM);
}

int Started::wait_for(int& status) {
  const pid_t process = std::exchange(process_, -1);
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace tilebeat
