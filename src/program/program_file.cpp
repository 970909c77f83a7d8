#include "program/program_file.h"

#include "base/inputs_read.h"
#include "base/types.h"
#include "isa/operations.h"
#include "program/plan.h"
#include "schema/json_file.h"
#include "schema/place.h"
#include "schema/values.h"
#include "tilebeat/error.h"
#include "workload/npy.h"
#include "workload/tensor.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::string_view kApart = "apart:";  // begins the layout of a .tensor in parts

class ProgramReader {
 public:
  ProgramReader(const std::string& path, const HardwareConfig& hardware) : path_(path), hardware_(hardware) {}

  HandPrograms read() {
    note_input(path_);
    std::istringstream stream(read_file(path_, kMaxProgramBytes));
    files_.push_back(path_);
    for (std::string line; std::getline(stream, line);) {
      ++line_;
      at_line(line_, [&] { take(with_labels(line.substr(0, line.find('#')))); });
    }
    for (const auto& [name, line] : expects_) at_line(line, [&, &tensor = name] { check_expected(tensor); });
    if (plan_.programs.empty()) throw UserError(fmt::format("{}: there is no .program", path_));
    if (plan_.layers.empty()) add_layer("program");
    place_programs();
    plan_.hand_written = true;
    plan_.file = path_;
    plan_.name = one_line(std::filesystem::path(path_).stem().string());
    return {std::move(plan_), std::move(files_), std::move(expected_)};
  }

