// Reads the vectors of a run of the product (`tilebeat run --vectors`) into the ports of the switch array:
// ports of single banks and lanes become one with the number in front, changes of registers a record for each
// clock.
#include "ports.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

// As much of JSON as the file needs: objects, lists, texts without escapes, whole numbers.
class Json {
 public:
  explicit Json(std::string text) : text_(std::move(text)) {}

  // Calls `each` with every key of the object at hand; it must read or skip the value.
  template <typename Each>
  void object(Each each) {
    expect('{');
    while (!taken('}')) {
      const std::string key = string();
      expect(':');
      each(key);
      taken(',');
    }
  }
  template <typename Each>
  void list(Each each) {
    expect('[');
    while (!taken(']')) {
      each();
      taken(',');
    }
  }
  std::string string() {
    expect('"');
    const std::size_t end = text_.find('"', at_);
    if (end == std::string::npos) throw std::runtime_error("ports.json: a text has no end");
    std::string value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return value;
  }
  std::int64_t number() {
    blanks();
    std::size_t used = 0;
    const std::int64_t value = std::stoll(text_.substr(at_, 24), &used);
    at_ += used;
    return value;
  }
  void skip() {
    blanks();
    if (text_[at_] == '"')
      string();
    else if (text_[at_] == '{')
      object([&](const std::string&) { skip(); });
    else if (text_[at_] == '[')
      list([&] { skip(); });
    else
      while (at_ < text_.size() && std::string(",]}").find(text_[at_]) == std::string::npos) at_++;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) at_++;
    if (at_ >= text_.size()) throw std::runtime_error("ports.json ends early");
  }
  bool taken(char c) {
    blanks();
    if (text_[at_] != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!taken(c))
      throw std::runtime_error(std::string("ports.json: ") + c + " is expected, not " +
                               text_.substr(at_, 20));
  }
  std::string text_;
  std::size_t at_ = 0;
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A file of vectors.
struct File {
  Port port;
  std::vector<std::string> signals, values;
};

// The files of a folder, by the names of their ports.
class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) {
    Json json(contents(path + "/ports.json"));
    json.object([&](const std::string& key) {
      if (key != "ports") return json.skip();
      json.list([&] { take(json); });
    });
  }
  bool has(const std::string& name) const { return files_.count(name) != 0; }
  const File& at(const std::string& name) const {
    const auto found = files_.find(name);
    if (found == files_.end()) throw std::runtime_error("the vectors have no port " + name);
    return found->second;
  }

 private:
  void take(Json& json) {
    std::string name, file;
    File made;
    json.object([&](const std::string& member) {
      if (member == "name")
        name = json.string();
      else if (member == "file")
        file = json.string();
      else if (member == "signals")
        json.list([&] { made.signals.push_back(json.string()); });
      else if (member == "values")
        json.list([&] { made.values.push_back(json.string()); });
      else if (member == "fields")
        json.list([&] { made.port.fields.push_back(field(json)); });
      else
        json.skip();
    });
    const std::string data = contents(path_ + "/" + file);
    made.port.data.assign(data.begin(), data.end());
    if (made.port.data.size() % made.port.record_bytes() != 0)
      throw std::runtime_error(file + " ends within a record");
    files_[name] = std::move(made);
  }
  static Field field(Json& json) {
    Field field;
    json.object([&](const std::string& what) {
      if (what == "name")
        field.name = json.string();
      else if (what == "bits")
        field.bits = static_cast<int>(json.number());
      else
        json.skip();
    });
    return field;
  }

  std::string path_;
  std::map<std::string, File> files_;
};

int place_of(const Port& port, const std::string& field) {
  for (std::size_t i = 0; i < port.fields.size(); i++)
    if (port.fields[i].name == field) return static_cast<int>(i);
  throw std::runtime_error("the vectors have no field " + field);
}

// A port of the switch array that is made from ports of the vectors.
class Merged {
 public:
  Merged(Ports& ports, const std::string& name, std::vector<Field> fields) : to_(ports[name]) {
    to_.fields = std::move(fields);
  }
  // Takes all records of a file; `number` comes first where it is not negative, then the named fields.
  void take(const File& file, int number, const std::vector<std::string>& fields) {
    std::vector<int> places;
    for (const std::string& field : fields) places.push_back(place_of(file.port, field));
    for (std::size_t i = 0; i < file.port.records(); i++) {
      Record record{file.port.clock(i), number, {}};
      for (std::size_t f = 0; f < places.size(); f++) {
        const std::uint8_t* from = file.port.value(i, places[f]);
        const int bytes = to_.fields[f + (number >= 0 ? 1 : 0)].bytes();
        for (int b = 0; b < bytes; b++)
          record.bytes.push_back(b < file.port.fields[places[f]].bytes() ? from[b] : 0);
      }
      records_.push_back(std::move(record));
    }
  }
  ~Merged() {
    std::stable_sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
      return a.clock != b.clock ? a.clock < b.clock : a.number < b.number;
    });
    for (const Record& record : records_) {
      to_.begin(record.clock);
      if (record.number >= 0) to_.add(record.number, 1);
      to_.data.insert(to_.data.end(), record.bytes.begin(), record.bytes.end());
    }
  }

 private:
  struct Record {
    std::uint64_t clock;
    int number;
    std::vector<std::uint8_t> bytes;
  };
  Port& to_;
  std::vector<Record> records_;
};

