// Preloaded into the command line by determinism_test, and a part of the soak: with DELAY_SEED some threads
// begin late, and some locks of mutexes wait, the first thread's too, for times that it draws. With
// NO_THREADS no thread can be made.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

namespace {

const char* seed_text() {
  static const char* const seed = std::getenv("DELAY_SEED");
  return seed;
}

// A number that differs from call to call and from seed to seed (SplitMix64).
std::uint64_t drawn() {
  static std::atomic<std::uint64_t> calls{std::strtoull(seed_text(), nullptr, 10) << 32};
  std::uint64_t z = (calls += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

// The function that is meant where this library was not loaded.
template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct Start {
  void* (*function)(void*);
  void* argument;
};

void* begin_late(void* start) {
  const std::unique_ptr<Start> of(static_cast<Start*>(start));
  if (drawn() % 2 == 0) usleep(static_cast<useconds_t>(drawn() % 1000));
  return of->function(of->argument);
}

}  // namespace

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) noexcept {
  if (std::getenv("NO_THREADS") != nullptr) return EAGAIN;
  static const auto create = real(&pthread_create, "pthread_create");
  if (seed_text() == nullptr) return create(thread, attributes, function, argument);
  return create(thread, attributes, begin_late, new Start{function, argument});
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto lock = real(&pthread_mutex_lock, "pthread_mutex_lock");
  if (seed_text() != nullptr && drawn() % 16 == 0) usleep(static_cast<useconds_t>(drawn() % 500));
  return lock(mutex);
}

}  // extern "C"