 private:
  // Runs `action`; an error from it is rethrown with the line.
  template <class Action>
  void at_line(int line, Action action) const {
    try {
      action();
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}:{}: {}", path_, line, error.what()));
    }
  }

  // The line with what labels stand for in place of `@NAME` and `@NAME+NUMBER`.
  std::string with_labels(const std::string& line) const {
    std::string made;
    std::size_t from = 0;
    for (std::size_t at = line.find('@'); at != std::string::npos; at = line.find('@', from)) {
      made += line.substr(from, at - from);
      from = std::min(line.find_first_of(", \t\r=@+", at + 1), line.size());
      const std::string name = line.substr(at + 1, from - at - 1);
      const auto label = labels_.find(name);
      if (label == labels_.end())
        throw UserError(fmt::format("\"@{}\": no .label before this line has that name", name));
      if (from == line.size() || line[from] != '+') {
        made += label->second;
        continue;
      }
      const std::size_t begin = from + 1;
      from = std::min(line.find_first_of(", \t\r", begin), line.size());
      if (semaphore_of(label->second))
        throw UserError(fmt::format("\"{}\": only a number is added to", line.substr(at, from - at)));
      made += fmt::format("{:#x}", number(label->second, kMostNumber) +
                                       number(line.substr(begin, from - begin), kMostNumber));
    }
    return made + line.substr(from);
  }

  void take(const std::string& line) {
    std::istringstream words(line);
    std::string first;
    if (!(words >> first)) return;
    if (first[0] != '.') {
      if (plan_.programs.empty()) throw UserError("an instruction before the first .program");
      // Lines of `plan --disassemble` begin with the instruction's address.
      const std::size_t begin = first.substr(0, 2) == "0x" ? line.find(first) + first.size() : 0;
      const Instruction instruction = assemble(std::string_view(line).substr(begin));
      note_layer(instruction);
      plan_.programs.back().lines.push_back(line_);
      plan_.programs.back().instructions.push_back(instruction);
    } else if (first == ".program") {
      begin_program(words);
    } else if (first == ".data") {
      take_data(words);
    } else if (first == ".bytes") {
      take_bytes(words);
    } else if (first == ".int32") {
      take_numbers<std::int32_t>(words);
    } else if (first == ".double") {
      take_numbers<double>(words);
    } else if (first == ".tensor") {
      take_tensor(words);
    } else if (first == ".expect") {
      take_expected(words);
    } else if (first == ".label") {
      take_label(words);
    } else {
      throw UserError(
          fmt::format("\"{}\" is no directive; there are .program, .data, .bytes, .int32, "
                      ".double, .tensor, .expect, .label",
                      first));
    }
    std::string rest;
    if (first[0] == '.' && words >> rest)
      throw UserError(fmt::format("\"{}\" is too much behind {}", rest, first));
  }

  static std::string word(std::istringstream& words, const char* what) {
    std::string text;
    if (!(words >> text)) throw UserError(fmt::format("{} is expected", what));
    return text;
  }

  static std::uint64_t number(const std::string& text, std::uint64_t limit, int base = 0) {
    std::string_view digits = text;
    const bool hex = digits.substr(0, 2) == "0x";
    if (hex) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                              base != 0 ? base
                                              : hex     ? 16
                                                        : 10);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty() || value > limit)
      throw UserError(fmt::format("\"{}\" is no number from 0 to {}", text, limit));
    return value;
  }

  std::uint64_t dram_address(std::istringstream& words) const {
    return number(word(words, "an address in DRAM"), to_unsigned(hardware_.dram.size_bytes) - 1);
  }

  void begin_program(std::istringstream& words) {
    const std::string kind = word(words, "\"core\", \"memory\" or \"soc\"");
    int processor = 0;
    if (!hardware_.chip) {
      if (kind != "soc")
        throw UserError(fmt::format(".program {}: this hardware has no clusters, \"soc\" is expected", kind));
    } else {
      processor = chip_processor(kind, words);
    }
    ProgramImage made{"main", processor, 0, {}};
    for (std::string option; words >> option;) {
      if (option == "at") {
        made.address = dram_address(words);
        if (made.address == 0 || made.address % kInstructionBytes != 0)
          throw UserError(
              fmt::format("at {:#x}: a multiple of {} above 0 is expected", made.address, kInstructionBytes));
      } else if (option == "scene") {
        made.label = word(words, "the name of a scene");
        if (!is_name(made.label)) throw UserError(fmt::format("\"{}\" is no name of a scene", made.label));
      } else {
        throw UserError(fmt::format("\"{}\": \"at\" or \"scene\" is expected", option));
      }
    }
    for (const ProgramImage& program : plan_.programs) {
      if (program.processor == processor && program.label == made.label)
        throw UserError("this processor has a program already");
    }
    plan_.programs.push_back(std::move(made));
  }

  int chip_processor(const std::string& kind, std::istringstream& words) const {
    const ChipConfig& chip = *hardware_.chip;
    const auto most_cluster = to_unsigned(chip.clusters - 1);
    if (kind == "memory") {
      const auto cluster = to_int(number(word(words, "a cluster"), most_cluster));
      return cluster * (chip.cores_per_cluster + 1) + chip.cores_per_cluster;
    }
    if (kind != "core")
      throw UserError(fmt::format("\"{}\": \"core CLUSTER.CORE\" or \"memory CLUSTER\" is expected", kind));
    const std::string place = word(words, "CLUSTER.CORE");
    const std::size_t dot = place.find('.');
    if (dot == std::string::npos) throw UserError(fmt::format("\"{}\": CLUSTER.CORE is expected", place));
    const auto cluster = to_int(number(place.substr(0, dot), most_cluster));
    const auto core = to_int(number(place.substr(dot + 1), to_unsigned(chip.cores_per_cluster - 1)));
    return cluster * (chip.cores_per_cluster + 1) + core;
  }

  void take_data(std::istringstream& words) {
    const std::uint64_t address = dram_address(words);
    const std::string name = word(words, "a .npy file");
    const auto file = std::filesystem::path(path_).parent_path() / name;
    files_.push_back(file.string());
    add_segment(name, address, read_npy(file.string()).bytes);
  }

  void take_bytes(std::istringstream& words) {
    const std::uint64_t address = dram_address(words);
    std::vector<std::uint8_t> bytes;
    for (std::string text; words >> text;)
      bytes.push_back(static_cast<std::uint8_t>(number(text, UINT8_MAX, 16)));
    if (bytes.empty()) throw UserError("bytes are expected, two hexadecimal digits each");
    add_segment("bytes", address, std::move(bytes));
  }

  static std::int32_t element(const std::string& text, std::int32_t) {
    const bool negative = text.substr(0, 1) == "-";
    const std::string digits = text.substr(negative ? 1 : 0);
    const bool is_number = !digits.empty() && std::isdigit(static_cast<unsigned char>(digits[0])) != 0;
    constexpr std::uint64_t kMost = INT32_MAX;
    try {
      if (!is_number) throw UserError("");
      const auto value = to_signed(number(digits, kMost + (negative ? 1 : 0)));
      return static_cast<std::int32_t>(negative ? -value : value);
    } catch (const UserError&) {
      throw UserError(fmt::format("\"{}\" is no number from {} to {}", text, INT32_MIN, INT32_MAX));
    }
  }
  static double element(const std::string& text, double) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      throw UserError(fmt::format("\"{}\" is no number from {} to {}", text,
                                  std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()));
    return value;
  }

  // Little-endian, as the machine is.
  template <class Element>
  void take_numbers(std::istringstream& words) {
    const std::uint64_t address = dram_address(words);
    std::vector<std::uint8_t> bytes;
    for (std::string text; words >> text;) {
      const Element value = element(text, Element{});
      bytes.resize(bytes.size() + sizeof value);
      std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
    }
    if (bytes.empty()) throw UserError("numbers are expected");
    add_segment("numbers", address, std::move(bytes));
  }

  // A number, or the name of a semaphore.
  void take_label(std::istringstream& words) {
    const std::string name = word(words, "a name");
    if (!is_name(name))
      throw UserError(fmt::format("\"{}\" is no name: letters, digits, '_', '-' and '.' are", name));
    const std::string value = word(words, "a number or a semaphore");
    if (!semaphore_of(value)) number(value, kMostNumber);
    if (!labels_.emplace(name, value).second)
      throw UserError(fmt::format("there is a label \"{}\" already", name));
  }

  void take_expected(std::istringstream& words) {
    const std::string name = word(words, "the name of a .tensor");
    const std::string file = word(words, "a .npy file");
    if (!expects_.emplace(name, line_).second)
      throw UserError(fmt::format("there is an .expect for \"{}\" already", name));
    const std::string path = (std::filesystem::path(path_).parent_path() / file).string();
    files_.push_back(path);
    expected_[name] = {file, read_npy(path)};
  }

  void check_expected(const std::string& name) const {
    const auto result = plan_.tensors.find(name);
    if (result == plan_.tensors.end())
      throw UserError(fmt::format("there is no .tensor \"{}\" to compare with", name));
    const auto text = [](DType type, const std::vector<std::int64_t>& shape) {
      return fmt::format("{} [{}]", dtype_name(type), fmt::join(shape, ", "));
    };
    const auto& [file, elements] = expected_.at(name);
    const TensorInfo& info = result->second.info;
    if (elements.dtype != info.dtype || elements.shape != info.shape)
      throw UserError(fmt::format("{}: is {}, the .tensor \"{}\" is {}", file,
                                  text(elements.dtype, elements.shape), name, text(info.dtype, info.shape)));
  }

  void take_tensor(std::istringstream& words) {
    const std::string name = word(words, "a name");
    if (plan_.tensors.count(name) != 0)
      throw UserError(fmt::format("there is a tensor \"{}\" already", name));
    if (!is_name(name))
      throw UserError(fmt::format("\"{}\" is no name: letters, digits, '_', '-' and '.' are", name));
    Placement placement;
    placement.address = dram_address(words);
    constexpr std::string_view kExpected = "int8, uint8, int16, int32 or int64";
    const std::string type = word(words, kExpected.data());
    constexpr std::array kTypes{DType::kInt8, DType::kUint8, DType::kInt16, DType::kInt32, DType::kInt64};
    const auto* const known =
        std::find_if(kTypes.begin(), kTypes.end(), [&](DType one) { return dtype_name(one) == type; });
    if (known == kTypes.end()) throw UserError(fmt::format("\"{}\": {} is expected", type, kExpected));
    placement.info.dtype = *known;
    constexpr std::uint64_t kMostExtent = 1 << 20;
    auto bytes = to_unsigned(dtype_size(placement.info.dtype));
    std::string layout;
    for (std::string text; layout.empty() && words >> text;) {
      if (text[0] < '0' || text[0] > '9') {
        layout = text;
        break;
      }
      const std::uint64_t extent = number(text, kMostExtent);
      if (extent == 0) throw UserError("an extent is 0, at least 1 is expected");
      placement.info.shape.push_back(to_signed(extent));
      bytes *= extent;  // at most 2^20 times what fits DRAM
      need_room(placement.address, bytes);
    }
    if (placement.info.shape.empty()) throw UserError("extents are expected");
    if (layout.rfind(kApart, 0) == 0)
      placement.stored = parts_of(layout, placement);
    else if (!layout.empty())
      placement.stored = layout_of(layout, placement);
    if (placement.stored) need_room(placement.address, to_unsigned(placement.stored->size_bytes()));
    plan_.tensors[name] = placement;
    plan_.outputs.push_back(name);
  }

  // The layout `apart:PARTS:BYTES`.
  StoredMapPointer parts_of(const std::string& text, const Placement& placement) const {
    const std::size_t colon = text.find(':', kApart.size());
    if (colon == std::string::npos)
      throw UserError(fmt::format("\"{}\": apart:PARTS:BYTES is expected", text));
    const std::int64_t bytes = placement.info.size_bytes();
    const auto parts =
        to_signed(number(text.substr(kApart.size(), colon - kApart.size()), to_unsigned(bytes)));
    if (parts == 0 || bytes % parts != 0)
      throw UserError(fmt::format("{}: the tensor's {} bytes are not {} equal parts", text, bytes, parts));
    const auto most = to_unsigned(hardware_.dram.size_bytes / parts);
    const auto stride = to_signed(number(text.substr(colon + 1), most));
    if (stride < bytes / parts)
      throw UserError(fmt::format("{}: a part has {} bytes, the next one begins {} behind it", text,
                                  bytes / parts, stride));
    return spaced_map(placement.address, bytes, parts, bytes / parts, stride);
  }

  static StoredMapPointer layout_of(const std::string& text, const Placement& placement) {
    const std::string name = text.substr(0, text.find(':'));
    const auto found = std::find(kMapLayoutNames.begin(), kMapLayoutNames.end(), name);
    const bool blocks = name == "nchwc";
    if (found == kMapLayoutNames.end() || blocks != (name.size() < text.size()))
      throw UserError(fmt::format(
          "\"{}\": an extent, or the layout nchw, cnhw, nhwc, nchwc:BLOCK or apart:PARTS:BYTES, is expected",
          text));
    if (placement.info.shape.size() != 4)
      throw UserError(fmt::format("{}: a map of four extents is expected", text));
    constexpr std::uint64_t kMostChannels = 1 << 16;
    const std::uint64_t block = blocks ? number(text.substr(name.size() + 1), kMostChannels) : 1;
    if (block == 0) throw UserError(fmt::format("{}: a block of at least 1 channel is expected", text));
    return stored_map(placement.address, placement.info,
                      static_cast<MapLayout>(found - kMapLayoutNames.begin()), to_int(block));
  }

  void need_room(std::uint64_t address, std::uint64_t bytes) {
    const auto size = to_unsigned(hardware_.dram.size_bytes);
    if (bytes > size - address)
      throw UserError(
          fmt::format("{} bytes at {:#x} lie beyond the {} of dram.size_bytes", bytes, address, size));
    end_ = std::max(end_, address + bytes);
  }

  void add_segment(const std::string& what, std::uint64_t address, std::vector<std::uint8_t> bytes) {
    need_room(address, bytes.size());
    const auto behind = taken_.lower_bound(address);
    const auto overlap = [&](std::uint64_t other) {
      throw UserError(fmt::format("the bytes at {:#x} overlap those at {:#x}", address, other));
    };
    if (behind != taken_.end() && behind->first < address + bytes.size()) overlap(behind->first);
    if (behind != taken_.begin() && std::prev(behind)->second > address) overlap(std::prev(behind)->first);
    if (!bytes.empty()) taken_[address] = address + bytes.size();
    plan_.image.push_back({what, address, std::move(bytes)});
  }

  void note_layer(const Instruction& instruction) {
    const auto* end = instruction.operation.get_if<LayerEnd>();
    if (end == nullptr) return;
    constexpr std::uint32_t kMostLayers = 65535;
    if (end->layer > kMostLayers)
      throw UserError(fmt::format("layer {} is beyond {}", end->layer, kMostLayers));
    while (plan_.layers.size() <= end->layer) add_layer(fmt::format("layer{}", plan_.layers.size()));
    ++plan_.layers[end->layer].ends;
  }
  void add_layer(const std::string& name) {
    LayerPlan layer;
    layer.name = name, layer.op = "program", layer.scene = "main";
    layer.ends = 0;
    plan_.layers.push_back(layer);
  }

  // Programs lie behind everything that the file names.
  void place_programs() {
    constexpr std::uint64_t kProgramAlignment = 4096;
    const EngineDescription& engine = engine_description(hardware_.dataflow);
    for (ProgramImage& program : plan_.programs) {
      if (engine.complete != nullptr) engine.complete(hardware_, program.instructions);
      const bool placed = program.address != 0;
      if (!placed) program.address = align_up(end_, kProgramAlignment);
      std::vector<std::uint8_t> bytes;
      for (const Instruction& instruction : program.instructions) {
        const InstructionBytes encoded = encode(instruction);
        bytes.insert(bytes.end(), encoded.begin(), encoded.end());
      }
      if (bytes.empty()) throw UserError(fmt::format("{}: a program without instructions", path_));
      if (program.address + bytes.size() > to_unsigned(hardware_.dram.size_bytes))
        throw UserError(fmt::format("{}: dram.size_bytes leaves no room for the programs", path_));
      if (placed) {
        add_segment("program", program.address, std::move(bytes));
      } else {
        end_ = program.address + bytes.size();
        plan_.image.push_back({"program", program.address, std::move(bytes)});
      }
    }
    plan_.dram_bytes = end_;
    place_start_tables(plan_, hardware_);
    if (plan_.dram_bytes > to_unsigned(hardware_.dram.size_bytes))
      throw UserError(fmt::format("{}: dram.size_bytes leaves no room for the table of programs", path_));
  }

  std::string path_;
  const HardwareConfig& hardware_;
  int line_ = 0;  // the line that is being read, from 1
  Plan plan_;
  std::vector<std::string> files_;
  static constexpr std::uint64_t kMostNumber = (std::uint64_t{1} << 63) - 1;  // of a label
  std::map<std::string, std::string> labels_;
  std::map<std::string, HandPrograms::Expected> expected_;  // by result
  std::map<std::string, int> expects_;                      // by result: line of its .expect
  std::map<std::uint64_t, std::uint64_t> taken_;            // places in DRAM: begin and end
  std::uint64_t end_ = 4096;
};

}  // namespace