// The value of a register in every clock.
class Register {
 public:
  Register(const File& file, const std::string& signal) : file_(file) {
    const auto found = std::find(file.signals.begin(), file.signals.end(), signal);
    if (found == file.signals.end()) throw std::runtime_error("the vectors have no register " + signal);
    number_ = found - file.signals.begin();
  }
  // Clocks rise from call to call.
  std::uint64_t at(std::uint64_t clock) {
    for (; next_ < file_.port.records() && file_.port.clock(next_) <= clock; next_++)
      if (file_.port.number(next_, 0) == number_) value_ = file_.port.number(next_, 2);
    return value_;
  }

 private:
  const File& file_;
  std::uint64_t number_ = 0, value_ = 0;
  std::size_t next_ = 0;
};

void read_array(const Folder& folder, const Geometry& geometry, const std::string& engine, Ports& ports) {
  const int word = geometry.port_channels * 8;
  const std::vector<Field> stored{{"bank", 8}, {"address", 32}, {"data", word}},
      kernels{{"column", 8}, {"address", 32}, {"data", word}};
  Merged writes(ports, "engine.banks.write", stored), reads(ports, "engine.banks.read", stored);
  Merged lanes(ports, "engine.switch", {{"lane", 8}, {"h", 16}, {"w", 16}, {"data", word}});
  for (int b = 0; b < geometry.rows; b++) {
    const std::string bank = "b" + std::to_string(b), lane = "sw" + std::to_string(b);
    writes.take(folder.at(engine + "banks." + bank + "_write"), b, {bank + "_write_addr", bank + "_write"});
    reads.take(folder.at(engine + "banks." + bank), b, {bank + "_addr", bank});
    lanes.take(folder.at(engine + "switch." + lane), b, {lane + "_h", lane + "_w", lane});
  }
  Merged loads(ports, "engine.parameters.write", kernels), words(ports, "engine.parameters.read", kernels);
  for (int c = 0; c < geometry.columns; c++) {
    const std::string bank = "w" + std::to_string(c);
    loads.take(folder.at(engine + "parameters." + bank + "_write"), c,
               {bank + "_write_addr", bank + "_write"});
    words.take(folder.at(engine + "parameters." + bank), c, {bank + "_addr", bank});
  }
  if (folder.has(engine + "post.record_write"))
    Merged(ports, "engine.records.write", {{"place", 32}, {"record", 128}})
        .take(folder.at(engine + "post.record_write"), -1, {"record_addr", "record"});
  Merged results(ports, "engine.out", {{"group", 8}, {"address", 32}, {"data", geometry.columns * 32}});
  for (int g = 0; g < geometry.groups; g++) {
    const std::string out = "out" + std::to_string(g);
    results.take(folder.at(engine + out), g, {out + "_addr", out});
  }
}

// Sums and accumulators, which the file has PE by PE in a record.
void read_pes(const File& file, const Geometry& geometry, Ports& ports) {
  Port& to = ports["engine.pe"];
  to.fields = {{"row", 8}, {"column", 8}, {"sum", 32}, {"accumulator", 32}};
  for (std::size_t i = 0; i < file.port.records(); i++) {
    const std::uint8_t* from = file.port.value(i, 0);
    for (int pe = 0; pe < geometry.rows * geometry.columns; pe++, from += 8) {
      to.begin(file.port.clock(i));
      to.add(pe / geometry.columns, 1);
      to.add(pe % geometry.columns, 1);
      to.data.insert(to.data.end(), from, from + 8);
    }
  }
}

void read_beats(const Folder& folder, const std::string& engine, Ports& ports) {
  Port& to = ports["engine.switch.beat"];
  to.fields = {{"beat", 32}, {"row_block", 16}, {"column_block", 16}};
  const File& registers = folder.at(engine + "switch.registers");
  Register beat(registers, "beat"), row(registers, "row_block"), column(registers, "column_block");
  const Port& words = folder.at(engine + "parameters.w0").port;
  for (std::size_t i = 0; i < words.records(); i++) {
    const std::uint64_t clock = words.clock(i);
    to.begin(clock);
    to.add(beat.at(clock), 4);
    to.add(row.at(clock), 2);
    to.add(column.at(clock), 2);
  }
}

