// Ports as files: `ports.json` names them, each file has a port's records as they are kept in memory.
#include "ports.h"

#include <cctype>
#include <cstdio>
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

}  // namespace

Ports read_vectors(const std::string& folder) {
  Ports ports;
  Json json(contents(folder + "/ports.json"));
  json.object([&](const std::string& key) {
    if (key != "ports") return json.skip();
    json.list([&] {
      std::string name, file;
      Port port;
      json.object([&](const std::string& member) {
        if (member == "name")
          name = json.string();
        else if (member == "file")
          file = json.string();
        else if (member == "fields")
          json.list([&] {
            Field field;
            json.object([&](const std::string& what) {
              if (what == "name")
                field.name = json.string();
              else if (what == "bits")
                field.bits = static_cast<int>(json.number());
              else
                json.skip();
            });
            port.fields.push_back(field);
          });
        else
          json.skip();
      });
      const std::string data = contents(folder + "/" + file);
      port.data.assign(data.begin(), data.end());
      if (port.data.size() % port.record_bytes() != 0)
        throw std::runtime_error(file + " ends within a record");
      ports[name] = std::move(port);
    });
  });
  return ports;
}

void write_vectors(const Ports& ports, const std::string& folder, std::uint64_t clock_ps) {
  std::ofstream index(folder + "/ports.json");
  index << "{\"clock_ps\":" << clock_ps << ",\"ports\":[";
  const char* comma = "";
  for (const auto& [name, port] : ports) {
    index << comma << "\n{\"name\":\"" << name << "\",\"file\":\"" << name << ".bin\",\"fields\":[";
    comma = "";
    for (const Field& field : port.fields) {
      index << comma << "{\"name\":\"" << field.name << "\",\"bits\":" << field.bits << "}";
      comma = ",";
    }
    index << "]}";
    comma = ",";
    std::ofstream file(folder + "/" + name + ".bin", std::ios::binary);
    file.write(reinterpret_cast<const char*>(port.data.data()),
               static_cast<std::streamsize>(port.data.size()));
  }
  index << "]}\n";
  if (!index.flush()) throw std::runtime_error("cannot write " + folder + "/ports.json");
}

}  // namespace bench
