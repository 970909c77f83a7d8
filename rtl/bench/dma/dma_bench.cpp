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

constexpr int kSides = 2, kAddressBytes = 6;
constexpr int kWidths[kSides] = {GEOMETRY_WIDTH0, GEOMETRY_WIDTH1};
const std::string kNames[kSides] = {"outer", "inner"};

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
  std::set<std::uint64_t> granted;
  Port beats;  // of reads
  std::size_t next_beat = 0;
  std::deque<Answer> read, written;
  UnderWay reads, writes;
};

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

Ports read_ports(const std::string& folder, const Settings& settings) {
  const Folder vectors(folder + "/vectors");
  Ports ports;
  const auto simple = [&](const std::string& name, const std::string& file, std::vector<Field> fields,
                          const std::vector<std::string>& of) {
    Merged to(ports, name, std::move(fields));
    to.take(vectors.at(file), -1, of);
  };
  for (const std::string& side : kNames) {
    const std::string port = settings.text(side.c_str());
    const int width = kWidths[side == "inner"];
    simple(side + ".request", port + ".req", {{"address", 48}, {"bytes", 16}, {"write", 1}},
           {"addr", "req_bytes", "req_write"});
    simple(side + ".write", port + ".wbeat", {{"data", 8 * width}}, {"wdata"});
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

class LockStep : public CoreBench<Vcopy_engine> {
 public:
  explicit LockStep(const std::string& folder) : LockStep(folder, Settings(folder + "/settings")) {}

 private:
  LockStep(const std::string& folder, const Settings& settings);
  bool compared(const std::string&) const override { return true; }
  void step(std::uint64_t clock) override;
  void record(std::uint64_t clock) override;
  void drive_reads(Side& side, int number, std::uint64_t clock);
  void drive_writes(Side& side, int number, std::uint64_t clock);

  Side sides_[kSides];
  std::uint64_t buffer_ = 0;
};

LockStep::LockStep(const std::string& folder, const Settings& settings)
    : CoreBench(folder, settings, read_ports(folder, settings), {static_cast<int>(settings.number("opcode"))},
                static_cast<int>(settings.number("opcode"))) {
  const Folder vectors(folder + "/vectors");
  for (int s = 0; s < kSides; s++) {
    const std::string port = settings.text(kNames[s].c_str());
    sides_[s].granted = grants(vectors, port);
    sides_[s].beats = vectors.at(port + ".rbeat").port;
    sides_[s].read = answers(vectors.at(port + ".rdone").port);
    sides_[s].written = answers(vectors.at(port + ".wdone").port);
  }
  model_->option_burst = settings.number("burst_bytes");
  model_->option_outstanding = settings.number("max_outstanding");
  model_->option_buffer = settings.number("buffer_bytes");
  model_->option_inner_begin = settings.number("inner_begin");
  model_->option_inner_end = settings.number("inner_end");
  reset();
}

void LockStep::drive_reads(Side& side, int number, std::uint64_t clock) {
  const int width = kWidths[number];
  const bool beat = side.next_beat < side.beats.records() && side.beats.clock(side.next_beat) == clock;
  const std::uint8_t* data = beat ? side.beats.value(side.next_beat, 0) : nullptr;
  if (number == 0)
    beat ? set_bytes(model_->read_data0, data, width) : disturb(model_->read_data0, width);
  else
    beat ? set_bytes(model_->read_data1, data, width) : disturb(model_->read_data1, width);
  if (!beat) return;
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

void LockStep::drive_writes(Side& side, int number, std::uint64_t clock) {
  if (side.written.empty() || side.written.front().clock != clock) return;
  model_->write_done |= 1 << number;
  model_->write_done_tag |= side.writes.tag(side.written.front().address) << 6 * number;
  side.writes.answer(side.written.front().address);
  side.written.pop_front();
}

void LockStep::step(std::uint64_t clock) {
  model_->grant = model_->read_beat = model_->read_done = model_->write_done = 0;
  model_->read_beat_tag = model_->write_done_tag = 0;
  for (int s = 0; s < kSides; s++) {
    model_->grant |= (sides_[s].granted.count(clock) != 0 ? 1 : 0) << s;
    drive_reads(sides_[s], s, clock);
    drive_writes(sides_[s], s, clock);
  }
  model_->eval();
  for (int s = 0; s < kSides; s++) {
    if (bits(model_->sends, s, 1) == 0) continue;
    const std::uint64_t address = bits(model_->request_address, 48 * s, 48);
    if (bits(model_->request_write, s, 1) != 0)
      sides_[s].writes.send(address, model_->write_tag);
    else
      sides_[s].reads.send(address, model_->read_tag);
  }
}

void LockStep::record(std::uint64_t clock) {
  for (int s = 0; s < kSides; s++) {
    if (bits(model_->request, s, 1) != 0) {
      Port& port = begin(kNames[s] + ".request", clock);
      port.add(bits(model_->request_address, 48 * s, 48), kAddressBytes);
      port.add(bits(model_->request_bytes, 16 * s, 16), 2);
      port.add(bits(model_->request_write, s, 1), 1);
    }
    if (bits(model_->write_beat, s, 1) == 0) continue;
    Port& port = begin(kNames[s] + ".write", clock);
    if (s == 0)
      add_bytes(port, model_->write_data0, 0, kWidths[0]);
    else
      add_bytes(port, model_->write_data1, 0, kWidths[1]);
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
