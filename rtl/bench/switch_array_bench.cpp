// Runs the Verilator model of the switch array in lock step with a recorded run of the product: the streams
// and the instructions come from the recording, everything that the array does with them is compared, clock
// by clock.
//
//   switch_array_bench CASE [VECTORS]
//
// The folder CASE has wave.vcd or vectors/ports.json, run.konata, program.image, dram.image and settings
// (lines "name value"). With VECTORS the ports of the simulator are written there. Exit status 1: there is a
// difference.
#include "Vswitch_array.h"
#include "ports.h"
#include "verilated.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <stdexcept>

using bench::Executed;
using bench::Port;
using bench::Ports;

namespace {

constexpr int kRows = GEOMETRY_R, kColumns = GEOMETRY_C, kGroups = GEOMETRY_G, kPort = GEOMETRY_P,
              kBus = GEOMETRY_BUS;
constexpr int kLanes = kRows / kGroups;

// Bits of a port of the model, whatever its type.
template <typename T>
std::uint64_t bits(const T& port, int first, int count) {
  return (static_cast<std::uint64_t>(port) >> first) & (count >= 64 ? ~0ULL : (1ULL << count) - 1);
}
template <std::size_t N>
std::uint64_t bits(const VlWide<N>& port, int first, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count;) {
    const int word = (first + i) / 32, shift = (first + i) % 32;
    const int take = std::min(count - i, 32 - shift);
    value |= ((static_cast<std::uint64_t>(port[word]) >> shift) & ((1ULL << take) - 1)) << i;
    i += take;
  }
  return value;
}
template <typename T>
void add_bytes(Port& to, const T& port, int first_bit, int bytes) {
  for (int i = 0; i < bytes; i++)
    to.data.push_back(static_cast<std::uint8_t>(bits(port, first_bit + 8 * i, 8)));
}
template <typename T>
void set_bytes(T& port, const std::uint8_t* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count && i < 8; i++) value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  port = static_cast<T>(value);
}
template <std::size_t N>
void set_bytes(VlWide<N>& port, const std::uint8_t* bytes, int count) {
  for (std::size_t i = 0; i < N; i++) port[i] = 0;
  for (int i = 0; i < count; i++) port[i / 4] |= static_cast<std::uint32_t>(bytes[i]) << (8 * (i % 4));
}

// Fills a bus that nobody drives with bytes that mean nothing, so that a register that takes them is seen.
template <typename T>
void disturb(T& port, int bytes) {
  static std::uint32_t state = 1;
  std::vector<std::uint8_t> noise(bytes);
  for (std::uint8_t& byte : noise) {
    state = state * 1664525U + 1013904223U;
    byte = state >> 24;
  }
  set_bytes(port, noise.data(), bytes);
}

struct Instruction {
  std::uint8_t bytes[64] = {};
  std::int64_t begin = -1, end = -1;
  int opcode() const { return bytes[0]; }
  // Bits of the encoding, as docs/isa.md numbers them.
  std::uint64_t field(int first, int last) const {
    std::uint64_t value = 0;
    for (int bit = first; bit <= last; bit++)
      value |= static_cast<std::uint64_t>(bytes[bit / 8] >> (bit % 8) & 1) << (bit - first);
    return value;
  }
};

struct Beat {
  std::uint64_t from = 0;  // first clock in which it may go to the engine
  const Instruction* instruction = nullptr;
  bool first = false, records = false, first_records = false;
  std::vector<std::uint8_t> bytes;
};

struct Run {
  std::uint64_t address, bytes;
};

// What lies in DRAM before the run: pieces of bytes by their address.
class Image {
 public:
  explicit Image(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    for (std::uint64_t head[2]; file.read(reinterpret_cast<char*>(head), sizeof head);) {
      std::vector<std::uint8_t> bytes(head[1]);
      file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      pieces_[head[0]] = std::move(bytes);
    }
  }
  std::uint8_t at(std::uint64_t address) const {
    auto piece = pieces_.upper_bound(address);
    if (piece == pieces_.begin()) return 0;
    --piece;
    return address - piece->first < piece->second.size() ? piece->second[address - piece->first] : 0;
  }

 private:
  std::map<std::uint64_t, std::vector<std::uint8_t>> pieces_;
};

