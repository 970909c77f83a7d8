#include "client/process.h"
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

// NOLINTNEXTLINE(readability-identifier-naming): of C's interface
struct tilebeat_result {
  tilebeat_status status = TILEBEAT_BROKEN;
  std::string text, error, error_path;
  std::map<std::string, std::string> documents;
  std::vector<tilebeat::KeptTensor> tensors;
  std::vector<tilebeat_tensor> shown;  // of tensors
};

namespace tilebeat {
namespace {

constexpr const char* kProgram = "tilebeat";

// The JSON path of an error's first line: what begins with a slash behind "FILE: ". What follows an option is
// the name of a file.
std::string path_in(const std::string& errors) {
  const std::string error = errors.substr(0, errors.find('\n'));
  const std::size_t begin = error.find(": /");
  if (begin == std::string::npos || error.rfind("--", 0) == 0) return "";
  return error.substr(begin + 2, error.find_first_of(": ", begin + 2) - begin - 2);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// The command's lines of errors, without its name in front.
std::string errors_of(const std::string& lines) {
  std::string errors = "\n" + lines;
  replace_all(errors, std::string("\n") + kProgram + ": ", "\n");
  errors.erase(0, 1);
  while (!errors.empty() && errors.back() == '\n') errors.pop_back();
  return errors;
}

void set_end(const ProcessEnd& end, const std::string& program, tilebeat_result& result) {
  result.text = end.out;
  switch (end.how) {
    case ProcessEnd::How::kExited:
      result.status =
          end.status <= TILEBEAT_INVALID ? static_cast<tilebeat_status>(end.status) : TILEBEAT_BROKEN;
      break;
    case ProcessEnd::How::kCancelled:
      result.status = TILEBEAT_CANCELLED;
      break;
    case ProcessEnd::How::kSignalled:
    case ProcessEnd::How::kNotStarted:
    case ProcessEnd::How::kLost:
      result.status = TILEBEAT_BROKEN;
      break;
  }
  if (result.status == TILEBEAT_OK) return;
  result.error = errors_of(end.err);
  result.error_path = path_in(result.error);
  if (end.how == ProcessEnd::How::kNotStarted)
    result.error = program + ": cannot be started: " + std::strerror(end.status);
  else if (end.how == ProcessEnd::How::kLost)
    result.error = program + ": nobody knows how it ended: " + std::strerror(end.status);
  else if (end.how == ProcessEnd::How::kSignalled)
    result.error = program + ": ended by signal " + std::to_string(end.status);
  else if (result.status == TILEBEAT_CANCELLED)
    result.error = "cancelled";
}

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

void show_tensors(tilebeat_result& result) {
  for (const KeptTensor& tensor : result.tensors)
    result.shown.push_back({tensor.name.c_str(), tensor.type.c_str(), tensor.shape.size(),
                            tensor.shape.data(), tensor.bytes.data(), tensor.bytes.size()});
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

// A job as this version knows it: fields that the caller's version has not are 0.
tilebeat_job known_job(const tilebeat_job* given) {
  if (given == nullptr) throw JobError("there is no job");
  if (given->size < sizeof given->size) throw JobError("the job has no size");
  tilebeat_job job{};
  std::memcpy(&job, given, std::min(given->size, sizeof job));
  if (job.hardware == nullptr) throw JobError("the job has no hardware");
  if (job.workload == nullptr) throw JobError("the job has no workload");
  return job;
}

// Adds the job's options. Files that they name begin in the current folder, not in the one of the command.
void add_options(const tilebeat_job& job, std::vector<std::string>& arguments) {
  constexpr std::array kOfFiles{"--vcd",         "--fst",    "--vectors", "--timeline",
                                "--konata",      "--tables", "--mapping", "--plan-cache",
                                "--fault-table", "--export", "--picture"};
  const auto of_file = [&](const std::string& option) {
    return std::find(kOfFiles.begin(), kOfFiles.end(), option) != kOfFiles.end();
  };
  const auto absolute = [](const std::string& file) { return std::filesystem::absolute(file).string(); };
  std::string before;
  for (std::size_t i = 0; i < job.option_count; ++i) {
    std::string option = job.options[i];
    const std::size_t equal = option.find('=');
    const std::string front = option.substr(0, equal);
    if (of_file(before))
      option = absolute(option);
    else if (equal != std::string::npos && (of_file(front) || before == "--input"))
      option = front + "=" + absolute(option.substr(equal + 1));
    arguments.push_back(option);
    before = option;
  }
}

// Runs a command on a job. `made`: what is put in front of the options, with names of files in the workplace.
template <class Made>
tilebeat_status run_job(const char* command, const tilebeat_job* given, tilebeat_result** result,
                        const Made& made) {
  return call(result, [&](tilebeat_result& to) {
    const tilebeat_job job = known_job(given);
    const Workplace place;
    std::vector<std::string> arguments{command, "--config",
                                       place.file_of(job.hardware, "hardware.json", job.folder), "--layer",
                                       place.file_of(job.workload, "workload.json", job.folder)};
    made(job, place, arguments);
    for (std::size_t i = 0; i < job.input_count; ++i) {
      const std::string file = place.input_file(job.inputs[i], i);
      arguments.insert(arguments.end(), {"--input", std::string(job.inputs[i].name) + "=" + file});
    }
    add_options(job, arguments);
    // The command works in that folder and hears short names, so that equal jobs have equal reports.
    run(arguments, place.folder(), watch_of(job.progress, job.user), to);
    to.documents = documents_of(place.path("out"));
    // The last line of a run says where its files are.
    if (const std::size_t end = to.text.find("\nWrote out/"); end != std::string::npos) to.text.erase(end);
    to.tensors = tensors_of(place.path("out/outputs"));
    // Nothing of the simulated hardware failed, the command itself did.
    if (to.status == TILEBEAT_FAILED && to.documents.empty()) to.status = TILEBEAT_BROKEN;
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
    if (j.mapping != nullptr)
      arguments.insert(arguments.end(), {"--mapping", place.file_of(j.mapping, "mapping.json", j.folder)});
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