HandPrograms load_programs(const std::string& path, const HardwareConfig& hardware) {
  return ProgramReader(path, hardware).read();
}

ProgramIndex::ProgramIndex(const Plan& plan) {
  for (const LayerPlan& layer : plan.layers) layers_.push_back(layer.name);
  for (const ProgramImage& program : plan.programs) {
    std::vector<Place>& places = programs_[program.address];
    std::map<int, int> numbers;  // by opcode: number of the layer's operations so far
    std::size_t begin = 0;       // index of the layer's first instruction
    for (const Instruction& instruction : program.instructions) {
      const auto* end = instruction.operation.get_if<LayerEnd>();
      if (end == nullptr) {
        places.push_back({0, numbers[instruction.operation.type().opcode()]++});
        continue;
      }
      places.push_back({end->layer, 0});
      for (; begin < places.size(); ++begin) places[begin].layer = end->layer;
      numbers.clear();
    }
    places.resize(begin);
  }
}

std::optional<ProgramIndex::Place> ProgramIndex::find(std::uint64_t address) const {
  auto program = programs_.upper_bound(address);
  if (program == programs_.begin()) return std::nullopt;
  program = std::prev(program);
  const std::uint64_t number = (address - program->first) / kInstructionBytes;
  if (number >= program->second.size()) return std::nullopt;
  const Place& place = program->second[number];
  if (place.layer >= layers_.size()) return std::nullopt;
  return place;
}

}  // namespace tilebeat
