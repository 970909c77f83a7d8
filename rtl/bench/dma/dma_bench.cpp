// Runs the Verilator model of a DMA engine in lock step with a recorded run of the product: copies, grants,
// beats and answers come from the recording; requests, written beats, the fill of the buffer and completions
// are compared, clock by clock.
//
//   bench CASE [speed]
//
// The folder CASE has vectors (`tilebeat run --vectors`), program.image and settings (lines "name value").
// With `speed` nothing is compared: the processor time of the model alone is printed. Exit status 1: there is
// a difference.
#include "Vcopy_engine.h"
#include "core_bench.h"
#include "vectors.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr int kSides = GEOMETRY_SIDES, kAddressBytes = 6;
constexpr int kWidths[2] = {GEOMETRY_WIDTH0, GEOMETRY_WIDTH1};  // of even and of odd sides
constexpr int kWidest = std::max(GEOMETRY_WIDTH0, GEOMETRY_WIDTH1);
// The side whose port leads to a bridge, which writes to several cores. No port of the vectors has its
// requests; the cores' ports have them.
constexpr int kBroadcast = 3, kCores = 2;

// An answer to a request: when, and the address of its burst.
struct Answer {
  std::uint64_t clock, address;
};
// Requests of the model that are not answered, in their order.
class UnderWay {
 public:
  void send(std::uint64_t address, int tag) { requests_.push_back({address, tag}); }
  // The tag of the oldest request of this address; of one that was never sent 0.
  int tag(std::uint64_t address) const {
    const auto found = find(address);
    return found == requests_.end() ? 0 : found->second;
  }
  void answer(std::uint64_t address) {
    const auto found = find(address);
    if (found != requests_.end()) requests_.erase(found);
  }
  // Whether several requests have this address.
  bool are_alike(std::uint64_t address) const {
    return std::count_if(requests_.begin(), requests_.end(),
                         [address](const auto& request) { return request.first == address; }) > 1;
  }

 private:
  using Requests = std::deque<std::pair<std::uint64_t, int>>;
  Requests::const_iterator find(std::uint64_t address) const {
    return std::find_if(requests_.begin(), requests_.end(),
                        [address](const auto& request) { return request.first == address; });
  }
  Requests requests_;
};

// What the bus of a side did in the recorded run.
struct Side {
  bool used = false;
  std::set<std::uint64_t> granted;
  Port beats;  // of reads
  std::size_t next_beat = 0;
  std::deque<Answer> read, written;
  UnderWay reads, writes;
};

// A burst that is written to a core, or to several.
struct Burst {
  std::uint64_t address;
  std::size_t bytes;
};

std::string number(const std::string& name, int i) {
  return name + std::to_string(i);
}
std::string core_port(int core) {
  return number("core", core) + ".bytes";
}

// Bytes that are written to a core, each with its number in place of a clock: when they are is a matter of
// the bridge.
void add_bytes_of(Port& port, std::uint64_t address, const std::uint8_t* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    port.begin(port.records());
    port.add(address + i, kAddressBytes);
    port.add(bytes[i], 1);
  }
}

std::deque<Answer> answers(const Port& port) {
  std::deque<Answer> all;
  for (std::size_t i = 0; i < port.records(); i++) all.push_back({port.clock(i), port.number(i, 0)});
  return all;
}

// Clocks in which requests are granted. Each makes one more burst under way in the clock behind it, in which
// an answer makes one less. Requests alone do not tell: one may follow another of the same burst at once.
std::set<std::uint64_t> grants(const Folder& vectors, const std::string& port) {
  Register under_way(vectors.at(port + ".registers"), "outstanding");
  std::map<std::uint64_t, int> answered;
  for (const char* kind : {".rdone", ".wdone"}) {
    const Port& done = vectors.at(port + kind).port;
    for (std::size_t i = 0; i < done.records(); i++) answered[done.clock(i)]++;
  }
  std::set<std::uint64_t> granted;
  const Port& requests = vectors.at(port + ".req").port;
  for (std::size_t i = 0; i < requests.records(); i++) {
    const std::uint64_t clock = requests.clock(i);
    const std::uint64_t before = under_way.at(clock);
    const auto answers = answered.find(clock + 1);
    const int less = answers == answered.end() ? 0 : answers->second;
    if (under_way.at(clock + 1) + less > before) granted.insert(clock);
  }
  return granted;
}

