#include "client/job.h"
#include "client/result.h"
#include "client/session.h"
#include "tilebeat/tilebeat.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>

// NOLINTNEXTLINE(readability-identifier-naming): of C's interface
struct tilebeat_session {
  std::unique_ptr<tilebeat::Session> run;  // null: it has not begun
  std::string error;
};

namespace tilebeat {
namespace {

// Calls `work` on a session; what it throws becomes an error.
template <class Work>
tilebeat_status guarded(tilebeat_session* session, const Work& work) {
  if (session == nullptr) return TILEBEAT_INVALID;
  try {
    session->error.clear();
    return work();
  } catch (const JobError& error) {
    session->error = error.what();
    return TILEBEAT_INVALID;
  } catch (const std::exception& error) {
    session->error = error.what();
    return TILEBEAT_BROKEN;
  }
}

template <class Work>
tilebeat_status on_run(tilebeat_session* session, const Work& work) {
  return guarded(session, [&] {
    if (session->run == nullptr) throw JobError("the session has not begun");
    return work(*session->run);
  });
}

std::string hexadecimal(std::string_view bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "0x";
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) {
    const auto value = static_cast<unsigned char>(*byte);
    text += kDigits[value >> 4], text += kDigits[value & 0xF];
  }
  return text;
}

void take_answer(const std::string& answer, void* to, std::size_t bytes) {
  if (answer.size() != bytes)
    throw JobError("there are " + std::to_string(answer.size()) + " bytes, room is for " +
                   std::to_string(bytes));
  if (bytes > 0) std::memcpy(to, answer.data(), bytes);
}

std::string_view view(const void* bytes, std::size_t count) {
  return {static_cast<const char*>(bytes), count};
}

}  // namespace
}  // namespace tilebeat

using namespace tilebeat;  // NOLINT(google-build-using-namespace): the functions below are C's

tilebeat_status tilebeat_open(const tilebeat_job* job, size_t ahead, tilebeat_session** session) {
  if (session == nullptr) return TILEBEAT_INVALID;
  *session = new (std::nothrow) tilebeat_session;
  if (*session == nullptr) return TILEBEAT_BROKEN;
  return guarded(*session, [&] {
    (*session)->run = std::make_unique<Session>(known_job(job), ahead);
    return TILEBEAT_OK;
  });
}

void tilebeat_close(tilebeat_session* session) {
  delete session;
}

const char* tilebeat_session_error(const tilebeat_session* session) {
  return session->error.c_str();
}

size_t tilebeat_port_count(const tilebeat_session* session) {
  return session->run != nullptr ? session->run->ports().size() : 0;
}

const tilebeat_port* tilebeat_port_at(const tilebeat_session* session, size_t index) {
  return index < tilebeat_port_count(session) ? &session->run->ports()[index].shown() : nullptr;
}

int64_t tilebeat_port_named(const tilebeat_session* session, const char* name) {
  for (size_t i = 0; i < tilebeat_port_count(session); ++i) {
    if (session->run->ports()[i].name() == name) return static_cast<int64_t>(i);
  }
  return -1;
}

int64_t tilebeat_field_named(const tilebeat_session* session, int64_t port, const char* name) {
  if (port < 0 || port >= static_cast<int64_t>(tilebeat_port_count(session))) return -1;
  const auto& fields = session->run->ports()[static_cast<size_t>(port)].fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int64_t>(i);
  }
  return -1;
}

tilebeat_status tilebeat_step(tilebeat_session* session, uint64_t clocks) {
  return on_run(session, [&](Session& run) {
    constexpr uint64_t kMost = uint64_t{1} << 62;
    run.step_to(run.clock() + static_cast<int64_t>(std::min(clocks, kMost)));
    return TILEBEAT_OK;
  });
}

tilebeat_status tilebeat_step_to(tilebeat_session* session, int64_t clock) {
  return on_run(session, [&](Session& run) {
    run.step_to(clock);
    return TILEBEAT_OK;
  });
}

