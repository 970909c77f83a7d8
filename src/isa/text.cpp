#include "tilebeat/base/error.h"
#include "tilebeat/isa/instruction.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "instruction_fields.h"

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

std::string value_text(DType value) {
  return std::string(dtype_name(value));
}
std::string value_text(VectorKind value) {
  return kVectorKindNames[static_cast<std::size_t>(value)];
}
std::string value_text(WfoldReadMode value) {
  return std::string(kWfoldReadModeNames[static_cast<std::size_t>(value)]);
}
std::string value_text(std::uint64_t value) {
  return fmt::format("{:#x}", value);  // the 48-bit addresses
}
template <class T>
std::string value_text(T value) {
  return fmt::format("{}", static_cast<std::int64_t>(value));
}

// The texts of an operation's fields at their defaults, to leave them out.
class Difference {
 public:
  explicit Difference(std::vector<std::string> defaults) : defaults_(std::move(defaults)) {}
  template <class T>
  void operator()(const char* name, const T& value, int) {
    const std::string text = value_text(value);
    if (index_ >= defaults_.size()) {
      texts.push_back(text);
    } else if (text != defaults_[index_]) {
      printed += fmt::format(" {}={}", name, text);
    }
    ++index_;
  }
  std::vector<std::string> texts;
  std::string printed;

 private:
  std::vector<std::string> defaults_;
  std::size_t index_ = 0;
};

template <class Op>
std::string fields_text(const Op& op) {
  Difference defaults({});
  const Op untouched{};
  visit_fields(defaults, untouched);
  Difference difference(std::move(defaults.texts));
  visit_fields(difference, op);
  return difference.printed;
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

// ---- reading ----

std::int64_t parse_number(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  std::string_view digits = text.substr(negative ? 1 : 0);
  const bool hex = digits.substr(0, 2) == "0x";
  if (hex) digits.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty())
    throw UserError(fmt::format("\"{}\" is not a number", text));
  return negative ? -value : value;
}

template <class Names>
int parse_choice(std::string_view text, const Names& names, const char* what) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) return static_cast<int>(i);
  }
  throw UserError(fmt::format("\"{}\" is no {}; there are {}", text, what, fmt::join(names, ", ")));
}

// Takes the field that is named, if the operation has it.
class Setter {
 public:
  Setter(std::string_view name, std::string_view value) : name_(name), value_(value) {}
  template <class T>
  void operator()(const char* name, T& field, int bits) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    if (name_ != name) return;
    found = true;
    if constexpr (std::is_same_v<T, DType>) {
      constexpr std::array<std::string_view, 3> kTypes{"int8", "uint8", "int32"};
      field = static_cast<DType>(parse_choice(value_, kTypes, "type"));
    } else if constexpr (std::is_same_v<T, WfoldReadMode>) {
      field = static_cast<WfoldReadMode>(parse_choice(value_, kWfoldReadModeNames, "way to read"));
    } else if constexpr (std::is_same_v<T, VectorKind>) {
      field = static_cast<VectorKind>(parse_choice(value_, kVectorKindNames, "vector operation"));
    } else {
      const std::int64_t value = parse_number(value_);
      const std::int64_t low = std::is_signed_v<T> ? -(std::int64_t{1} << (bits - 1)) : 0;
      const std::int64_t high = (std::int64_t{1} << (std::is_signed_v<T> ? bits - 1 : bits)) - 1;
      if (value < low || value > high)
        throw UserError(fmt::format("{} is {}, allowed are {} to {}", name, value, low, high));
      field = static_cast<T>(value);
    }
  }
  bool found = false;
  std::string names;

 private:
  std::string_view name_, value_;
};

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

void set_field(Instruction& instruction, std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos)
    throw UserError(fmt::format("\"{}\" is not of the form name=value", word));
  Setter setter(word.substr(0, equals), word.substr(equals + 1));
  std::visit([&setter](auto& op) { visit_fields(setter, op); }, instruction.operation);
  if (!setter.found) {
    throw UserError(fmt::format("there is no field \"{}\"; there are {}", word.substr(0, equals),
                                setter.names.empty() ? "none" : setter.names));
  }
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