// Cuts runs of bytes into bursts, and finds them among the beats of the bus: memories answer out of order.
// The bursts go to the engine in order, each from the clock after its last beat on.
class Stream {
 public:
  Stream(const Port& bus, const Image* image, std::uint64_t burst_bytes)
      : bus_(bus), image_(image), burst_bytes_(burst_bytes) {}

  void add(const Instruction& instruction, const std::vector<Run>& runs, bool records) {
    bool first = true;
    for (Run run : runs) {
      while (run.bytes > 0) {
        const std::uint64_t take = std::min(run.bytes, burst_bytes_ - run.address % burst_bytes_);
        Burst burst;
        for (std::uint64_t i = 0; i < take; i += kBus) {
          Beat beat;
          beat.instruction = &instruction;
          beat.first = first && !records;
          beat.first_records = first && records;
          beat.records = records;
          first = false;
          for (std::uint64_t k = i; k < std::min<std::uint64_t>(take, i + kBus); k++)
            beat.bytes.push_back(image_ == nullptr ? 0 : image_->at(run.address + k));
          burst.beats.push_back(std::move(beat));
        }
        bursts_.push_back(std::move(burst));
        run.address += take;
        run.bytes -= take;
      }
    }
  }

  void land(const char* name) {
    std::size_t oldest = 0;
    for (std::size_t at = 0; at < bus_.records();) {
      while (oldest < bursts_.size() && bursts_[oldest].landed) oldest++;
      std::size_t found = oldest;
      while (image_ != nullptr && found < bursts_.size() && (bursts_[found].landed || !matches(bursts_[found], at))) found++;
      if (found >= bursts_.size())
        throw std::runtime_error(std::string("the beat of ") + name + " in clock " +
                                 std::to_string(bus_.clock(at)) + " belongs to no burst of the instructions");
      Burst& burst = bursts_[found];
      burst.landed = true;
      if (image_ == nullptr) {
        if (at + burst.beats.size() > bus_.records()) break;
        for (std::size_t i = 0; i < burst.beats.size(); i++) {
          const std::uint8_t* data = bus_.value(at + i, 0);
          burst.beats[i].bytes.assign(data, data + burst.beats[i].bytes.size());
        }
      }
      at += burst.beats.size();
      for (Beat& beat : burst.beats) beat.from = bus_.clock(at - 1) + 1;
    }
    for (Burst& burst : bursts_) {
      if (!burst.landed) break;
      for (Beat& beat : burst.beats) beats_.push_back(std::move(beat));
    }
  }
  std::deque<Beat>& beats() { return beats_; }

 private:
  struct Burst {
    std::vector<Beat> beats;
    bool landed = false;
  };
  bool matches(const Burst& burst, std::size_t at) const {
    if (at + burst.beats.size() > bus_.records()) return false;
    for (std::size_t i = 0; i < burst.beats.size(); i++) {
      const std::vector<std::uint8_t>& bytes = burst.beats[i].bytes;
      if (std::memcmp(bus_.value(at + i, 0), bytes.data(), bytes.size()) != 0) return false;
    }
    return true;
  }

  const Port& bus_;
  const Image* image_;  // null: the memory answers in order, and the bytes are those of the bus
  std::uint64_t burst_bytes_;
  std::vector<Burst> bursts_;
  std::deque<Beat> beats_;
};

// The bytes of a tile in DRAM, neighbours joined.
std::vector<Run> input_runs(const Instruction& load) {
  const std::uint64_t address = load.field(129, 176), row = load.field(177, 208),
                      pixel = load.field(209, 240);
  const std::uint64_t height = load.field(241, 256), width = load.field(257, 272),
                      channels = load.field(273, 288);
  std::uint64_t slice = load.field(329, 344);
  if (slice == 0 || slice > channels) slice = channels;
  std::vector<Run> runs;
  for (std::uint64_t c = 0; c < channels; c += slice) {
    const std::size_t begin = runs.size();
    for (std::uint64_t h = 0; h < height; h++) {
      for (std::uint64_t w = 0; w < width; w++) {
        const Run next{address + h * row + w * pixel + c, std::min(slice, channels - c)};
        if (runs.size() > begin && runs.back().address + runs.back().bytes == next.address)
          runs.back().bytes += next.bytes;
        else
          runs.push_back(next);
      }
    }
  }
  return runs;
}

