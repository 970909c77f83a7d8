#include "isa/instruction.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat {
namespace {

struct SemaphoreGroup {
  int first, count;
  const char* name;
  Activity activity;
};
constexpr SemaphoreGroup kGroups[] = {
    {input_full(0), 2, "input_full", Activity::kInputLoad},
    {input_free(0), 2, "input_free", Activity::kInputRelease},
    {output_full(0), 2, "output_full", Activity::kOutputReady},
    {output_free(0), 2, "output_free", Activity::kOutputSpace},
    {map_begun(0), kFoldBuffers, "map_begun", Activity::kMapLoad},
    {kernels_full(0), kMaxParameterSlots, "kernels_full", Activity::kWeightLoad},
    {kernels_free(0), kMaxParameterSlots, "kernels_free", Activity::kWeightRelease},
    {map_full(0), kMemoryBuffers, "map_full", Activity::kMapLoad},
    {map_free(0), kMemoryBuffers, "map_free", Activity::kMapRelease},
    {wram_full(0), kMemoryBuffers, "wram_full", Activity::kKernelLoad},
    {wram_free(0), kMemoryBuffers, "wram_free", Activity::kKernelRelease},
    {result_full(0), kMemoryBuffers, "result_full", Activity::kOutputReady},
    {result_free(0), kMemoryBuffers, "result_free", Activity::kOutputSpace},
    {kLayerStored, 1, "layer_stored", Activity::kLayerEnd},
    {peer(0), kPeerSemaphores, "peer", Activity::kPeer},
};
constexpr SemaphoreGroup kOthers{0, kSemaphores, "semaphore", Activity::kNoWork};

const SemaphoreGroup& group_of(Semaphore s) {
  const auto* const found =
      std::find_if(std::begin(kGroups), std::end(kGroups),
                   [s](const SemaphoreGroup& g) { return s >= g.first && s < g.first + g.count; });
  return found != std::end(kGroups) ? *found : kOthers;
}

void append_tokens(std::string& text, const char* label, const Semaphores& semaphores) {
  bool any = false;
  for (Semaphore s : semaphores) {
    if (s == 0) continue;
    text += any ? "," : fmt::format("  {} ", label);
    text += semaphore_name(s);
    any = true;
  }
}

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
  line.remove_prefix(begin);
  const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

Semaphores parse_tokens(std::string_view word, std::string_view list) {
  Semaphores semaphores{};
  std::size_t count = 0;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const auto semaphore = semaphore_of(list.substr(0, end));
    if (!semaphore || *semaphore == 0)
      throw UserError(fmt::format("\"{}\" behind \"{}\" is no semaphore", list.substr(0, end), word));
    if (count == semaphores.size())
      throw UserError(fmt::format("\"{}\" takes {} semaphores at most", word, semaphores.size()));
    semaphores[count++] = *semaphore;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  if (count == 0) throw UserError(fmt::format("\"{}\" names no semaphore", word));
  return semaphores;
}

void set_field(Operation& operation, std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos)
    throw UserError(fmt::format("\"{}\" is not of the form name=value", word));
  operation.set_field(word.substr(0, equals), word.substr(equals + 1));
}

}  // namespace

Activity semaphore_activity(Semaphore s) {
  return group_of(s).activity;
}

std::string semaphore_name(Semaphore s) {
  const SemaphoreGroup& group = group_of(s);
  return group.count == 1 ? group.name : fmt::format("{}[{}]", group.name, s - group.first);
}

std::optional<Semaphore> semaphore_of(std::string_view name) {
  for (int s = 0; s < kSemaphores; ++s) {
    if (semaphore_name(static_cast<Semaphore>(s)) == name) return static_cast<Semaphore>(s);
  }
  return std::nullopt;
}

std::string summary(const Instruction& instruction) {
  return instruction.operation.summary();
}

std::string disassemble(const Instruction& instruction) {
  const Operation& operation = instruction.operation;
  std::string text = fmt::format("{:<13}{}", operation.type().name(), operation.fields_text());
  append_tokens(text, "waits", instruction.waits);
  append_tokens(text, "releases", instruction.release_signals);
  append_tokens(text, "completes", instruction.done_signals);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

Instruction assemble(std::string_view line, const InstructionSet& set) {
  const std::string_view name = next_word(line);
  const OperationType* type = set.with_name(name);
  if (type == nullptr) throw UserError(fmt::format("\"{}\" is no instruction", name));
  Instruction instruction;
  instruction.operation = type->default_value();
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (word == "waits") {
      instruction.waits = parse_tokens(word, next_word(line));
    } else if (word == "releases") {
      instruction.release_signals = parse_tokens(word, next_word(line));
    } else if (word == "completes") {
      instruction.done_signals = parse_tokens(word, next_word(line));
    } else {
      set_field(instruction.operation, word);
    }
  }
  if (const std::string fault = instruction.operation.fault(); !fault.empty()) throw UserError(fault);
  return instruction;
}

}  // namespace tilebeat