// What changes in no rhythm, in each clock up to `end`.
void read_states(const Folder& folder, const std::string& scope, std::uint64_t end, Ports& ports) {
  Port& state = ports["engine.state"];
  state.fields = {{"state", 8}};
  const std::string top = scope.substr(0, scope.find('.') + 1);
  const File& states = folder.at(top + "states");
  std::vector<int> codes;
  for (const std::string& value : states.values) {
    static const std::map<std::string, int> known{
        {"busy", 1}, {"pipeline_fill", 2}, {"bank_conflict", 3}, {"output_drain", 4}, {"setup_wait", 5}};
    codes.push_back(known.count(value) != 0 ? known.at(value) : 0);
  }
  Register array(states, scope.substr(top.size()) + "engine.array.state");
  Port& outstanding = ports["bus.store.outstanding"];
  outstanding.fields = {{"bursts", 16}};
  Register bursts(folder.at(scope + "bus.store.registers"), "outstanding");
  for (std::uint64_t clock = 0; clock <= end; clock++) {
    if (const int code = codes.at(array.at(clock)); code != 0) {
      state.begin(clock);
      state.add(code, 1);
    }
    outstanding.begin(clock);
    outstanding.add(bursts.at(clock), 2);
  }
}

std::uint64_t last_clock(const Ports& ports) {
  std::uint64_t last = 0;
  for (const auto& [name, port] : ports)
    if (port.records() > 0) last = std::max(last, port.clock(port.records() - 1));
  return last;
}

}  // namespace

Ports read_vectors(const std::string& path, const Geometry& geometry, const std::string& scope) {
  const Folder folder(path);
  const std::string engine = scope + "engine.", channel = scope == "soc." ? scope + "dma_" : scope;
  Ports ports;
  read_array(folder, geometry, engine, ports);
  read_pes(folder.at(engine + "pe"), geometry, ports);
  read_beats(folder, engine, ports);
  Merged(ports, "dma_load.streaming", {}).take(folder.at(channel + "load.streaming"), -1, {});
  Merged(ports, "dma_parameter.streaming", {}).take(folder.at(channel + "parameter.streaming"), -1, {});
  Merged(ports, "dma_store.reading", {}).take(folder.at(channel + "store.reading"), -1, {});
  const std::vector<Field> data{{"data", geometry.bus_bytes * 8}};
  for (const std::string name : {"fetch", "load", "parameter", "store"}) {
    const std::string bus = scope + "bus." + name;
    if (!folder.has(bus + ".rbeat")) continue;  // a core fetches over another bus
    Merged(ports, "bus." + name + ".read", data).take(folder.at(bus + ".rbeat"), -1, {"rdata"});
    Merged(ports, "bus." + name + ".write", data).take(folder.at(bus + ".wbeat"), -1, {"wdata"});
    Merged(ports, "bus." + name + ".request", {{"address", 48}, {"bytes", 32}})
        .take(folder.at(bus + ".req"), -1, {"addr", "req_bytes"});
  }
  read_states(folder, scope, last_clock(ports) + 1, ports);
  return ports;
}

std::vector<Executed> read_programs(const std::string& path, const std::string& processor) {
  constexpr std::uint64_t kExecute = 3, kRetire = 4;
  const Folder folder(path);
  const File& file = folder.at("instructions");
  const auto found = std::find(file.signals.begin(), file.signals.end(), processor);
  if (found == file.signals.end()) throw std::runtime_error("the vectors have no processor " + processor);
  const std::uint64_t number = found - file.signals.begin();
  std::vector<Executed> executed;
  const auto at = [&](std::size_t instruction) -> Executed& {
    if (executed.size() <= instruction) executed.resize(instruction + 1);
    return executed[instruction];
  };
  for (std::size_t i = 0; i < file.port.records(); i++) {
    if (file.port.number(i, 0) != number) continue;
    Executed& instruction = at(file.port.number(i, 1));
    if (file.port.number(i, 2) == kExecute) instruction.begin = file.port.clock(i);
    if (file.port.number(i, 2) == kRetire) instruction.end = file.port.clock(i);
  }
  std::stringstream lines(contents(path + "/programs.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::stringstream words(line);
    std::uint64_t of = 0, instruction = 0;
    words >> of >> instruction;
    if (of == number) std::getline(words >> std::ws, at(instruction).text);
  }
  return executed;
}

}  // namespace bench
