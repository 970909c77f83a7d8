#include "observe/vector_ports.h"

#include "observe/signal_order.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>

namespace tilebeat {
namespace {

constexpr int kTextBits = 8;
constexpr std::array kRecordNames{"valid", "change", "bank"};  // by kind, in ports.json

std::string list_of(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", text);
  return "[" + list + "]";
}

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

// Fields of the strobe `valid` of the scope around theirs: the operands of multipliers.
constexpr std::array<const char*, 3> kFieldsOfParents{"x[0-9]*", "w[0-9]*", "c[0-9]*"};

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

// Channels and answers of DRAM count in its clock, and so do the states of channels' ledgers.
bool counts_in_dram_clock(const std::string& scope) {
  return matches("*.dram*.ch[0-9]*", "." + scope) || matches("*.dram*.answers", "." + scope);
}

// Finds the ports of signals: which are strobes, and what belongs to which.
class Grouping {
 public:
  Grouping(const std::vector<SignalInfo>& signals, const std::vector<SignalId>& order) : signals_(signals) {
    for (const SignalInfo& signal : signals) names_[signal.scope].insert(signal.name);
    for (const SignalId id : order) {
      if (is_strobe(nth(signals, id))) strobes_[nth(signals, id).scope].push_back(id);
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
  std::optional<SignalId> strobe_of(const SignalInfo& signal) const {
    const auto found = strobes_.find(signal.scope);
    if (found == strobes_.end()) return strobe_of_parent(signal);
    std::optional<SignalId> best;
    std::size_t length = 0;
    for (const SignalId id : found->second) {
      const std::string& strobe = nth(signals_, id).name;
      for (const auto& [name, field] : kFieldsOfStrobes) {
        if (strobe == name && matches(field, signal.name)) return id;
      }
      const std::string base = base_of(strobe);
      if (!base.empty() && signal.name != base && signal.name.rfind(base + "_", 0) != 0) continue;
      if (best && base.size() < length) continue;
      best = id, length = base.size();
    }
    return best;
  }
  std::optional<SignalId> strobe_of_parent(const SignalInfo& signal) const {
    const auto found = strobes_.find(parent_of(signal.scope));
    const bool is_operand = std::any_of(kFieldsOfParents.begin(), kFieldsOfParents.end(),
                                        [&](const char* pattern) { return matches(pattern, signal.name); });
    if (found == strobes_.end() || !is_operand) return std::nullopt;
    for (const SignalId id : found->second) {
      if (nth(signals_, id).name == "valid") return id;
    }
    return std::nullopt;
  }
  // The scope whose `registers` have a signal that no strobe governs: parts of a unit belong to the unit.
  std::string scope_of_registers(const SignalInfo& signal) const {
    const std::string parent = parent_of(signal.scope);
    return strobes_.count(signal.scope) == 0 && strobes_.count(parent) > 0 ? parent : signal.scope;
  }

 private:
  const std::vector<SignalInfo>& signals_;
  std::map<std::string, std::set<std::string>> names_;    // by scope
  std::map<std::string, std::vector<SignalId>> strobes_;  // by scope, ordered by path
};

// Makes the ports of a grouping.
class PortMaker {
 public:
  PortMaker(const std::vector<SignalInfo>& signals, const std::vector<SignalId>& order)
      : signals_(signals), order_(order), grouping_(signals, order) {
    result_.places.resize(signals.size());
  }
  VectorPorts make() {
    for (const SignalId id : order_) add_strobe(id);
    for (const SignalId id : order_) {
      if (!nth(result_.places, id).strobe && nth(signals_, id).bank.empty()) add_other(id);
    }
    // In the order in which they are declared: their units tell of them in that order.
    for (SignalId id = 0; id < to_int(signals_.size()); ++id) {
      if (!nth(signals_, id).bank.empty()) add_to_bank(id);
    }
    // A field says which of the others are known.
    for (VectorPort& port : result_.ports) {
      if (port.kind != PortRecordKind::kChanges && !port.fields.empty())
        port.fields.push_back({"known", to_int(port.fields.size())});
    }
    return std::move(result_);
  }

 private:
  int add_port(const std::string& name, PortRecordKind kind, const std::string& scope) {
    VectorPort port;
    port.name = name, port.kind = kind, port.of_dram = counts_in_dram_clock(scope);
    const auto stage = std::find_if(kStages.begin(), kStages.end(),
                                    [&](const auto& entry) { return matches(entry.first, name); });
    if (kind == PortRecordKind::kStrobed && stage != kStages.end()) port.stage = stage->second;
    result_.ports.push_back(std::move(port));
    return to_int(result_.ports.size()) - 1;
  }
  void add_field(SignalId id, const std::string& name) {
    VectorPlace& place = nth(result_.places, id);
    std::vector<VectorField>& fields = nth(result_.ports, place.port).fields;
    place.field = to_int(fields.size());
    fields.push_back({name, nth(signals_, id).width_bits});
  }
  void add_strobe(SignalId id) {
    const SignalInfo& signal = nth(signals_, id);
    if (!grouping_.is_strobe(signal)) return;
    const std::string base = Grouping::base_of(signal.name);
    VectorPlace& place = nth(result_.places, id);
    place.port =
        add_port(signal.scope + (base.empty() ? "" : "." + base), PortRecordKind::kStrobed, signal.scope);
    place.strobe = true;
    if (signal.width_bits > 1) add_field(id, signal.name);
  }
  void add_to_bank(SignalId id) {
    const SignalInfo& signal = nth(signals_, id);
    const std::string scope = grouping_.scope_of_registers(signal);
    const std::string name = scope + "." + signal.bank;
    const auto [found, is_new] = of_registers_.try_emplace(name, -1);
    if (is_new) found->second = add_port(name, PortRecordKind::kBank, signal.scope);
    nth(result_.places, id).port = found->second;
    add_field(id, (signal.scope + "." + signal.name).substr(scope.size() + 1));
  }
  void add_other(SignalId id) {
    const SignalInfo& signal = nth(signals_, id);
    VectorPlace& place = nth(result_.places, id);
    const bool is_text = signal.radix == Radix::kText;
    if (const auto strobe = is_text ? std::nullopt : grouping_.strobe_of(signal)) {
      place.port = nth(result_.places, *strobe).port;
      const std::string path = signal.scope + "." + signal.name;
      return add_field(id, path.substr(nth(signals_, *strobe).scope.size() + 1));
    }
    const std::string scope = is_text ? outermost_scope(signal) : grouping_.scope_of_registers(signal);
    const bool dram = counts_in_dram_clock(signal.scope);
    const std::string name = scope + (is_text ? dram ? ".dram_states" : ".states" : ".registers");
    const auto [found, is_new] = of_registers_.try_emplace(name, -1);
    if (is_new) found->second = add_port(name, PortRecordKind::kChanges, signal.scope);
    VectorPort& port = nth(result_.ports, found->second);
    port.has_texts = is_text;
    place.port = found->second, place.member = to_int(port.members.size());
    const std::string path = signal.scope + "." + signal.name;
    port.members.push_back(path.substr(scope.size() + 1));
    const int bits = is_text ? kTextBits : signal.width_bits;
    if (port.fields.empty()) port.fields = {{"signal", kMemberBits}, {"known", kKnownBits}, {"value", bits}};
    port.fields.back().bits = std::max(port.fields.back().bits, bits);
  }

  const std::vector<SignalInfo>& signals_;
  const std::vector<SignalId>& order_;
  Grouping grouping_;
  std::map<std::string, int> of_registers_;  // name -> port
  VectorPorts result_;
};

}  // namespace

std::vector<std::size_t> VectorPort::field_bytes() const {
  std::vector<std::size_t> bytes;
  for (const VectorField& field : fields) bytes.push_back(field.bytes());
  return bytes;
}

VectorPorts vector_ports(const std::vector<SignalInfo>& signals, const std::vector<SignalId>& order) {
  return PortMaker(signals, order).make();
}

std::string description_of(const VectorPort& port, std::int64_t records, Picoseconds clock_ps) {
  std::string fields;
  for (const VectorField& field : port.fields)
    fields +=
        fmt::format("{}{{\"name\":\"{}\",\"bits\":{}}}", fields.empty() ? "" : ",", field.name, field.bits);
  std::string text = fmt::format(R"({{"name":"{}","file":"{}.bin","records":{},"clock_ps":{},"record":"{}")",
                                 port.name, port.name, records, clock_ps, kRecordNames[to_size(port.kind)]);
  if (!port.stage.empty()) text += fmt::format(",\"stage\":\"{}\"", port.stage);
  text += ",\"fields\":[" + fields + "]";
  if (!port.members.empty()) text += ",\"signals\":" + list_of(port.members);
  if (!port.texts.empty()) text += ",\"values\":" + list_of(port.texts);
  return text + "}";
}

}  // namespace tilebeat