// The bytes of kernels that lie in memory.
std::uint64_t kernel_bytes(const Instruction& load) {
  const std::int64_t words = load.field(224, 255), group_channels = load.field(320, 351),
                     group_kernels = load.field(352, 367);
  const std::int64_t first_kernel = load.field(368, 383), kernels = load.field(384, 399);
  const std::int64_t first_channel = static_cast<std::int32_t>(load.field(400, 431)),
                     block_words = load.field(432, 463);
  const std::int64_t block_channels = load.field(464, 479), taps = load.field(480, 503);
  if (group_channels == 0) return words * kColumns * kPort;
  std::uint64_t bytes = 0;
  for (std::int64_t word = 0; word < words; word++) {
    const std::int64_t block = word / block_words, plane = word % block_words / taps;
    for (int c = 0; c < kColumns; c++) {
      const std::int64_t kernel = block * kColumns + c;
      if (kernel >= kernels) continue;
      const std::int64_t group = (first_kernel + kernel) / group_kernels;
      for (int p = 0; p < kPort; p++) {
        const std::int64_t channel = first_channel + block * block_channels + plane * kPort + p;
        if (channel >= group * group_channels && channel < (group + 1) * group_channels) bytes++;
      }
    }
  }
  return bytes;
}

std::map<std::string, std::string> read_settings(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::map<std::string, std::string> settings;
  for (std::string name, value; file >> name >> value;) settings[name] = value;
  return settings;
}

