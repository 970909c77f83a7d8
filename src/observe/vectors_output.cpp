#include "observe/vectors_output.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fnmatch.h>

namespace tilebeat {
namespace {

constexpr std::size_t kPassOnAt = 1 << 14;  // bytes of a port that wait
constexpr int kClockRank = 0;
constexpr int kProcessorBits = 16, kNumberBits = 48, kStageBits = 8, kTextBits = 8;

bool matches(const char* pattern, const std::string& text) {
  return fnmatch(pattern, text.c_str(), 0) == 0;
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Fields of a strobe that its name does not begin. The first pattern is the strobe's.
constexpr std::array<std::pair<const char*, const char*>, 26> kFieldsOfStrobes{{
    {"rbeat", "rdata"},
    {"wbeat", "wdata"},
    {"req", "addr"},
    {"req", "write"},
    {"req", "data"},
    {"record_write", "record"},
    {"record_write", "record_addr"},
    {"sums", "sum[0-9]*"},
    {"data", "bytes"},
    {"cmd", "bank"},
    {"cmd", "row"},
    {"cmd", "col"},
    {"beat", "group"},
    {"beat", "slice"},
    {"beat", "kernel_*"},
    {"beat", "channel"},
    {"beat", "hits"},
    {"beat", "misses"},
    {"beat", "bank_cycles"},
    {"broadcast", "line"},
    {"broadcast", "line_*"},
    {"drain", "column"},
    {"drain", "channel"},
    {"drain", "out"},
    {"add", "w*_line"},
    {"add", "w*_index"},
}};

// The stage of a unit's pipeline at which a port is.
constexpr std::array<std::pair<const char*, const char*>, 12> kStages{{
    {"*.banks.b*_write", "write queue"},
    {"*.banks.b*", "read"},
    {"*.parameters.w*_write", "write queue"},
    {"*.parameters.w*", "switch"},
    {"*.switch.sw*", "switch"},
    {"*.engine.pe", "multiply"},
    {"*.engine.out*", "post-processing"},
    {"*.post.record_write", "record"},
    {"*.sl[0-9]*", "multiply"},
    {"*.array", "multiply"},
    {"*.lanes", "multiply"},
    {"*.lanes.beat", "lookup"},
}};

std::string parent_of(const std::string& scope) {
  const std::size_t dot = scope.rfind('.');
  return dot == std::string::npos ? "" : scope.substr(0, dot);
}

bool is_dram_channel(const std::string& scope) {
  return matches("*.dram*.ch[0-9]*", "." + scope);
}

void put(std::string& to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to.push_back(i < 8 ? static_cast<char>(value >> (8 * i)) : '\0');
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
    text += fmt::format("{:02x}", static_cast<unsigned char>(*byte));
  return text;
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", text);
  return "[" + list + "]";
}

}  // namespace

int ProgramVectors::add_processor(const std::string& name) {
  processors_.push_back(name);
  if (next_ != nullptr) next_->add_processor(name);
  return to_int(processors_.size()) - 1;
}

void ProgramVectors::begin(int processor, std::uint64_t number, ProgramStage stage, Cycle at) {
  stages_.emplace_back(at, processor, number, static_cast<int>(stage));
  if (next_ != nullptr) next_->begin(processor, number, stage, at);
}

void ProgramVectors::name(int processor, std::uint64_t number, const std::string& text) {
  texts_.emplace_back(processor, number, text);
  if (next_ != nullptr) next_->name(processor, number, text);
}

// Finds the ports of signals: which are strobes, and what belongs to which.
class VectorsOutput::Grouping {
 public:
  explicit Grouping(const std::vector<SignalInfo>& signals) : signals_(signals) {
    for (std::size_t rank = kClockRank + 1; rank < signals.size(); ++rank)
      names_[signals[rank].scope].insert(signals[rank].name);
    for (std::size_t rank = kClockRank + 1; rank < signals.size(); ++rank) {
      if (is_strobe(signals[rank])) strobes_[signals[rank].scope].push_back(to_int(rank));
    }
  }
  // Whether a signal says that others carry something; other signals of one bit are data.
  bool is_strobe(const SignalInfo& signal) const {
    const std::set<std::string>& names = names_.at(signal.scope);
    if (signal.name == "cmd") return names.count("col") > 0;
    if (signal.width_bits != 1 || signal.radix == Radix::kText) return false;
    if (signal.name == "write" && names.count("req") > 0) return false;
    const auto is_data = [&](const char* end) { return ends_with(signal.name, end); };
    return !is_data("_across") && !is_data("half") && !is_data("req_write") && !is_data("second_slot") &&
           !is_data("first_slot");
  }
  // What the names of a strobe's data begin with; empty: all signals of the scope are its data.
  static std::string base_of(const std::string& strobe) {
    if (strobe == "valid") return "";
    return ends_with(strobe, "_valid") ? strobe.substr(0, strobe.size() - 6) : strobe;
  }
  // The strobe of a signal.
  std::optional<int> strobe_of(const SignalInfo& signal) const {
    const auto found = strobes_.find(signal.scope);
    if (found == strobes_.end()) return std::nullopt;
    std::optional<int> best;
    std::size_t length = 0;
    for (const int rank : found->second) {
      const std::string& strobe = nth(signals_, rank).name;
      for (const auto& [name, field] : kFieldsOfStrobes) {
        if (strobe == name && matches(field, signal.name)) return rank;
      }
      const std::string base = base_of(strobe);
      if (!base.empty() && signal.name != base && signal.name.rfind(base + "_", 0) != 0) continue;
      if (best && base.size() < length) continue;
      best = rank, length = base.size();
    }
    return best;
  }
  // The scope whose `registers` have a signal that no strobe governs: parts of a unit belong to the unit.
  std::string scope_of_registers(const SignalInfo& signal) const {
    const std::string parent = parent_of(signal.scope);
    return strobes_.count(signal.scope) == 0 && strobes_.count(parent) > 0 ? parent : signal.scope;
  }

