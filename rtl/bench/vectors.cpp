#include "vectors.h"

#include <algorithm>
#include <cctype>
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

Field field(Json& json) {
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

void take(Json& json, const std::string& path, std::map<std::string, File>& files) {
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
  const std::string data = contents(path + "/" + file);
  made.port.data.assign(data.begin(), data.end());
  if (made.port.data.size() % made.port.record_bytes() != 0)
    throw std::runtime_error(file + " ends within a record");
  files[name] = std::move(made);
}
int place_of(const Port& port, const std::string& field) {
  for (std::size_t i = 0; i < port.fields.size(); i++)
    if (port.fields[i].name == field) return static_cast<int>(i);
  throw std::runtime_error("the vectors have no field " + field);
}

}  // namespace

Folder::Folder(const std::string& path) : path_(path) {
  Json json(contents(path + "/ports.json"));
  json.object([&](const std::string& key) {
    if (key != "ports") return json.skip();
    json.list([&] { take(json, path_, files_); });
  });
}

const File& Folder::at(const std::string& name) const {
  const auto found = files_.find(name);
  if (found == files_.end()) throw std::runtime_error("the vectors have no port " + name);
  return found->second;
}

Merged::Merged(Ports& ports, const std::string& name, std::vector<Field> fields) : to_(ports[name]) {
  to_.fields = std::move(fields);
}

void Merged::take(const File& file, int number, const std::vector<std::string>& fields) {
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

Merged::~Merged() {
  std::stable_sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
    return a.clock != b.clock ? a.clock < b.clock : a.number < b.number;
  });
  for (const Record& record : records_) {
    to_.begin(record.clock);
    if (record.number >= 0) to_.add(record.number, 1);
    to_.data.insert(to_.data.end(), record.bytes.begin(), record.bytes.end());
  }
}

Register::Register(const File& file, const std::string& signal) : file_(file) {
  const auto found = std::find(file.signals.begin(), file.signals.end(), signal);
  if (found == file.signals.end()) throw std::runtime_error("the vectors have no register " + signal);
  number_ = found - file.signals.begin();
}

std::uint64_t Register::at(std::uint64_t clock) {
  for (; next_ < file_.port.records() && file_.port.clock(next_) <= clock; next_++)
    if (file_.port.number(next_, 0) == number_) value_ = file_.port.number(next_, 2);
  return value_;
}

void read_states(const Folder& folder, const std::string& scope, const std::string& engine,
                 const std::vector<std::string>& units, const std::map<std::string, int>& codes,
                 Ports& ports) {
  const std::string top = scope.substr(0, scope.find('.') + 1);
  const File& states = folder.at(top + "states");
  const std::uint64_t end = last_clock(ports) + 1;
  for (const std::string& unit : units) {
    Register state(states, scope.substr(top.size()) + engine + unit + ".state");
    Port& to = ports["state." + unit];
    to.fields = {{"state", 8}};
    for (std::uint64_t clock = 0; clock <= end; clock++) {
      const auto code = codes.find(states.values.at(state.at(clock)));
      if (code == codes.end()) continue;
      to.begin(clock);
      to.add(code->second, 1);
    }
  }
}

std::uint64_t last_clock(const Ports& ports) {
  std::uint64_t last = 0;
  for (const auto& [name, port] : ports)
    if (port.records() > 0) last = std::max(last, port.clock(port.records() - 1));
  return last;
}

std::map<std::string, std::vector<Executed>> read_programs(const std::string& path) {
  constexpr std::uint64_t kExecute = 3, kRetire = 4;
  const Folder folder(path);
  const File& file = folder.at("instructions");
  std::map<std::string, std::vector<Executed>> programs;
  const auto at = [&](std::uint64_t processor, std::size_t instruction) -> Executed& {
    std::vector<Executed>& executed = programs[file.signals.at(processor)];
    if (executed.size() <= instruction) executed.resize(instruction + 1);
    return executed[instruction];
  };
  for (std::size_t i = 0; i < file.port.records(); i++) {
    Executed& instruction = at(file.port.number(i, 0), file.port.number(i, 1));
    if (file.port.number(i, 2) == kExecute) instruction.begin = file.port.clock(i);
    if (file.port.number(i, 2) == kRetire) instruction.end = file.port.clock(i);
  }
  std::stringstream lines(contents(path + "/programs.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::stringstream words(line);
    std::uint64_t processor = 0, instruction = 0;
    words >> processor >> instruction;
    std::getline(words >> std::ws, at(processor, instruction).text);
  }
  return programs;
}

}  // namespace bench