// What a core gets from the bridge.
void read_core(const Folder& vectors, const std::string& port, Port& to) {
  to.fields = {{"address", 8 * kAddressBytes}, {"data", 8}};
  const Port& requests = vectors.at(port + ".req").port;
  const Port& beats = vectors.at(port + ".wbeat").port;
  const std::set<std::uint64_t> granted = grants(vectors, port);
  const std::size_t width = beats.fields[0].bytes();
  std::size_t beat = 0;
  for (std::size_t i = 0; i < requests.records(); i++) {
    if (granted.count(requests.clock(i)) == 0) continue;
    std::uint64_t address = requests.number(i, 0);
    for (std::size_t left = requests.number(i, 1); left > 0; beat++) {
      const std::size_t count = std::min(left, width);
      add_bytes_of(to, address, beats.value(beat, 0), count);
      left -= count;
      address += count;
    }
  }
}

Ports read_ports(const std::string& folder, const Settings& settings) {
  const Folder vectors(folder + "/vectors");
  Ports ports;
  const auto simple = [&](const std::string& name, const std::string& file, std::vector<Field> fields,
                          const std::vector<std::string>& of) {
    Merged to(ports, name, std::move(fields));
    to.take(vectors.at(file), -1, of);
  };
  for (int s = 0; s < kSides; s++) {
    const std::string name = number("side", s), port = settings.text(name.c_str());
    if (port == "-") continue;
    if (s == kBroadcast) {
      simple(name + ".beat", port + ".w", {}, {});
      continue;
    }
    simple(name + ".request", port + ".req", {{"address", 48}, {"bytes", 16}, {"write", 1}},
           {"addr", "req_bytes", "req_write"});
    simple(name + ".write", port + ".wbeat", {{"data", 8 * kWidths[s % 2]}}, {"wdata"});
  }
  const std::string unit = settings.text("unit");
  simple("reads", unit + ".read_beat", {}, {});
  simple("writes", unit + ".write_beat", {}, {});
  Port& buffer = ports["buffer"];
  buffer.fields = {{"bytes", 32}};
  const Port& changes = vectors.at(unit + ".registers").port;
  for (std::size_t i = 0; i < changes.records(); i++) {
    if (i == 0 && changes.number(i, 2) == 0) continue;
    buffer.begin(changes.clock(i));
    buffer.add(changes.number(i, 2), 4);
  }
  return ports;
}

// The opcodes of the engine's copies, which follow one another.
std::set<int> opcodes(const Settings& settings) {
  std::set<int> all;
  for (std::uint64_t code = settings.number("first_opcode"); code <= settings.number("last_opcode"); code++)
    all.insert(static_cast<int>(code));
  return all;
}

class LockStep : public CoreBench<Vcopy_engine> {
 public:
  explicit LockStep(const std::string& folder) : LockStep(folder, Settings(folder + "/settings")) {}

 private:
  LockStep(const std::string& folder, const Settings& settings);
  bool compared(const std::string&) const override { return true; }
  void step(std::uint64_t clock) override;
  void record(std::uint64_t clock) override;
  void read_side(const Folder& vectors, const Settings& settings, const std::string& port, int number);
  void read_cores(const Folder& vectors, const Settings& settings);
  void drive_reads(int number, std::uint64_t clock);
  void drive_writes(int number, std::uint64_t clock);
  void record_request(int number, std::uint64_t clock);
  void record_beat(int number, std::uint64_t clock);
  void record_cores();