 private:
  const std::vector<SignalInfo>& signals_;
  std::map<std::string, std::set<std::string>> names_;  // by scope
  std::map<std::string, std::vector<int>> strobes_;     // by scope: ranks
};

int VectorsOutput::add_port(const std::string& name, Kind kind, const std::string& scope) {
  bool wanted = options_.patterns.empty();
  for (std::size_t i = 0; i < options_.patterns.size(); ++i) {
    if (!matches(options_.patterns[i].c_str(), name)) continue;
    matched_[i] = true, wanted = true;
  }
  if (!wanted) return -1;
  Port port;
  port.name = name;
  port.kind = kind;
  port.clock_ps = is_dram_channel(scope) ? options_.dram_clock_ps : options_.clock_ps;
  const auto stage = std::find_if(kStages.begin(), kStages.end(),
                                  [&](const auto& entry) { return matches(entry.first, name); });
  if (kind == Kind::kStrobed && stage != kStages.end()) port.stage = stage->second;
  ports_.push_back(std::move(port));
  return to_int(ports_.size()) - 1;
}

void VectorsOutput::open(const std::vector<SignalInfo>& signals, Picoseconds, Picoseconds) {
  signals_ = signals;
  matched_.resize(options_.patterns.size(), false);
  places_.resize(signals.size());
  known_.resize(signals.size(), false);
  for (const SignalInfo& signal : signals) values_.emplace_back((to_size(signal.width_bits) + 7) / 8, '\0');
  const Grouping grouping(signals_);
  std::map<int, int> of_strobe;             // rank of a strobe -> port
  std::map<std::string, int> of_registers;  // scope -> port
  for (std::size_t rank = kClockRank + 1; rank < signals.size(); ++rank) {
    if (!grouping.is_strobe(signals[rank])) continue;
    const std::string base = Grouping::base_of(signals[rank].name);
    const int port =
        add_port(signals[rank].scope + (base.empty() ? "" : "." + base), Kind::kStrobed, signals[rank].scope);
    of_strobe[to_int(rank)] = port;
    places_[rank] = {port, 0, true};
    if (port >= 0 && signals[rank].width_bits > 1)
      nth(ports_, port).fields.push_back({signals[rank].name, signals[rank].width_bits, to_int(rank)});
  }
  for (std::size_t rank = kClockRank + 1; rank < signals.size(); ++rank) {
    const SignalInfo& signal = signals[rank];
    if (places_[rank].strobe) continue;
    const bool is_text = signal.radix == Radix::kText;
    if (const auto strobe = is_text ? std::nullopt : grouping.strobe_of(signal)) {
      places_[rank].port = of_strobe.at(*strobe);
      if (places_[rank].port >= 0)
        nth(ports_, places_[rank].port).fields.push_back({signal.name, signal.width_bits, to_int(rank)});
      continue;
    }
    const std::string scope = is_text ? signals[kClockRank].scope : grouping.scope_of_registers(signal);
    const bool dram = is_dram_channel(signal.scope);
    const std::string name = scope + (is_text ? dram ? ".dram_states" : ".states" : ".registers");
    const auto [found, is_new] = of_registers.try_emplace(name, -1);
    if (is_new) found->second = add_port(name, Kind::kChanges, signal.scope);
    if (found->second < 0) continue;
    Port& port = nth(ports_, found->second);
    places_[rank] = {found->second, to_int(port.members.size()), false};
    const std::string path = signal.scope + "." + signal.name;
    port.members.push_back(path.substr(scope.size() + 1));
    const int bits = is_text ? kTextBits : signal.width_bits;
    if (port.fields.empty()) port.fields = {{"signal", kProcessorBits}, {"known", 1}, {"value", bits}};
    port.fields.back().bits = std::max(port.fields.back().bits, bits);
  }
  complete_ports();
}

// A field says which of the others are known.
void VectorsOutput::complete_ports() {
  for (Port& port : ports_) {
    if (port.kind == Kind::kStrobed && !port.fields.empty())
      port.fields.push_back({"known", to_int(port.fields.size())});
  }
}

void VectorsOutput::value(Picoseconds at, int rank, const std::uint64_t* words) {
  const Place& place = nth(places_, rank);
  if (place.port < 0) return;
  Port& port = nth(ports_, place.port);
  if (port.kind == Kind::kStrobed) emit_before(port, at);
  std::string& value = nth(values_, rank);
  const bool was_known = known_[to_size(rank)];
  known_[to_size(rank)] = words != nullptr;
  if (words != nullptr) {
    std::memcpy(value.data(), words, value.size());
  } else {
    std::fill(value.begin(), value.end(), '\0');
  }
  if (place.strobe) port.high = std::any_of(value.begin(), value.end(), [](char byte) { return byte != 0; });
  if (port.kind == Kind::kStrobed || (words == nullptr && !was_known)) return;
  record_.clear();
  put(record_, to_unsigned(place.member), port.fields[0].bytes());
  put(record_, words != nullptr ? 1 : 0, 1);
  record_ += value;
  record_.resize(port.fields[0].bytes() + 1 + port.fields[2].bytes(), '\0');
  add_record(port, at / port.clock_ps, record_);
}

void VectorsOutput::text(Picoseconds at, int rank, std::string_view text) {
  const Place& place = nth(places_, rank);
  if (place.port < 0) return;
  Port& port = nth(ports_, place.port);
  auto known = std::find(port.texts.begin(), port.texts.end(), text);
  if (known == port.texts.end()) known = port.texts.insert(port.texts.end(), std::string(text));
  record_.clear();
  put(record_, to_unsigned(place.member), port.fields[0].bytes());
  put(record_, 1, 1);
  put(record_, to_unsigned(known - port.texts.begin()), port.fields[2].bytes());
  add_record(port, at / port.clock_ps, record_);
}

// Writes the records of the clocks that begin before `at` and have none yet.
void VectorsOutput::emit_before(Port& port, Picoseconds at) {
  const Cycle end = (at + port.clock_ps - 1) / port.clock_ps;
  if (end <= port.next) return;
  for (Cycle clock = port.next; port.high && clock < end; ++clock) emit_fields(port, clock);
  port.next = end;
}

void VectorsOutput::emit_fields(Port& port, Cycle clock) {
  record_.clear();
  std::string known;
  std::size_t number = 0;
  for (const Field& field : port.fields) {
    if (field.rank < 0) {
      known.resize(field.bytes(), '\0');
      record_ += known;
      continue;
    }
    record_ += nth(values_, field.rank);
    known.resize(number / 8 + 1, '\0');
    if (known_[to_size(field.rank)]) known.back() = static_cast<char>(known.back() | 1 << number % 8);
    ++number;
  }
  add_record(port, clock, record_);
}

void VectorsOutput::add_record(Port& port, Cycle clock, std::string_view fields) {
  put(port.waiting, to_unsigned(clock), sizeof(std::uint64_t));
  port.waiting += fields;
  ++port.records;
  if (options_.text) {
    port.text += fmt::format("{}", clock);
    for (const Field& field : port.fields) {
      port.text += ' ' + hexadecimal(fields.substr(0, field.bytes()));
      fields.remove_prefix(field.bytes());
    }
    port.text += '\n';
  }
  pass_on(port, kPassOnAt);
}

void VectorsOutput::pass_on(Port& port, std::size_t limit) {
  if (port.waiting.size() >= limit) sink_(port.name + ".bin", port.waiting), port.waiting.clear();
  if (options_.text && port.text.size() >= limit) sink_(port.name + ".txt", port.text), port.text.clear();
}

void VectorsOutput::close(Picoseconds end, const std::string&) {
  for (Port& port : ports_) {
    if (port.kind == Kind::kStrobed) emit_before(port, end);
    pass_on(port, 0);
  }
}

std::string VectorsOutput::description(const Port& port) const {
  std::string fields;
  for (const Field& field : port.fields)
    fields +=
        fmt::format("{}{{\"name\":\"{}\",\"bits\":{}}}", fields.empty() ? "" : ",", field.name, field.bits);
  std::string text =
      fmt::format(R"({{"name":"{}","file":"{}.bin","records":{},"clock_ps":{},"record":"{}")", port.name,
                  port.name, port.records, port.clock_ps, port.kind == Kind::kStrobed ? "valid" : "change");
  if (!port.stage.empty()) text += fmt::format(",\"stage\":\"{}\"", port.stage);
  text += ",\"fields\":[" + fields + "]";
  if (!port.members.empty()) text += ",\"signals\":" + list_of(port.members);
  if (!port.texts.empty()) text += ",\"values\":" + list_of(port.texts);
  return text + "}";
}

void VectorsOutput::finish(ProgramVectors& programs) {
  const int number = add_port("instructions", Kind::kChanges, "");
  if (number >= 0) {
    Port& port = nth(ports_, number);
    port.fields = {{"processor", kProcessorBits}, {"number", kNumberBits}, {"stage", kStageBits}};
    port.texts = {"fetch", "decode", "wait", "execute", "retire", "flush"};
    port.members = programs.processors_;
    std::sort(programs.stages_.begin(), programs.stages_.end());
    for (const auto& [at, processor, instruction, stage] : programs.stages_) {
      record_.clear();
      put(record_, to_unsigned(processor), port.fields[0].bytes());
      put(record_, instruction, port.fields[1].bytes());
      put(record_, to_unsigned(stage), port.fields[2].bytes());
      add_record(port, at, record_);
    }
    pass_on(port, 0);
    std::sort(programs.texts_.begin(), programs.texts_.end());
    std::string names;
    for (const auto& [processor, instruction, text] : programs.texts_)
      names += fmt::format("{} {} {}\n", processor, instruction, text);
    sink_("programs.txt", names);
  }
  std::string index = fmt::format(
      "{{\"version\":1,\"clock_ps\":{},\"clock\":\"a record of clock t holds between the edges at t x "
      "clock_ps "
      "and (t + 1) x clock_ps\",\"ports\":[",
      options_.clock_ps);
  const char* comma = "\n";
  for (const Port& port : ports_) index += comma + description(port), comma = ",\n";
  sink_("ports.json", index + "\n]}\n");
}

std::vector<std::string> VectorsOutput::unmatched_patterns() const {
  std::vector<std::string> unmatched;
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    if (!matched_[i]) unmatched.push_back(options_.patterns[i]);
  }
  return unmatched;
}

}  // namespace tilebeat
