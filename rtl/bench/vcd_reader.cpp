// Reads a waveform of the product into ports. A port has a record in each clock in which its valid strobe is
// up.
#include "ports.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <unordered_map>

namespace bench {
namespace {

struct Signal {
  int bits = 0;
  std::vector<std::uint8_t> value;  // least significant byte first; x is 0
  std::string text;
  std::uint64_t number() const {
    std::uint64_t number = 0;
    std::memcpy(&number, value.data(), std::min<std::size_t>(8, value.size()));
    return number;
  }
};

class Waveform {
 public:
  explicit Waveform(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) throw std::runtime_error("cannot read " + path);
    std::fseek(file, 0, SEEK_END);
    text_.resize(std::ftell(file) + 1);
    std::fseek(file, 0, SEEK_SET);
    if (std::fread(text_.data(), 1, text_.size() - 1, file) != text_.size() - 1)
      throw std::runtime_error("cannot read " + path);
    std::fclose(file);
    text_.back() = 0;
    header();
  }

  Signal& at(const std::string& name) {
    const auto found = names_.find(name);
    if (found == names_.end()) throw std::runtime_error("the waveform has no signal " + name);
    return signals_[found->second];
  }
  bool has(const std::string& name) const { return names_.count(name) != 0; }

  // Calls `each` with every time and the values that hold from then on, and the time of the next change.
  void play(const std::function<void(std::uint64_t from, std::uint64_t to)>& each) {
    std::uint64_t now = 0;
    bool any = false;
    for (char* line = body_; *line != 0;) {
      char* end = std::strchr(line, '\n');
      if (end == nullptr) break;
      *end = 0;
      if (*line == '#') {
        const std::uint64_t time = std::strtoull(line + 1, nullptr, 10);
        if (any && time > now) each(now, time);
        now = time;
        any = true;
      } else if (*line == 'b') {
        char* space = std::strchr(line, ' ');
        set(find(space + 1), line + 1, space);
      } else if (*line == 's') {
        char* space = std::strrchr(line, ' ');
        signals_[find(space + 1)].text.assign(line + 1, space);
      } else if (*line == '0' || *line == '1' || *line == 'x' || *line == 'z') {
        set(find(line + 1), line, line + 1);
      }
      line = end + 1;
    }
    each(now, now + 1);
  }

 private:
  static std::uint64_t key(const char* id) {
    std::uint64_t key = 0;
    for (; *id != 0 && *id != ' ' && *id != '\r'; id++) key = key * 128 + static_cast<unsigned char>(*id);
    return key;
  }
  std::size_t find(const char* id) const { return ids_.at(key(id)); }

  void set(std::size_t index, const char* begin, const char* end) {
    Signal& signal = signals_[index];
    std::fill(signal.value.begin(), signal.value.end(), 0);
    const std::size_t length = end - begin;
    for (std::size_t i = 0; i < length && i / 8 < signal.value.size(); i++)
      if (end[-1 - static_cast<std::ptrdiff_t>(i)] == '1') signal.value[i / 8] |= 1U << (i % 8);
  }

  void header() {
    std::vector<std::string> scope;
    char* line = text_.data();
    for (;;) {
      char* end = std::strchr(line, '\n');
      if (end == nullptr) throw std::runtime_error("the waveform has no definitions");
      *end = 0;
      char a[32], b[256], c[256], d[256];
      int bits = 0;
      if (std::sscanf(line, "$scope %31s %255s", a, b) == 2)
        scope.push_back(b);
      else if (std::strncmp(line, "$upscope", 8) == 0)
        scope.pop_back();
      else if (std::sscanf(line, "$var %31s %d %255s %255s", a, &bits, c, d) == 4) {
        std::string name;
        for (const std::string& part : scope) name += part + ".";
        names_[name + d] = signals_.size();
        ids_[key(c)] = signals_.size();
        signals_.emplace_back();
        signals_.back().bits = bits;
        signals_.back().value.resize((bits + 7) / 8);
      } else if (std::strncmp(line, "$enddefinitions", 15) == 0) {
        body_ = end + 1;
        return;
      }
      line = end + 1;
    }
  }