int64_t tilebeat_clock(const tilebeat_session* session) {
  return session->run != nullptr ? session->run->clock() : -1;
}

int tilebeat_is_over(const tilebeat_session* session) {
  return session->run != nullptr && session->run->is_over() ? 1 : 0;
}

tilebeat_status tilebeat_get(tilebeat_session* session, int64_t port, int64_t field, void* value,
                             size_t bytes, int* valid) {
  return on_run(session, [&](Session& run) {
    const auto found = run.value(port, field);
    const std::size_t needed = run.port(port, field).fields()[static_cast<size_t>(field)].bytes();
    if (value == nullptr || valid == nullptr || bytes < needed)
      throw JobError("the value has " + std::to_string(needed) + " bytes, room is for " +
                     std::to_string(value != nullptr ? bytes : 0));
    std::memset(value, 0, bytes);
    *valid = found ? 1 : 0;
    if (found) std::memcpy(value, found->data(), found->size());
    return TILEBEAT_OK;
  });
}

tilebeat_status tilebeat_expect(tilebeat_session* session, int64_t port, int64_t field, const void* value) {
  return on_run(session, [&](Session& run) {
    const auto found = run.value(port, field);
    const PortRecords& records = run.port(port, field);
    const PortRecords::Field& of = records.fields()[static_cast<size_t>(field)];
    const std::string is = found ? hexadecimal(*found) : "nothing";
    const std::string expected = value != nullptr ? hexadecimal(view(value, of.bytes())) : "nothing";
    if (is == expected) return TILEBEAT_OK;
    session->error = "clock " + std::to_string(run.clock()) + ": " + records.name() + ", " + of.name +
                     ": is " + is + ", " + expected + " is expected";
    return TILEBEAT_FAILED;
  });
}

tilebeat_status tilebeat_read_memory(tilebeat_session* session, uint64_t address, void* bytes, size_t count) {
  return on_run(session, [&](Session& run) {
    const uint64_t number = count;
    take_answer(run.ask(kStepRead, address, view(&number, sizeof number)), bytes, count);
    return TILEBEAT_OK;
  });
}

tilebeat_status tilebeat_write_memory(tilebeat_session* session, uint64_t address, const void* bytes,
                                      size_t count) {
  return on_run(session, [&](Session& run) {
    run.ask(kStepWrite, address, view(bytes, count));
    return TILEBEAT_OK;
  });
}

size_t tilebeat_session_tensor_count(const tilebeat_session* session) {
  return session->run != nullptr ? session->run->tensors().size() : 0;
}

const tilebeat_tensor* tilebeat_session_tensor_at(const tilebeat_session* session, size_t index) {
  return index < tilebeat_session_tensor_count(session) ? &session->run->tensors()[index] : nullptr;
}

tilebeat_status tilebeat_read_tensor(tilebeat_session* session, const char* name, void* elements,
                                     size_t bytes) {
  return on_run(session, [&](Session& run) {
    take_answer(run.ask(kStepReadTensor, 0, name), elements, bytes);
    return TILEBEAT_OK;
  });
}

tilebeat_status tilebeat_write_tensor(tilebeat_session* session, const char* name, const void* elements,
                                      size_t bytes) {
  return on_run(session, [&](Session& run) {
    const std::string named = name;
    run.ask(kStepWriteTensor, named.size(), named + std::string(view(elements, bytes)));
    return TILEBEAT_OK;
  });
}

tilebeat_status tilebeat_finish(tilebeat_session* session, tilebeat_result** result) {
  if (result == nullptr) return TILEBEAT_INVALID;
  *result = new (std::nothrow) tilebeat_result;
  if (*result == nullptr) return TILEBEAT_BROKEN;
  const tilebeat_status status = on_run(session, [&](Session& run) {
    run.finish(**result);
    return (*result)->status;
  });
  if (session != nullptr && !session->error.empty())
    (*result)->status = status, (*result)->error = session->error;
  return status;
}
