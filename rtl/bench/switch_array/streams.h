// What goes into the switch array: instructions, and the bursts that the bus brings for them, in the order
// and in the clocks of a recorded run.
#pragma once

#include "ports.h"
#include "program.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

constexpr int kRows = GEOMETRY_R, kColumns = GEOMETRY_C, kGroups = GEOMETRY_G, kPort = GEOMETRY_P,
              kBus = GEOMETRY_BUS;
constexpr int kLanes = kRows / kGroups;

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
      while (image_ != nullptr && found < bursts_.size() &&
             (bursts_[found].landed || !matches(bursts_[found], at)))
        found++;
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
inline std::vector<Run> input_runs(const Instruction& load) {
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
inline std::uint64_t kernel_bytes(const Instruction& load) {
  const std::int64_t words = load.field(224, 248), group_channels = load.field(329, 358),
                     group_kernels = load.field(359, 374);
  const std::int64_t first_kernel = load.field(375, 390), kernels = load.field(391, 406);
  const std::int64_t first_channel = static_cast<std::int32_t>(load.field(407, 438)),
                     block_words = load.field(439, 463);
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

}  // namespace bench
