// Runs the Verilator model of a memory controller in lock step with a recorded run of the product: requests
// come from the recording; commands, beats, answers and how full the queues are are compared, clock by clock.
//
//   bench CASE [speed]
//
// The folder CASE has vectors (`tilebeat run --vectors`) and settings (lines "name value"). With `speed`
// nothing is compared: the processor time of the model alone is printed. Exit status 1: there is a
// difference.
#include "Vdram_controller.h"
#include "core_bench.h"
#include "vectors.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr int kChannels = GEOMETRY_CHANNELS, kInputs = GEOMETRY_INPUTS;
constexpr int kRead = 3, kWrite = 4, kRefresh = 5, kPrechargeAll = 6, kActivate = 1, kPrecharge = 2;

std::string channel_name(int channel, const char* port) {
  return "ch" + std::to_string(channel) + "." + port;
}

// What goes into the port `cmd`: the fields that a command has; the others are zero.
void add_command(Port& port, std::uint64_t clock, int command, std::uint64_t bank, std::uint64_t row,
                 std::uint64_t column) {
  const bool accesses = command == kRead || command == kWrite;
  port.begin(clock);
  port.add(command, 1);
  port.add(accesses || command == kActivate || command == kPrecharge ? bank : 0, 1);
  port.add(accesses || command == kActivate ? row : 0, 4);
  port.add(accesses ? column : 0, 2);
}

// A value that is recorded when it changes.
class Changing {
 public:
  void look(Port& port, std::uint64_t clock, std::uint64_t value) {
    if (value == value_) return;
    value_ = value;
    port.begin(clock);
    port.add(value, 2);
  }

 private:
  std::uint64_t value_ = 0;
};

std::map<std::string, std::vector<Field>> fields() {
  std::map<std::string, std::vector<Field>> all;
  for (int c = 0; c < kChannels; c++) {
    all[channel_name(c, "cmd")] = {{"cmd", 3}, {"bank", 6}, {"row", 32}, {"col", 16}};
    all[channel_name(c, "data")] = {{"beat", 1}};
    all[channel_name(c, "queue")] = {{"queue", 16}};
  }
  all["answers"] = {{"requests", 128}};
  return all;
}

class LockStep {
 public:
  explicit LockStep(const std::string& folder) : LockStep(folder, Settings(folder + "/settings")) {}

  void run(bool compares) {
    for (std::uint64_t clock = 0; clock <= end_; clock++) {
      drive_requests(clock);
      model_->eval();
      if (compares) record(clock);
      edge();
    }
  }
  std::uint64_t clocks() const { return end_ + 1; }
  bool equal() {
    return report_differences(simulator_, rtl_, clocks(), [](const std::string&) { return true; });
  }

 private:
  struct Request {
    std::uint64_t from;  // the first clock in which it can be scheduled
    std::uint64_t address, bytes, write;
  };

  LockStep(const std::string& folder, const Settings& settings)
      : model_(std::make_unique<Vdram_controller>(&context_)) {
    const Folder vectors(folder + "/vectors");
    const std::string scope = settings.text("scope");
    read_requests(vectors.at(scope + ".req").port, settings.number("npu_ps"), settings.number("dram_ps"));
    for (const auto& [name, of] : fields()) simulator_[name].fields = rtl_[name].fields = of;
    for (int c = 0; c < kChannels; c++) read_channel(vectors, scope + ".ch" + std::to_string(c), c);
    const Port& answers = vectors.at(scope + ".answers").port;
    for (std::size_t i = 0; i < answers.records(); i++) {
      simulator_["answers"].begin(answers.clock(i));
      simulator_["answers"].data.insert(simulator_["answers"].data.end(), answers.value(i, 0),
                                        answers.value(i, 0) + 16);
    }
    end_ = last_clock(simulator_) + 1;
    reset(settings);
  }

  // A request arrives in the grant phase, a picosecond behind the edge of its cycle. It can be scheduled at
  // the next edge.
  void read_requests(const Port& port, std::uint64_t npu_ps, std::uint64_t dram_ps) {
    for (std::size_t i = 0; i < port.records(); i++)
      requests_.push_back({((port.clock(i) - 1) * npu_ps + 1) / dram_ps + 1, port.number(i, 0), port.number(i, 1),
                           port.number(i, 2)});
  }
  void read_channel(const Folder& vectors, const std::string& scope, int channel) {
    Register queue(vectors.at(scope + ".registers"), "queue");
    const Port& commands = vectors.at(scope + ".cmd").port;
    Port& to = simulator_[channel_name(channel, "cmd")];
    for (std::size_t i = 0; i < commands.records(); i++) {
      const int command = static_cast<int>(commands.number(i, 0));
      if ((command == kRefresh || command == kPrechargeAll) && queue.at(commands.clock(i)) == 0) continue;
      add_command(to, commands.clock(i), command, commands.number(i, 1), commands.number(i, 3),
                  commands.number(i, 2));
    }
    const Port& beats = vectors.at(scope + ".data").port;
    for (std::size_t i = 0; i < beats.records(); i++) {
      simulator_[channel_name(channel, "data")].begin(beats.clock(i));
      simulator_[channel_name(channel, "data")].add(1, 1);
    }
    const File& registers = vectors.at(scope + ".registers");
    Changing waiting;
    for (std::size_t i = 0; i < registers.port.records(); i++)
      waiting.look(simulator_[channel_name(channel, "queue")], registers.port.clock(i),
                   registers.port.number(i, 2));
  }

