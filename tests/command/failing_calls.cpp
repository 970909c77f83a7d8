// Preloaded into the command line by atomic_outputs_test: of the calls that change folders, number
// FAILING_CALL ends the process as SIGKILL does (FAILING_HOW=kill), comes with a SIGTERM (FAILING_HOW=term)
// or returns an error (FAILING_HOW=fail).
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

int calls = 0;

// Whether this call returns an error.
bool fails() {
  const char* at = std::getenv("FAILING_CALL");
  const char* how = std::getenv("FAILING_HOW");
  ++calls;
  if (at == nullptr || how == nullptr || std::atoi(at) != calls) return false;
  if (std::strcmp(how, "kill") == 0) raise(SIGKILL);
  if (std::strcmp(how, "term") == 0) {
    raise(SIGTERM);
    return false;
  }
  errno = EIO;
  return true;
}

// The function that is meant where this library was not loaded.
template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int rename(const char* from, const char* to) noexcept {
  return fails() ? -1 : real(&rename, "rename")(from, to);
}
int renameat2(int a, const char* from, int b, const char* to, unsigned flags) noexcept {
  return fails() ? -1 : real(&renameat2, "renameat2")(a, from, b, to, flags);
}
int link(const char* from, const char* to) noexcept {
  return fails() ? -1 : real(&link, "link")(from, to);
}
int linkat(int a, const char* from, int b, const char* to, int flags) noexcept {
  return fails() ? -1 : real(&linkat, "linkat")(a, from, b, to, flags);
}
int symlink(const char* to, const char* path) noexcept {
  return fails() ? -1 : real(&symlink, "symlink")(to, path);
}
int unlink(const char* path) noexcept {
  return fails() ? -1 : real(&unlink, "unlink")(path);
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  return fails() ? -1 : real(&unlinkat, "unlinkat")(folder, path, flags);
}
int rmdir(const char* path) noexcept {
  return fails() ? -1 : real(&rmdir, "rmdir")(path);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return fails() ? -1 : real(&mkdir, "mkdir")(path, mode);
}
char* mkdtemp(char* name) noexcept {
  return fails() ? nullptr : real(&mkdtemp, "mkdtemp")(name);
}

}  // extern "C"