const char* mnemonic(Opcode opcode) {
  switch (opcode) {
    case Opcode::kConvSetup:
      return "conv.setup";
    case Opcode::kConvRun:
      return "conv.run";
    case Opcode::kWfoldRun:
      return "wfold.run";
    case Opcode::kLoadInput:
      return "load.input";
    case Opcode::kLoadKernels:
      return "load.kernels";
    case Opcode::kStoreOutput:
      return "store.output";
    case Opcode::kLayerEnd:
      return "layer.end";
    case Opcode::kHalt:
      return "halt";
    case Opcode::kBarrier:
      return "barrier";
    case Opcode::kSignal:
      return "signal";
    case Opcode::kCopyIodma:
      return "iodma.copy";
    case Opcode::kCopyMvdma:
      return "mvdma.copy";
    case Opcode::kCopyGdma:
      return "gdma.copy";
    case Opcode::kCopyCdma:
      return "cdma.copy";
    case Opcode::kCopyFold:
      return "fold.copy";
    case Opcode::kVectorRun:
      return "vector.run";
  }
  return "?";
}

std::string summary(const Instruction& instruction) {
  return std::visit(
      [](const auto& op) {
        using Op = std::decay_t<decltype(op)>;
        std::string text = mnemonic(opcode_of(op));
        if constexpr (std::is_same_v<Op, ConvRun>)
          text += fmt::format(" {}x{}x{}", op.rows, op.columns, op.kernels);
        if constexpr (std::is_same_v<Op, WfoldRun>)
          text += fmt::format(" {}x{}x{}", op.rows, op.columns, op.kernels);
        if constexpr (std::is_same_v<Op, LoadInput>)
          text += fmt::format(" {}x{}x{}", op.height, op.width, op.channels);
        if constexpr (std::is_same_v<Op, LoadKernels>) text += fmt::format(" {} words", op.words);
        if constexpr (std::is_same_v<Op, StoreOutput>)
          text += fmt::format(" {}x{}x{} bytes", op.rows, op.columns, op.pixel_bytes);
        if constexpr (std::is_same_v<Op, Copy>)
          text += fmt::format(" {}x{}x{} bytes", op.outer_count, op.inner_count, op.run_bytes);
        if constexpr (std::is_same_v<Op, VectorRun>)
          text += fmt::format(" {} {}x{}x{}", kVectorKindNames[static_cast<std::size_t>(op.kind)], op.rows,
                              op.columns, op.channels);
        if constexpr (std::is_same_v<Op, Barrier>) text += fmt::format(" {}", op.id);
        return text;
      },
      instruction.operation);
}

std::string disassemble(const Instruction& instruction) {
  std::string text = std::visit(
      [](const auto& op) { return fmt::format("{:<13}{}", mnemonic(opcode_of(op)), fields_text(op)); },
      instruction.operation);
  append_tokens(text, "waits", instruction.waits);
  append_tokens(text, "releases", instruction.release_signals);
  append_tokens(text, "completes", instruction.done_signals);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

Instruction assemble(std::string_view line) {
  const std::string_view name = next_word(line);
  const auto* const opcode =
      std::find_if(kOpcodes.begin(), kOpcodes.end(), [name](Opcode o) { return name == mnemonic(o); });
  if (opcode == kOpcodes.end()) throw UserError(fmt::format("\"{}\" is no instruction", name));
  Instruction instruction;
  instruction.operation = *operation_of(*opcode);
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (word == "waits") {
      instruction.waits = parse_tokens(word, next_word(line));
    } else if (word == "releases") {
      instruction.release_signals = parse_tokens(word, next_word(line));
    } else if (word == "completes") {
      instruction.done_signals = parse_tokens(word, next_word(line));
    } else {
      set_field(instruction, word);
    }
  }
  return instruction;
}

}  // namespace tilebeat