  void reset(const Settings& settings) {
    std::vector<std::uint8_t> timing;
    for (const char* name :
         {"beats", "CL", "CWL", "RCD", "RP", "RAS", "read_to_write", "CCD", "CCD_L", "CCD_L_WR", "RRD",
          "RRD_L", "FAW", "write_to_precharge", "write_to_read", "write_to_read_group", "RTP", "RFC"}) {
      const std::uint64_t cycles = settings.number(name);
      timing.push_back(static_cast<std::uint8_t>(cycles));
      timing.push_back(static_cast<std::uint8_t>(cycles >> 8));
    }
    const std::uint64_t interval = settings.number("REFI");
    for (int i = 0; i < 4; i++) timing.push_back(static_cast<std::uint8_t>(interval >> 8 * i));
    set_bytes(model_->option_timing, timing.data(), static_cast<int>(timing.size()));
    std::uint64_t map = settings.number("mapping");
    for (const char* part :
         {"burst_bits", "channel_bits", "group_bits", "bank_bits", "column_bits", "row_bits"})
      map = map << 6 | settings.number(part);
    model_->option_map = map;
    model_->option_depth = settings.number("queue_depth");
    model_->option_cap = settings.number("starvation_cap");
    model_->option_refresh = settings.number("refresh");
    model_->option_ecc = settings.number("ecc");
    model_->option_controllers = settings.number("controllers");
    model_->reset = 1;
    for (int i = 0; i < 3; i++) {
      model_->eval();
      edge();
    }
    model_->reset = 0;
  }
  void edge() {
    model_->clk = 1;
    model_->eval();
    model_->clk = 0;
  }
  void drive_requests(std::uint64_t clock) {
    std::vector<std::uint8_t> addresses(6 * kInputs), bytes(2 * kInputs);
    model_->request_valid = model_->request_write = 0;
    for (int input = 0; !requests_.empty() && requests_.front().from <= clock + 1; input++) {
      if (input == kInputs) throw std::runtime_error("too many requests in a clock");
      const Request request = requests_.front();
      requests_.pop_front();
      model_->request_valid |= 1 << input;
      model_->request_write |= request.write << input;
      for (int i = 0; i < 6; i++) addresses[6 * input + i] = request.address >> 8 * i;
      for (int i = 0; i < 2; i++) bytes[2 * input + i] = request.bytes >> 8 * i;
    }
    set_bytes(model_->request_address, addresses.data(), static_cast<int>(addresses.size()));
    set_bytes(model_->request_bytes, bytes.data(), static_cast<int>(bytes.size()));
  }
  void record(std::uint64_t clock) {
    for (int c = 0; c < kChannels; c++) {
      const int command = static_cast<int>(bits(model_->command, 3 * c, 3));
      const std::uint64_t waiting = bits(model_->waiting, 16 * c, 16);
      const bool refreshes = command == kRefresh || command == kPrechargeAll;
      if (command != 0 && (!refreshes || waiting != 0))
        add_command(rtl_[channel_name(c, "cmd")], clock, command, bits(model_->bank, 6 * c, 6),
                    bits(model_->row, 32 * c, 32), bits(model_->column, 16 * c, 16));
      if (bits(model_->data, c, 1) != 0) {
        rtl_[channel_name(c, "data")].begin(clock);
        rtl_[channel_name(c, "data")].add(1, 1);
      }
      waiting_[c].look(rtl_[channel_name(c, "queue")], clock, waiting);
    }
    if (bits(model_->answered, 0, 64) == 0 && bits(model_->answered, 64, 64) == 0) return;
    rtl_["answers"].begin(clock);
    add_bytes(rtl_["answers"], model_->answered, 0, 16);
  }

  VerilatedContext context_;
  std::unique_ptr<Vdram_controller> model_;
  std::deque<Request> requests_;
  Ports simulator_, rtl_;
  Changing waiting_[kChannels];
  std::uint64_t end_ = 0;
};

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::bench_main<bench::LockStep>(argc, argv);
}
