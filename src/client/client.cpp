#include "client/job.h"
#include "client/process.h"
#include "client/result.h"
#include "client/workplace.h"
#include "tilebeat/tilebeat.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace tilebeat {
namespace {

// How far the call is whose progress function runs in this thread; null: none does.
thread_local const Advance* told = nullptr;

Watch watch_of(tilebeat_progress progress, void* user) {
  if (progress == nullptr) return nullptr;
  return [=](const char* line, const Advance& advance) {
    const Advance* const before = std::exchange(told, &advance);
    const bool cancel = progress(user, line) != 0;
    told = before;
    return cancel;
  };
}

void run(const std::vector<std::string>& arguments, const std::string& folder, const Watch& watch,
         tilebeat_result& result) {
  const std::string program = command_path();
  std::vector<std::string> argv{kProgram};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  set_end(run_process(program, argv, folder, watch), program, result);
}

// Calls `work` with a new result; what it throws becomes an error.
template <class Work>
tilebeat_status call(tilebeat_result** made, const Work& work) {
  if (made == nullptr) return TILEBEAT_INVALID;
  *made = nullptr;
  auto result = std::unique_ptr<tilebeat_result>(new (std::nothrow) tilebeat_result);
  if (result == nullptr) return TILEBEAT_BROKEN;
  try {
    work(*result);
    show_tensors(*result);
  } catch (const JobError& error) {
    result->status = TILEBEAT_INVALID, result->error = error.what();
  } catch (const std::exception& error) {
    result->status = TILEBEAT_BROKEN, result->error = error.what();
  }
  *made = result.release();
  return (*made)->status;
}

// Runs a command on a job. `made`: what is put in front of the options, with names of files in the workplace.
template <class Made>
tilebeat_status run_job(const char* command, const tilebeat_job* given, tilebeat_result** result,
                        const Made& made) {
  return call(result, [&](tilebeat_result& to) {
    const tilebeat_job job = known_job(given);
    const Workplace place;
    std::vector<std::string> arguments = arguments_of(command, job, place);
    made(job, place, arguments);
    add_rest(job, place, arguments);
    // The command works in that folder and hears short names, so that equal jobs have equal reports.
    run(arguments, place.folder(), watch_of(job.progress, job.user), to);
    take_files(place, to);
  });
}

}  // namespace
}  // namespace tilebeat

using namespace tilebeat;  // NOLINT(google-build-using-namespace): the functions below are C's

int tilebeat_abi(void) {
  return TILEBEAT_ABI;
}

const char* tilebeat_version(void) {
  return TILEBEAT_VERSION;
}

tilebeat_status tilebeat_run(const tilebeat_job* job, tilebeat_result** result) {
  return run_job("run", job, result, [](const tilebeat_job& j, const Workplace& place, auto& arguments) {
    arguments.insert(arguments.end(), {"--out", "out"});
    add_mapping(j, place, arguments);
  });
}

tilebeat_status tilebeat_plan(const tilebeat_job* job, tilebeat_result** result) {
  return run_job("plan", job, result, [](const tilebeat_job& j, const Workplace& place, auto& arguments) {
    if (j.mapping != nullptr) throw JobError("a plan makes a mapping and takes none");
    place.make("out");
    arguments.insert(arguments.end(), {"--mapping", "out/mapping.json"});
  });
}

tilebeat_status tilebeat_whatif(const tilebeat_job* job, tilebeat_result** result) {
  return run_job("whatif", job, result, [](const tilebeat_job& j, const Workplace&, auto& arguments) {
    if (j.mapping != nullptr) throw JobError("whatif takes no mapping: other hardware needs other ones");
    arguments.insert(arguments.end(), {"--out", "out"});
  });
}

tilebeat_status tilebeat_command(const char* const* arguments, size_t count, tilebeat_progress progress,
                                 void* user, tilebeat_result** result) {
  return call(result, [&](tilebeat_result& to) {
    if (arguments == nullptr && count > 0) throw JobError("there are no arguments");
    run({arguments, arguments + count}, "", watch_of(progress, user), to);
  });
}

double tilebeat_share(void) {
  return told != nullptr ? told->share : 0;
}

const char* tilebeat_state(void) {
  return told != nullptr ? told->text.c_str() : "";
}

void tilebeat_free(tilebeat_result* result) {
  delete result;
}

tilebeat_status tilebeat_status_of(const tilebeat_result* result) {
  return result->status;
}

const char* tilebeat_text(const tilebeat_result* result) {
  return result->text.c_str();
}

const char* tilebeat_error(const tilebeat_result* result) {
  return result->error.c_str();
}

const char* tilebeat_error_path(const tilebeat_result* result) {
  return result->error_path.c_str();
}

const char* tilebeat_document(const tilebeat_result* result, const char* name) {
  const auto found = result->documents.find(name);
  return found != result->documents.end() ? found->second.c_str() : nullptr;
}

size_t tilebeat_tensor_count(const tilebeat_result* result) {
  return result->shown.size();
}

const tilebeat_tensor* tilebeat_tensor_at(const tilebeat_result* result, size_t index) {
  return index < result->shown.size() ? &result->shown[index] : nullptr;
}