  std::vector<char> text_;
  char* body_ = nullptr;
  std::vector<Signal> signals_;
  std::unordered_map<std::string, std::size_t> names_;
  std::unordered_map<std::uint64_t, std::size_t> ids_;
};

void add(Port& port, const Signal& signal, int bytes) {
  for (int i = 0; i < bytes; i++)
    port.data.push_back(i < static_cast<int>(signal.value.size()) ? signal.value[i] : 0);
}

std::string number(const std::string& before, int value, const std::string& behind = "") {
  return before + std::to_string(value) + behind;
}

std::string two_digits(int value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

}  // namespace

Ports read_vcd(const std::string& path, const Geometry& geometry, std::uint64_t clock_ps,
               const std::string& scope) {
  Waveform wave(path);
  Ports ports;
  std::vector<std::function<void(std::uint64_t)>> samplers;
  const int word = geometry.port_channels * 8;
  const std::string engine = scope + "engine.";
  const std::string channel = scope == "soc." ? "soc.dma_" : scope;  // the DMA channels

  const auto strobed = [&](const std::string& port, std::vector<Field> fields, const std::string& valid,
                           int index, std::vector<std::string> signals) {
    Port& to = ports[port];
    to.fields = fields;
    Signal* strobe = &wave.at(valid);
    std::vector<Signal*> values;
    for (const std::string& name : signals) values.push_back(&wave.at(name));
    samplers.push_back([&to, strobe, values, index](std::uint64_t clock) {
      if (strobe->value[0] != 1) return;
      to.begin(clock);
      std::size_t field = 0;
      if (index >= 0) to.add(index, to.fields[field++].bytes());
      for (const Signal* value : values) add(to, *value, to.fields[field++].bytes());
    });
  };

  for (int b = 0; b < geometry.rows; b++) {
    const std::string name = number(engine + "banks.b", b);
    strobed("engine.banks.write", {{"bank", 8}, {"address", 32}, {"data", word}}, name + "_write_valid", b,
            {name + "_write_addr", name + "_write"});
    strobed("engine.banks.read", {{"bank", 8}, {"address", 32}, {"data", word}}, name + "_valid", b,
            {name + "_addr", name});
    const std::string lane = number(engine + "switch.sw", b);
    strobed("engine.switch", {{"lane", 8}, {"h", 16}, {"w", 16}, {"data", word}}, lane + "_valid", b,
            {lane + "_h", lane + "_w", lane});
  }
  for (int c = 0; c < geometry.columns; c++) {
    const std::string name = number(engine + "parameters.w", c);
    strobed("engine.parameters.write", {{"column", 8}, {"address", 32}, {"data", word}},
            name + "_write_valid", c, {name + "_write_addr", name + "_write"});
    strobed("engine.parameters.read", {{"column", 8}, {"address", 32}, {"data", word}}, name + "_valid", c,
            {name + "_addr", name});
  }
  strobed("engine.switch.beat", {{"beat", 32}, {"row_block", 16}, {"column_block", 16}},
          engine + "parameters.w0_valid", -1,
          {engine + "switch.beat", engine + "switch.row_block", engine + "switch.column_block"});
  if (wave.has(engine + "post.record_write"))
    strobed("engine.records.write", {{"place", 32}, {"record", 128}}, engine + "post.record_write", -1,
            {engine + "post.record_addr", engine + "post.record"});
  for (int g = 0; g < geometry.groups; g++) {
    const std::string name = number(engine + "out", g);
    strobed("engine.out", {{"group", 8}, {"address", 32}, {"data", geometry.columns * 32}}, name + "_valid",
            g, {name + "_addr", name});
  }
  for (int r = 0; r < geometry.rows; r++) {
    for (int c = 0; c < geometry.columns; c++) {
      const std::string name = number(engine + "pe.pe", r, geometry.columns > 1 || true ? two_digits(c) : "");
      Port& to = ports["engine.pe"];
      to.fields = {{"row", 8}, {"column", 8}, {"sum", 32}, {"accumulator", 32}};
      Signal* valid = &wave.at(engine + "pe.valid");
      Signal* sum = &wave.at(name);
      Signal* accumulator = &wave.at(name + "_acc");
      samplers.push_back([=, &to](std::uint64_t clock) {
        if (valid->value[0] != 1) return;
        to.begin(clock);
        to.add(r, 1);
        to.add(c, 1);
        add(to, *sum, 4);
        add(to, *accumulator, 4);
      });
    }
  }
  Port& state = ports["engine.state"];
  state.fields = {{"state", 8}};
  Signal* array = &wave.at(engine + "array.state");
  samplers.push_back([&state, array](std::uint64_t clock) {
    static const std::map<std::string, int> codes{
        {"busy", 1}, {"pipeline_fill", 2}, {"bank_conflict", 3}, {"output_drain", 4}, {"setup_wait", 5}};
    const auto found = codes.find(array->text);
    if (found == codes.end()) return;
    state.begin(clock);
    state.add(found->second, 1);
  });
  strobed("dma_load.streaming", {}, channel + "load.streaming", -1, {});
  strobed("dma_parameter.streaming", {}, channel + "parameter.streaming", -1, {});
  strobed("dma_store.reading", {}, channel + "store.reading", -1, {});
  for (const char* name : {"fetch", "load", "parameter", "store"}) {
    if (!wave.has(scope + "bus." + name + ".rbeat")) continue;  // a core fetches over another bus
    const std::string bus = scope + "bus." + name;
    strobed(std::string("bus.") + name + ".read", {{"data", geometry.bus_bytes * 8}}, bus + ".rbeat", -1,
            {bus + ".rdata"});
    strobed(std::string("bus.") + name + ".write", {{"data", geometry.bus_bytes * 8}}, bus + ".wbeat", -1,
            {bus + ".wdata"});
    strobed(std::string("bus.") + name + ".request", {{"address", 48}, {"bytes", 32}}, bus + ".req", -1,
            {bus + ".addr", bus + ".req_bytes"});
  }

  Port& outstanding = ports["bus.store.outstanding"];
  outstanding.fields = {{"bursts", 16}};
  Signal* bursts = &wave.at(scope + "bus.store.outstanding");
  samplers.push_back([&outstanding, bursts](std::uint64_t clock) {
    outstanding.begin(clock);
    outstanding.add(bursts->number(), 2);
  });

  wave.play([&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t clock = (from + clock_ps - 1) / clock_ps; clock * clock_ps < to; clock++)
      for (const auto& sampler : samplers) sampler(clock);
  });
  return ports;
}

}  // namespace bench
