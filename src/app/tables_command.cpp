#include "tilebeat/base/error.h"
#include "tilebeat/config/compiled_ahead.h"
#include "tilebeat/config/hardware_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "commands.h"
#include "compiled_files.h"
#include "output_files.h"
#include "output_places.h"
#include "planning.h"

namespace tilebeat {
namespace {

// What is compiled ahead by the engine that `file` says it is for: the first one that compiles anything.
std::shared_ptr<CompiledAhead> any_ahead(EngineConfigs& engines) {
  for (std::size_t i = 0; i < engines.size(); ++i) {
    if (auto ahead = engines[i].compiled_ahead()) return ahead;
  }
  throw UserError("tables: no engine compiles anything ahead");
}

void show(const TablesCommand& command) {
  EngineConfigs engines;
  const std::shared_ptr<CompiledAhead> ahead = any_ahead(engines);
  ahead->use(read_compiled(command.show), command.show);
  CompiledAhead::Question question;
  question.entry = command.entry;
  question.thread = command.thread, question.k = command.k;
  fmt::print("{}", ahead->text(question));
}

void compile(const TablesCommand& command) {
  HardwareConfig hardware = load_hardware(command.config);
  const std::shared_ptr<CompiledAhead> ahead = ahead_of(hardware);
  const Workload workload = load_workload(command.layer);
  for (const std::string& input : files_read(command.config, command.layer)) {
    std::error_code ignored;
    if (std::filesystem::equivalent(input, command.out, ignored))
      throw UserError(fmt::format("--out {}: is read by this command, it cannot be written", command.out));
  }
  ahead->record();
  plan_workload(workload, hardware, command.layer);
  const std::vector<std::uint8_t> bytes = ahead->file();
  OutputFiles files;
  files.write(command.out, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  files.commit();
  fmt::print("{}\nWrote {} ({} bytes)\n", ahead->text({}), command.out, bytes.size());
}

}  // namespace

std::shared_ptr<CompiledAhead> ahead_of(HardwareConfig& hardware) {
  const auto& known = engine_descriptions();
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (hardware.dataflow != known[i].dataflow) continue;
    if (auto ahead = hardware.engines[i].compiled_ahead()) return ahead;
  }
  throw UserError(fmt::format("tables: the engine \"{}\" compiles nothing ahead", hardware.dataflow));
}

std::vector<std::uint8_t> read_compiled(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw UserError(fmt::format("{}: is a folder", path));
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw UserError(fmt::format("{}: cannot be read", path));
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) throw UserError(fmt::format("{}: cannot be read", path));
  return bytes;
}

int tables(const TablesCommand& command) {
  if (!command.show.empty())
    show(command);
  else
    compile(command);
  return 0;
}

}  // namespace tilebeat
