#include "recording.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace bench {
Recording::Recording(const std::string& folder) : settings_(folder + "/settings") {
  const Geometry geometry{kRows, kColumns, kGroups, kPort, kBus};
  simulator = read_vectors(folder + "/vectors", geometry, settings_.text("scope"));
  if (setting("in_order") == 0) dram_ = std::make_unique<Image>(folder + "/dram.image");
  load = std::make_unique<Stream>(simulator.at("bus.load.read"), dram_.get(), setting("burst_bytes"));
  parameter =
      std::make_unique<Stream>(simulator.at("bus.parameter.read"), dram_.get(), setting("burst_bytes"));
  program_ = read_program(folder, settings_.text("processor"));
  check_fetched();
  sort_instructions();
  find_grants();
  find_answers();
  load->land("load");
  parameter->land("parameter");
  find_clocks();
}

// The command processor has fetched the same bytes. Its bursts are answered in any order.
void Recording::check_fetched() {
  std::string image;
  const Port& fetched = simulator["bus.fetch.read"];
  if (fetched.fields.empty()) return;
  for (std::size_t i = 0; i < fetched.records(); i++)
    image.append(reinterpret_cast<const char*>(fetched.value(i, 0)), kBus);
  std::vector<std::string> words;
  for (std::size_t i = 0; i + 64 <= image.size(); i += 64) words.push_back(image.substr(i, 64));
  std::sort(words.begin(), words.end());
  for (std::size_t i = 0; i < program_.size(); i++) {
    const std::string encoded(reinterpret_cast<const char*>(program_[i].bytes), 64);
    if (std::binary_search(words.begin(), words.end(), encoded)) continue;
    throw std::runtime_error("the encoding of instruction " + std::to_string(i) +
                             " was not fetched: " + program_[i].text);
  }
}

void Recording::sort_instructions() {
  // Completions of the array; which of two instructions is complete first is not compared.
  Port& done = simulator["engine.completed"];
  std::vector<std::uint64_t> completed;
  for (const Instruction& instruction : program_) {
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
        load->add(instruction, input_runs(instruction), false);
        break;
      case 0x11:
        parameter->add(instruction, {{instruction.field(128, 175), kernel_bytes(instruction)}}, false);
        parameter->add(instruction, {{instruction.field(176, 223), instruction.field(281, 296) * 16}}, true);
        break;
      default:
        break;
    }
  }
  std::sort(completed.begin(), completed.end());
  for (const std::uint64_t clock : completed) done.begin(clock);
}

// When the bus granted the store channel's bursts: a request that is gone in the next clock was granted.
void Recording::find_grants() {
  const Port& requested = simulator.at("bus.store.request");
  for (std::size_t i = 0; i < requested.records(); i++) {
    const bool again = i + 1 < requested.records() && requested.clock(i + 1) == requested.clock(i) + 1 &&
                       requested.number(i, 0) == requested.number(i + 1, 0);
    if (grants.size() == asked_.size()) asked_.push_back(requested.clock(i));
    if (!again) grants.push_back(requested.clock(i));
  }
}

// The channel counts answers in the order of its requests, memories give them in any order, and the
// waveform does not say whose an answer is. The burst that the k-th request had to wait for is taken as
// answered just before that request; as many answers must have come.
void Recording::find_answers() {
  const Port& outstanding = simulator.at("bus.store.outstanding");
  std::vector<std::uint64_t> answered;
  std::uint64_t bursts = 0;
  for (std::size_t i = 0; i < outstanding.records(); i++) {
    const std::uint64_t clock = outstanding.clock(i), now = outstanding.number(i, 0);
    const bool granted = clock > 0 && std::binary_search(grants.begin(), grants.end(), clock - 1);
    if (bursts + (granted ? 1 : 0) > now) answered.push_back(clock);
    bursts = now;
  }
  for (std::size_t k = setting("outstanding"); k < asked_.size(); k++) {
    const std::size_t needed = k + 1 - setting("outstanding");
    if (answered.size() < needed || answered[needed - 1] >= asked_[k])
      throw std::runtime_error("clock " + std::to_string(asked_[k]) +
                               ", port bus.store.request: more bursts under way than max_outstanding");
    answers.push_back(asked_[k] - 1);
  }
}

void Recording::find_clocks() {
  for (const auto& [name, port] : simulator) {
    const bool followed = name.compare(0, 6, "engine") == 0 || name.compare(0, 9, "dma_store") == 0 ||
                          name == "bus.store.write";
    if (!followed || port.records() == 0) continue;
    begin = std::min(begin, port.clock(0));
    end = std::max(end, port.clock(port.records() - 1));
  }
  if (!instructions.empty()) begin = std::min<std::uint64_t>(begin, instructions.front()->begin);
  for (Stream* stream : {load.get(), parameter.get()})
    if (!stream->beats().empty()) begin = std::min(begin, stream->beats().front().from);
  begin -= 2;
  end += 4;
}

}  // namespace bench
