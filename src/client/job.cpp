#include "client/job.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

namespace tilebeat {

tilebeat_job known_job(const tilebeat_job* given) {
  if (given == nullptr) throw JobError("there is no job");
  if (given->size < sizeof given->size) throw JobError("the job has no size");
  tilebeat_job job{};
  std::memcpy(&job, given, std::min(given->size, sizeof job));
  if (job.hardware == nullptr) throw JobError("the job has no hardware");
  if (job.workload == nullptr) throw JobError("the job has no workload");
  return job;
}

std::vector<std::string> arguments_of(const char* command, const tilebeat_job& job, const Workplace& place) {
  return {command, "--config", place.file_of(job.hardware, "hardware.json", job.folder), "--layer",
          place.file_of(job.workload, "workload.json", job.folder)};
}

void add_mapping(const tilebeat_job& job, const Workplace& place, std::vector<std::string>& arguments) {
  if (job.mapping != nullptr)
    arguments.insert(arguments.end(), {"--mapping", place.file_of(job.mapping, "mapping.json", job.folder)});
}

// Adds the job's options. Files that they name begin in the current folder, not in the one of the command.
static void add_options(const tilebeat_job& job, std::vector<std::string>& arguments) {
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

void add_rest(const tilebeat_job& job, const Workplace& place, std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < job.input_count; ++i) {
    const std::string file = place.input_file(job.inputs[i], i);
    arguments.insert(arguments.end(), {"--input", std::string(job.inputs[i].name) + "=" + file});
  }
  add_options(job, arguments);
}

}  // namespace tilebeat