  Side sides_[kSides];
  std::vector<std::uint8_t> read_data_ = std::vector<std::uint8_t>(kSides * kWidest);
  std::uint64_t buffer_ = 0;
  std::deque<Burst> to_cores_;           // granted, the oldest one's beats come
  std::vector<std::uint8_t> core_data_;  // of that one
};

LockStep::LockStep(const std::string& folder, const Settings& settings)
    : CoreBench(folder, settings, read_ports(folder, settings), opcodes(settings), opcodes(settings)) {
  const Folder vectors(folder + "/vectors");
  std::vector<std::uint8_t> begins, ends;
  const auto add = [](std::vector<std::uint8_t>& to, std::uint64_t address) {
    for (int i = 0; i < kAddressBytes; i++) to.push_back(address >> (8 * i));
  };
  for (int s = 0; s < kSides; s++) {
    add(begins, settings.number(number("begin", s).c_str()));
    add(ends, settings.number(number("end", s).c_str()));
    const std::string port = settings.text(number("side", s).c_str());
    if (port != "-") read_side(vectors, settings, port, s);
  }
  set_bytes(model_->option_begin, begins.data(), static_cast<int>(begins.size()));
  set_bytes(model_->option_end, ends.data(), static_cast<int>(ends.size()));
  model_->option_burst = settings.number("burst_bytes");
  model_->option_outstanding = settings.number("max_outstanding");
  model_->option_buffer = settings.number("buffer_bytes");
  reset();
}

void LockStep::read_side(const Folder& vectors, const Settings& settings, const std::string& port,
                         int number) {
  Side& side = sides_[number];
  side.used = true;
  if (number == kBroadcast) {
    // The bridge shows in the next clock that it has taken a burst.
    const Port& taken = vectors.at(port + ".aw").port;
    for (std::size_t i = 0; i < taken.records(); i++) side.granted.insert(taken.clock(i) - 1);
    const Port& done = vectors.at(port + ".b").port;
    for (std::size_t i = 0; i < done.records(); i++) side.written.push_back({done.clock(i), 0});
    return read_cores(vectors, settings);
  }
  side.granted = grants(vectors, port);
  side.beats = vectors.at(port + ".rbeat").port;
  side.read = answers(vectors.at(port + ".rdone").port);
  side.written = answers(vectors.at(port + ".wdone").port);
}

// Ports of cores are made behind those that have clocks.
void LockStep::read_cores(const Folder& vectors, const Settings& settings) {
  for (int c = 0; c < kCores; c++) {
    Port& port = simulator_[core_port(c)];
    read_core(vectors, settings.text(number("core", c).c_str()), port);
    rtl_[core_port(c)].fields = port.fields;
  }
}

void LockStep::drive_reads(int number, std::uint64_t clock) {
  Side& side = sides_[number];
  if (side.next_beat >= side.beats.records() || side.beats.clock(side.next_beat) != clock) return;
  std::copy_n(side.beats.value(side.next_beat, 0), kWidths[number % 2], &read_data_[number * kWidest]);
  side.next_beat++;
  if (side.read.empty()) throw std::runtime_error("a beat answers no request");
  const Answer& answer = side.read.front();  // bursts come one behind the other
  model_->read_beat |= 1 << number;
  model_->read_beat_tag |= side.reads.tag(answer.address) << 6 * number;
  if (answer.clock != clock) return;
  model_->read_done |= 1 << number;
  side.reads.answer(answer.address);
  side.read.pop_front();
}

void LockStep::drive_writes(int number, std::uint64_t clock) {
  Side& side = sides_[number];
  if (side.written.empty() || side.written.front().clock != clock) return;
  if (number != kBroadcast && side.writes.are_alike(side.written.front().address))
    throw std::runtime_error("two writes to one address are under way: no record tells which one is answered");
  model_->write_done |= 1 << number;
  model_->write_done_tag |= side.writes.tag(side.written.front().address) << 6 * number;
  side.writes.answer(side.written.front().address);
  side.written.pop_front();
}