int run(const std::string& folder, const std::string& vectors) {
  const std::map<std::string, std::string> settings = read_settings(folder + "/settings");
  const auto setting = [&](const char* name) { return std::stoull(settings.at(name)); };
  const bench::Geometry geometry{kRows, kColumns, kGroups, kPort, kBus};
  Ports simulator = std::ifstream(folder + "/vectors/ports.json")
                        ? bench::read_vectors(folder + "/vectors")
                        : bench::read_vcd(folder + "/wave.vcd", geometry, setting("clock_ps"), settings.at("scope"));
  if (!vectors.empty()) bench::write_vectors(simulator, vectors, setting("clock_ps"));

  // Instructions: their bits from the bus, when they began from the pipeline view.
  const std::vector<Executed> executed = bench::read_konata(folder + "/run.konata");
  std::vector<Instruction> program(executed.size());
  std::ifstream bytes(folder + "/program.image", std::ios::binary);
  std::vector<std::string> encoded;
  for (Instruction& instruction : program) {
    if (!bytes.read(reinterpret_cast<char*>(instruction.bytes), 64))
      throw std::runtime_error("program.image is too short");
    const std::size_t at = &instruction - program.data();
    instruction.begin = executed[at].begin;
    instruction.end = executed[at].end;
    encoded.emplace_back(reinterpret_cast<const char*>(instruction.bytes), 64);
  }
  // The command processor has fetched the same bytes. Its bursts are answered in any order.
  std::string image;
  const Port& fetched = simulator["bus.fetch.read"];
  for (std::size_t i = 0; i < fetched.records(); i++)
    image.append(reinterpret_cast<const char*>(fetched.value(i, 0)), kBus);
  std::vector<std::string> words;
  for (std::size_t i = 0; i + 64 <= image.size(); i += 64) words.push_back(image.substr(i, 64));
  std::sort(words.begin(), words.end());
  for (std::size_t i = 0; i < encoded.size(); i++)
    if (!fetched.fields.empty() && program[i].opcode() !=
            0x21 &&  // the waveform ends with the last layer, perhaps before a halt is there
        !std::binary_search(words.begin(), words.end(), encoded[i]))
      throw std::runtime_error("the encoding of instruction " + std::to_string(i) +
                               " was not fetched: " + executed[i].text);

  std::unique_ptr<Image> dram;
  if (setting("in_order") == 0) dram = std::make_unique<Image>(folder + "/dram.image");
  Stream load(simulator.at("bus.load.read"), dram.get(), setting("burst_bytes"));
  Stream parameter(simulator.at("bus.parameter.read"), dram.get(), setting("burst_bytes"));
  std::deque<const Instruction*> instructions, stores;
  // Completions of the array; which of two instructions is complete first is not compared.
  Port& done = simulator["engine.completed"];
  std::vector<std::uint64_t> completed;
  for (const Instruction& instruction : program) {
    if (instruction.begin < 0) continue;
    switch (instruction.opcode()) {
      case 0x01:
      case 0x02:
        instructions.push_back(&instruction);
        completed.push_back(instruction.end);
        break;
      case 0x12:
        stores.push_back(&instruction);
        break;
      case 0x10:
        load.add(instruction, input_runs(instruction), false);
        break;
      case 0x11:
        parameter.add(instruction, {{instruction.field(128, 175), kernel_bytes(instruction)}}, false);
        parameter.add(instruction, {{instruction.field(176, 223), instruction.field(304, 319) * 16}}, true);
        break;
      default:
        break;
    }
  }
  std::sort(completed.begin(), completed.end());
  for (const std::uint64_t clock : completed) done.begin(clock);
  // When the bus granted the store channel's bursts: a request that is gone in the next clock was granted.
  std::vector<std::uint64_t> grants, asked, answers;
  const Port& requested = simulator.at("bus.store.request");
  for (std::size_t i = 0; i < requested.records(); i++) {
    const bool again = i + 1 < requested.records() && requested.clock(i + 1) == requested.clock(i) + 1 &&
                       requested.number(i, 0) == requested.number(i + 1, 0);
    if (grants.size() == asked.size()) asked.push_back(requested.clock(i));
    if (!again) grants.push_back(requested.clock(i));
  }
  // The channel counts answers in the order of its requests, memories give them in any order, and the
  // waveform does not say whose an answer is. The burst that the k-th request had to wait for is taken as
  // answered just before that request; as many answers must have come.
  const Port& outstanding = simulator.at("bus.store.outstanding");
  std::vector<std::uint64_t> answered;
  std::uint64_t bursts = 0;
  for (std::size_t i = 0; i < outstanding.records(); i++) {
    const std::uint64_t clock = outstanding.clock(i), now = outstanding.number(i, 0);
    const bool granted = clock > 0 && std::binary_search(grants.begin(), grants.end(), clock - 1);
    if (bursts + (granted ? 1 : 0) > now) answered.push_back(clock);
    bursts = now;
  }
  for (std::size_t k = setting("outstanding"); k < asked.size(); k++) {
    const std::size_t needed = k + 1 - setting("outstanding");
    if (answered.size() < needed || answered[needed - 1] >= asked[k])
      throw std::runtime_error("clock " + std::to_string(asked[k]) +
                               ", port bus.store.request: more bursts under way than max_outstanding");
    answers.push_back(asked[k] - 1);
  }
  load.land("load");
  parameter.land("parameter");

  // The model.
  VerilatedContext context;
  const auto model = std::make_unique<Vswitch_array>(&context);
  Ports rtl;
  for (const auto& [name, port] : simulator) rtl[name].fields = port.fields;
  model->option_table1 = setting("table1");
  model->option_copied = setting("copied");
  model->option_queue_words = setting("queue_words");
  model->option_drain_clocks = setting("drain_clocks");
  model->option_post_latency = setting("post_latency");
  model->option_bank_words = setting("bank_words");
  model->option_burst_bytes = setting("burst_bytes");
  model->option_buffer_bytes = setting("buffer_bytes");
  model->option_outstanding = setting("outstanding");
  const auto edge = [&] {
    model->clk = 1;
    model->eval();
    model->clk = 0;
  };
  model->reset = 1;
  for (int i = 0; i < 3; i++) {
    model->eval();
    edge();
  }
  model->reset = 0;

  std::uint64_t begin = UINT64_MAX, end = 0;
  for (const auto& [name, port] : simulator) {
    const bool followed = name.compare(0, 6, "engine") == 0 || name.compare(0, 9, "dma_store") == 0 ||
                          name == "bus.store.write";
    if (!followed || port.records() == 0) continue;
    begin = std::min(begin, port.clock(0));
    end = std::max(end, port.clock(port.records() - 1));
  }
  if (!instructions.empty()) begin = std::min<std::uint64_t>(begin, instructions.front()->begin);
  for (Stream* stream : {&load, &parameter})
    if (!stream->beats().empty()) begin = std::min(begin, stream->beats().front().from);
  begin -= 2;
  end += 4;

  struct Pending {
    std::uint64_t clock;
    std::uint64_t valid;
    std::vector<std::uint32_t> address;
  };
  Pending banks{0, 0, std::vector<std::uint32_t>(kRows)};
  Pending kernels{0, 0, std::vector<std::uint32_t>(1)};
  for (std::uint64_t clock = begin; clock <= end; clock++) {
    const bool dispatched =
        !instructions.empty() && instructions.front()->begin == static_cast<std::int64_t>(clock) + 1;
    model->instruction_valid = dispatched;
    if (dispatched)
      set_bytes(model->instruction, instructions.front()->bytes, 64);
    else if (clock % 4 == 0)
      disturb(model->instruction, 64);
    const auto offer = [&](Stream& stream) -> const Beat* {
      return !stream.beats().empty() && stream.beats().front().from <= clock ? &stream.beats().front()
                                                                             : nullptr;
    };
    const Beat* map = offer(load);
    model->load_valid = map != nullptr;
    if (map != nullptr) {
      model->load_first = map->first;
      model->load_bytes = map->bytes.size();
      set_bytes(model->load_data, map->bytes.data(), map->bytes.size());
      set_bytes(model->load_operands, map->instruction->bytes + 16, 48);
    } else if (clock % 4 == 0) {
      disturb(model->load_data, kBus);
      disturb(model->load_operands, 48);
    }
    const Beat* kernel = offer(parameter);
    model->parameter_valid = kernel != nullptr;
    if (kernel != nullptr) {
      model->parameter_first = kernel->first;
      model->parameter_records = kernel->records;
      model->parameter_first_records = kernel->first_records;
      model->parameter_bytes = kernel->bytes.size();
      set_bytes(model->parameter_data, kernel->bytes.data(), kernel->bytes.size());
      set_bytes(model->parameter_operands, kernel->instruction->bytes + 16, 48);
    } else if (clock % 4 == 1) {
      disturb(model->parameter_data, kBus);
      disturb(model->parameter_operands, 48);
    }
    const bool storing = !stores.empty() && stores.front()->begin == static_cast<std::int64_t>(clock) + 1;
    model->store_valid = storing;
    if (storing)
      set_bytes(model->store_instruction, stores.front()->bytes, 64);
    else if (clock % 4 == 0)
      disturb(model->store_instruction, 64);
    model->store_granted = std::binary_search(grants.begin(), grants.end(), clock);
    model->store_answered = std::upper_bound(answers.begin(), answers.end(), clock) -
                            std::lower_bound(answers.begin(), answers.end(), clock);
    model->eval();
    if (model->store_reads) rtl["dma_store.reading"].begin(clock);
    if (model->store_request) {
      Port& port = rtl["bus.store.request"];
      port.begin(clock);
      port.add(model->store_request_address, 6);
      port.add(model->store_request_bytes, 4);
    }
    if (model->store_beat_valid) {
      Port& port = rtl["bus.store.write"];
      port.begin(clock);
      add_bytes(port, model->store_beat, 0, kBus);
    }

    // The words of the reads of the clock before are there now.
    if (banks.valid != 0) {
      Port& port = rtl["engine.banks.read"];
      for (int b = 0; b < kRows; b++) {
        if ((banks.valid >> b & 1) == 0) continue;
        port.begin(banks.clock);
        port.add(b, 1);
        port.add(banks.address[b], 4);
        add_bytes(port, model->bank_read_data, b * kPort * 8, kPort);
      }
    }
    banks.clock = clock;
    banks.valid = bits(model->bank_read_valid, 0, kRows);
    for (int b = 0; b < kRows; b++) banks.address[b] = bits(model->bank_read_address, b * 32, 32);
    if (kernels.valid != 0) {
      Port& port = rtl["engine.parameters.read"];
      for (int c = 0; c < kColumns; c++) {
        port.begin(kernels.clock);
        port.add(c, 1);
        port.add(kernels.address[0], 4);
        add_bytes(port, model->kernel_read_data, c * kPort * 8, kPort);
      }
    }
    kernels.clock = clock;
    kernels.valid = model->kernel_read_valid;
    kernels.address[0] = model->kernel_read_address;

    for (int b = 0; b < kRows; b++) {
      if (bits(model->bank_write_valid, b, 1) == 0) continue;
      Port& port = rtl["engine.banks.write"];
      port.begin(clock);
      port.add(b, 1);
      port.add(bits(model->bank_write_address, b * 32, 32), 4);
      add_bytes(port, model->bank_write_data, b * kPort * 8, kPort);
    }
    for (int c = 0; c < kColumns; c++) {
      if (bits(model->kernel_write_valid, c, 1) == 0) continue;
      Port& port = rtl["engine.parameters.write"];
      port.begin(clock);
      port.add(c, 1);
      port.add(bits(model->kernel_write_address, c * 32, 32), 4);
      add_bytes(port, model->kernel_write_data, c * kPort * 8, kPort);
    }
    if (model->record_write) {
      Port& port = rtl["engine.records.write"];
      port.begin(clock);
      port.add(model->record_address, 4);
      add_bytes(port, model->record_data, 0, 16);
    }
    if (model->switch_valid) {
      Port& beat = rtl["engine.switch.beat"];
      beat.begin(clock);
      beat.add(model->switch_beat, 4);
      beat.add(model->switch_row / kGroups, 2);
      beat.add(model->switch_column / kLanes, 2);
      Port& port = rtl["engine.switch"];
      for (int r = 0; r < kRows; r++) {
        if (bits(model->switch_pixel, r, 1) == 0) continue;
        port.begin(clock);
        port.add(r, 1);
        port.add(bits(model->switch_h, r * 16, 16), 2);
        port.add(bits(model->switch_w, r * 16, 16), 2);
        add_bytes(port, model->switch_word, r * kPort * 8, kPort);
      }
    }
    if (model->pe_valid) {
      Port& port = rtl["engine.pe"];
      for (int r = 0; r < kRows; r++) {
        for (int c = 0; c < kColumns; c++) {
          port.begin(clock);
          port.add(r, 1);
          port.add(c, 1);
          port.add(bits(model->pe_sum, (r * kColumns + c) * 32, 32), 4);
          port.add(bits(model->pe_accumulator, (r * kColumns + c) * 32, 32), 4);
        }
      }
    }
    for (int g = 0; g < kGroups; g++) {
      if (bits(model->out_valid, g, 1) == 0) continue;
      Port& port = rtl["engine.out"];
      port.begin(clock);
      port.add(g, 1);
      port.add(bits(model->out_address, g * 32, 32), 4);
      for (int i = 0; i < kColumns * 4; i++)
        port.add(i < model->out_bytes ? bits(model->out_data, (g * kColumns * 4 + i) * 8, 8) : 0, 1);
    }
    if (model->state != 0) {
      rtl["engine.state"].begin(clock);
      rtl["engine.state"].add(model->state, 1);
    }
    for (int i = 0; i < (model->run_done & 1) + (model->run_done >> 1) + model->setup_done; i++)
      rtl["engine.completed"].begin(clock);
    const bool takes_map = model->load_valid && model->load_ready,
               takes_kernel = model->parameter_valid && model->parameter_ready;
    if (takes_map) rtl["dma_load.streaming"].begin(clock);
    if (takes_kernel) rtl["dma_parameter.streaming"].begin(clock);

    if (dispatched && !model->instruction_ready) {
      std::printf("clock %llu: an instruction comes while two are held\n",
                  static_cast<unsigned long long>(clock));
      return 1;
    }
    edge();
    if (dispatched) {
      instructions.pop_front();
      disturb(model->instruction, 64);
    }
    if (storing) {
      stores.pop_front();
      disturb(model->store_instruction, 64);
    }
    if (takes_map) load.beats().pop_front();
    if (takes_kernel) parameter.beats().pop_front();
  }

  std::vector<bench::Difference> differences;
  std::uint64_t compared = 0;
  for (const auto& [name, port] : simulator) {
    if (name.compare(0, 3, "bus") == 0 && name != "bus.store.request" && name != "bus.store.write") continue;
    if (name == "bus.store.outstanding") continue;
    compared += port.records();
    bench::Difference difference = bench::compare(name, port, rtl[name]);
    if (!difference.port.empty()) differences.push_back(difference);
  }
  std::sort(differences.begin(), differences.end(),
            [](const auto& a, const auto& b) { return a.clock < b.clock; });
  for (const bench::Difference& difference : differences)
    std::printf("clock %llu, port %s: simulator %s, RTL %s\n",
                static_cast<unsigned long long>(difference.clock), difference.port.c_str(),
                difference.simulator.c_str(), difference.rtl.c_str());
  std::printf("%s: %llu clocks, %llu records compared\n", differences.empty() ? "equal" : "different",
              static_cast<unsigned long long>(end - begin + 1), static_cast<unsigned long long>(compared));
  return differences.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: switch_array_bench CASE [VECTORS]\n");
    return 2;
  }
  try {
    return run(argv[1], argc == 3 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