void LockStep::step(std::uint64_t clock) {
  model_->grant = model_->read_beat = model_->read_done = model_->write_done = 0;
  model_->read_beat_tag = model_->write_done_tag = 0;
  for (std::size_t i = 0; i < read_data_.size(); i++) read_data_[i] = (clock + 7 * i) * 0x9e3779b1U >> 24;
  for (int s = 0; s < kSides; s++) {
    model_->grant |= (sides_[s].granted.count(clock) != 0 ? 1 : 0) << s;
    drive_reads(s, clock);
    drive_writes(s, clock);
  }
  set_bytes(model_->read_data, read_data_.data(), static_cast<int>(read_data_.size()));
  model_->eval();
  for (int s = 0; s < kSides; s++) {
    if (bits(model_->sends, s, 1) == 0) continue;
    // The bridge answers in the order of its requests.
    const std::uint64_t address = s == kBroadcast ? 0 : bits(model_->request_address, 48 * s, 48);
    if (bits(model_->request_write, s, 1) != 0)
      sides_[s].writes.send(address, model_->write_tag);
    else
      sides_[s].reads.send(address, model_->read_tag);
  }
}

void LockStep::record_request(int number_, std::uint64_t clock) {
  const std::uint64_t address = bits(model_->request_address, 48 * number_, 48);
  const std::uint64_t bytes = bits(model_->request_bytes, 16 * number_, 16);
  if (number_ == kBroadcast) {
    if (bits(model_->grant, number_, 1) != 0) to_cores_.push_back({address, bytes});
    return;
  }
  Port& port = begin(number("side", number_) + ".request", clock);
  port.add(address, kAddressBytes);
  port.add(bytes, 2);
  port.add(bits(model_->request_write, number_, 1), 1);
}

void LockStep::record_beat(int number_, std::uint64_t clock) {
  const int first = 8 * kWidest * number_, width = kWidths[number_ % 2];
  if (number_ != kBroadcast) {
    add_bytes(begin(number("side", number_) + ".write", clock), model_->write_data, first, width);
    return;
  }
  begin(number("side", number_) + ".beat", clock);
  for (int i = 0; i < width; i++) core_data_.push_back(bits(model_->write_data, first + 8 * i, 8));
  record_cores();
}

// A burst to cores whose bytes are all there is written to each of them.
void LockStep::record_cores() {
  constexpr std::uint64_t kWram = 1ULL << 46, kOffsets = 1ULL << 30;
  if (to_cores_.empty() || core_data_.size() < to_cores_.front().bytes) return;
  const Burst& burst = to_cores_.front();
  const std::uint64_t memory = 1ULL << ((burst.address & kWram) != 0 ? 43 : 42);
  for (int c = 0; c < kCores; c++)
    if (bits(burst.address, 30 + c, 1) != 0)
      add_bytes_of(rtl_[core_port(c)], memory + c * kOffsets + burst.address % kOffsets, core_data_.data(),
                   burst.bytes);
  core_data_.clear();
  to_cores_.pop_front();
}

void LockStep::record(std::uint64_t clock) {
  for (int s = 0; s < kSides; s++) {
    if (bits(model_->request, s, 1) != 0) record_request(s, clock);
    if (bits(model_->write_beat, s, 1) != 0) record_beat(s, clock);
  }
  if (model_->reads) begin("reads", clock);
  if (model_->writes) begin("writes", clock);
  if (model_->reserved != buffer_) {
    buffer_ = model_->reserved;
    begin("buffer", clock).add(buffer_, 4);
  }
  for (int i = 0; i < model_->copies_done; i++) begin("completed", clock);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::bench_main<bench::LockStep>(argc, argv);
}
