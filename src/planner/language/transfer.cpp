#include "planner/language/transfer.h"

#include "base/types.h"
#include "isa/address_map.h"
#include "planner/language/relayout.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace tilebeat {
namespace {

// The part of a transfer with whole runs from row `row` and column `column` on.
Transfer runs_of(const Transfer& whole, std::int64_t row, std::int64_t rows, std::int64_t column,
                 std::int64_t columns) {
  const CopyShape& s = whole.shape;
  Transfer part = whole;
  part.source += to_unsigned(row * s.source_row + column * s.source_column);
  part.destination += to_unsigned(row * s.destination_row + column * s.destination_column);
  part.shape.rows = rows, part.shape.columns = columns;
  return part;
}

// Packs transfers, in order, into parts.
class Packer {
 public:
  explicit Packer(std::int64_t bytes) : bytes_(bytes) {}

  void add(const Transfer& transfer) {
    const CopyShape& s = transfer.shape;
    if (s.stream > 0) {
      if (s.stream > bytes_)
        throw UserError(
            fmt::format("a stream of {} bytes of weights does not fit a buffer of {}", s.stream, bytes_));
      return put(transfer);
    }
    const std::int64_t row = s.run * s.columns;
    if (row <= bytes_) {
      const std::int64_t most = bytes_ / row;
      for (std::int64_t r = 0; r < s.rows; r += most)
        put(runs_of(transfer, r, std::min(most, s.rows - r), 0, s.columns));
      return;
    }
    if (s.transposed > 0) {
      for (const Transfer& block : cut_blocks(transfer, bytes_)) add(block);
      return;
    }
    for (std::int64_t r = 0; r < s.rows; ++r) {
      if (s.run <= bytes_) {
        // As many columns as the part that has been begun has room for, or a part of their own.
        for (std::int64_t c = 0, count = 0; c < s.columns; c += count) {
          const std::int64_t room = parts_.empty() || left_ < s.run ? bytes_ : left_;
          count = std::min(room / s.run, s.columns - c);
          put(runs_of(transfer, r, 1, c, count));
        }
        continue;
      }
      for (std::int64_t c = 0; c < s.columns; ++c) cut_run(runs_of(transfer, r, 1, c, 1));
    }
  }
  std::vector<std::vector<Transfer>> take() { return std::move(parts_); }

 private:
  void cut_run(const Transfer& run) {
    for (std::int64_t at = 0; at < run.shape.run; at += bytes_) {
      Transfer part = run;
      part.source += to_unsigned(at), part.destination += to_unsigned(at);
      part.shape.run = std::min(bytes_, run.shape.run - at);
      put(part);
    }
  }
  void put(const Transfer& part) {
    if (parts_.empty() || part.shape.source_bytes() > left_) {
      parts_.emplace_back();
      left_ = bytes_;
    }
    parts_.back().push_back(part);
    left_ -= part.shape.source_bytes();
  }

  std::int64_t bytes_, left_ = 0;
  std::vector<std::vector<Transfer>> parts_;
};

double clocks(Picoseconds duration, const HardwareConfig& hardware) {
  return ratio_of(duration, hardware.clock_ps());
}

double on_chip_trip(const InterconnectConfig& bus, const MemoryConfig& memory) {
  return bus.request_cycles + bus.response_cycles + memory.latency_cycles + 2;
}

}  // namespace

std::int64_t bytes_of(const std::vector<Transfer>& transfers) {
  std::int64_t sum = 0;
  for (const Transfer& transfer : transfers) sum += transfer.shape.source_bytes();
  return sum;
}

Copy copy_from(Unit unit, const Transfer& transfer, std::int64_t row, std::int64_t column) {
  const CopyShape& shape = transfer.shape;
  Copy copy;
  copy.unit = unit;
  copy.source = transfer.source + to_unsigned(row * shape.source_row + column * shape.source_column);
  copy.destination =
      transfer.destination + to_unsigned(row * shape.destination_row + column * shape.destination_column);
  set_field(copy.run_bytes, shape.run);
  set_field(copy.inner_count, std::min(kMostCopyRuns, shape.columns - column));
  set_field(copy.outer_count, std::min(kMostCopyRuns, shape.rows - row));
  set_field(copy.source_inner_stride, shape.source_column);
  set_field(copy.source_outer_stride, shape.source_row);
  set_field(copy.destination_inner_stride, shape.destination_column);
  set_field(copy.destination_outer_stride, shape.destination_row);
  set_field(copy.transposed_columns, shape.transposed);
  set_field(copy.transposed_stride, shape.transposed_row);
  if (shape.stream > 0) {
    copy.decodes = true;
    set_field(copy.source_inner_stride, shape.stream), copy.source_outer_stride = 0;
  }
  return copy;
}

std::vector<Copy> copies_of(Unit unit, const Transfer& transfer) {
  std::vector<Copy> copies;
  each_copy(unit, transfer, [&](const Copy& copy) { copies.push_back(copy); });
  return copies;
}

std::vector<std::vector<Transfer>> parts_of(const std::vector<Transfer>& transfers, std::int64_t bytes) {
  Packer packer(bytes);
  for (const Transfer& transfer : transfers) packer.add(transfer);
  return packer.take();
}

std::vector<Transfer> into_buffer(const std::vector<Transfer>& part, std::uint64_t address) {
  std::vector<Transfer> legs = part;
  for (Transfer& leg : legs) {
    leg.destination = address;
    if (leg.shape.stream > 0) leg.shape = one_run(leg.shape.stream);
    leg.shape.destination_column = leg.shape.run;
    leg.shape.destination_row = leg.shape.run * leg.shape.columns;
    leg.shape.transposed = leg.shape.transposed_row = 0;  // on the way out
    address += to_unsigned(leg.shape.bytes());
  }
  return legs;
}

std::vector<Transfer> out_of_buffer(const std::vector<Transfer>& part, std::uint64_t address) {
  std::vector<Transfer> legs = part;
  for (Transfer& leg : legs) {
    leg.source = address;
    leg.shape.source_column = leg.shape.run;
    leg.shape.source_row = leg.shape.run * leg.shape.columns;
    address += to_unsigned(leg.shape.source_bytes());
  }
  return legs;
}

Runs merged_runs(std::int64_t run, std::int64_t columns, std::int64_t column_stride, std::int64_t rows,
                 std::int64_t row_stride) {
  const std::int64_t rows_apart = rows > 1 ? row_stride : 0;
  Runs runs{run, columns * rows, std::gcd(columns > 1 ? column_stride : 0, rows_apart)};
  if (columns == 1 || column_stride == run) runs = {run * columns, rows, rows_apart};
  if (runs.count == rows && (rows == 1 || row_stride == runs.run)) runs = {runs.run * rows, 1, 0};
  return runs;
}

double dram_bytes_per_clock(const HardwareConfig& hardware) {
  const DramConfig& d = hardware.dram;
  // Bursts follow one another tCCD apart, also where their data would take less.
  const DramClocks clocks = dram_clocks(d);
  const int burst = d.burst_length * d.data_bits / 8;  // bytes
  const double bytes = burst / static_cast<double>(clocks.ccd);
  const double channel = bytes * static_cast<double>(hardware.clock_ps()) / static_cast<double>(d.clock_ps);
  return d.channels * std::min<double>(channel, d.port_bytes_per_clock);
}

std::int64_t dram_bank_round(const HardwareConfig& hardware) {
  const DramConfig& d = hardware.dram;
  const int controllers = hardware.chip ? hardware.chip->memory_controllers : 1;
  return d.row_bytes * d.banks * d.channels * controllers;
}

// PortPath::lost_by_run, fitted so that estimates are nearest to simulated runs of models/.
constexpr std::int64_t kLostByRead = 28, kLostByWrite = 18;

PortPath dram_path(const HardwareConfig& hardware, const DmaConfig& dma, Direction direction) {
  const InterconnectConfig& noc = hardware.interconnect;
  const DramConfig& dram = hardware.dram;
  const Picoseconds data = direction == Direction::kRead ? dram.tRCD_ps + dram.tCL_ps : dram.tCWL_ps;
  PortPath path;
  path.width = noc.bytes_per_clock;
  path.burst_bytes = dma.burst_bytes;
  path.outstanding = std::min(dma.max_outstanding, noc.max_outstanding);
  path.round_trip = noc.request_cycles + noc.response_cycles + clocks(data, hardware);
  path.memory = dram_bytes_per_clock(hardware) / hardware.dram.channels;
  path.atom = std::int64_t{dram.burst_length} * dram.data_bits / 8;
  path.lost_by_run = direction == Direction::kRead ? kLostByRead : kLostByWrite;
  if (dram.bank_groups > 1 && dram.channels == 1 &&
      dram.mapping == AddressMapping::kRowBankColumnGroupChannel) {
    const DramClocks between = dram_clocks(dram);
    const Cycle in_group = direction == Direction::kRead ? between.ccd_l : between.ccd_l_wr;
    path.lost_in_group = path.atom * (in_group - between.ccd) / between.ccd;
  }
  return path;
}

PortPath core_path(const ChipConfig& chip, const DmaConfig& dma) {
  return {chip.core.bus.bytes_per_clock, dma.burst_bytes,
          std::min(dma.max_outstanding, chip.core.bus.max_outstanding),
          on_chip_trip(chip.core.bus, chip.core.nram), 1};
}

PortPath cluster_path(const ChipConfig& chip) {
  return {chip.cluster_bus.bytes_per_clock, chip.copy.burst_bytes,
          std::min(chip.copy.max_outstanding, chip.cluster_bus.max_outstanding),
          on_chip_trip(chip.cluster_bus, chip.sram), 1};
}

PortPath link_path(const ChipConfig& chip) {
  PortPath path = cluster_path(chip);
  path.width = std::min(path.width, chip.cluster_link.bytes_per_clock);
  path.outstanding = std::min(chip.copy.max_outstanding, chip.cluster_link.max_outstanding);
  path.round_trip += chip.cluster_link.request_cycles + chip.cluster_link.response_cycles;
  return path;
}

double round_trip(const Runs& runs, const PortPath& path) {
  return path.round_trip +
         static_cast<double>(std::min<std::int64_t>(runs.run, path.burst_bytes)) / path.memory;
}

double burst_beats(const Runs& runs, const PortPath& path) {
  return static_cast<double>(std::min<std::int64_t>(runs.run, path.burst_bytes)) / path.width;
}

double port_cycles(const Runs& runs, const PortPath& path) {
  const std::int64_t bursts = runs.count * ceil_div<std::int64_t>(runs.run, path.burst_bytes);
  const std::int64_t beats = runs.count * ceil_div<std::int64_t>(runs.run, path.width);
  const double turns =
      static_cast<double>(bursts) / path.outstanding * (round_trip(runs, path) + burst_beats(runs, path));
  return std::max({static_cast<double>(beats), static_cast<double>(bursts), turns});
}

double bus_bytes(const Runs& runs, const PortPath& path, std::uint64_t address) {
  const std::int64_t step = std::gcd(runs.step, path.atom);
  // atoms that a run touches, summed over the positions in an atom at which runs begin
  std::int64_t atoms = 0;
  for (std::int64_t i = 0; i < path.atom / step; ++i)
    atoms += ceil_div((to_signed(address) + i * step) % path.atom + runs.run, path.atom);
  return static_cast<double>(runs.count * (atoms * step + path.lost_by_run));
}

double lost_in_groups(const Runs& runs, const PortPath& path) {
  const bool same = runs.step % (2 * path.atom) == 0 && ceil_div(runs.run, path.atom) % 2 == 1;
  const std::int64_t more = std::max<std::int64_t>(0, path.lost_in_group - path.lost_by_run);
  return same ? static_cast<double>((runs.count - 1) * more) : 0;
}

namespace {

// Destination bytes from one group of columns of a transposing copy to the next.
std::int64_t transposed_step(const Copy& copy) {
  return copy.run_bytes > copy.transposed_columns ? copy.transposed_stride : copy.destination_outer_stride;
}

}  // namespace

CopyCosts::Ways::Ways(const HardwareConfig& hardware, const DmaConfig& dma)
    : dram_read(dram_path(hardware, dma, Direction::kRead)),
      dram_write(dram_path(hardware, dma, Direction::kWrite)),
      nram(core_path(*hardware.chip, dma)),
      wram(nram),
      buffer_bytes(dma.buffer_bytes) {
  // A run is written to the bank of its region only.
  if (engine_description(hardware.dataflow).wram_regions)
    wram.width = std::min(wram.width, hardware.chip->core.wram.bank_bytes);
}

CopyCosts::CopyCosts(const HardwareConfig& hardware)
    : core_(hardware, hardware.chip->core.copy),
      memory_core_(hardware, hardware.chip->copy),
      cluster_(cluster_path(*hardware.chip)),
      link_(link_path(*hardware.chip)),
      decode_bytes_(hardware.chip->decode_bytes_per_clock),
      request_cycles_(hardware.interconnect.request_cycles) {}

const PortPath& CopyCosts::path_of(const Ways& ways, std::uint64_t address, Direction direction) const {
  if (address < kDramEnd) return direction == Direction::kRead ? ways.dram_read : ways.dram_write;
  const bool multicast = (address & kMulticast) != 0;
  if (!multicast && address < nram_address(0)) return cluster_;
  const bool wram = multicast ? (address & kMulticastWram) != 0 : address >= wram_address(0);
  return wram ? ways.wram : ways.nram;
}

namespace {

// The cluster in whose SRAM an address lies; -1: it lies elsewhere.
int cluster_of_sram(std::uint64_t address) {
  const bool sram = address >= sram_address(0) && address < nram_address(0);
  return sram ? to_int((address - sram_address(0)) / (sram_address(1) - sram_address(0))) : -1;
}
// Bytes of the beats that runs take at a port.
double whole_beats(const Runs& runs, const PortPath& path) {
  return static_cast<double>(runs.count * align_up<std::int64_t>(runs.run, path.width));
}

}  // namespace

TaskCost CopyCosts::of(const Copy& copy) const {
  const bool of_core = copy.unit == Unit::kIodma || copy.unit == Unit::kIostore || copy.unit == Unit::kFold;
  const Ways& ways = of_core ? core_ : memory_core_;
  const std::int64_t columns = std::int64_t{copy.pad_left} + copy.inner_count + copy.pad_right;
  const std::int64_t rows = std::int64_t{copy.pad_top} + copy.outer_count + copy.pad_bottom;
  const Runs read = copy.decodes ? Runs{copy.stream_bytes(), 1, 0}
                                 : merged_runs(copy.run_bytes, copy.inner_count, copy.source_inner_stride,
                                               copy.outer_count, copy.source_outer_stride);
  const Runs written =
      copy.turns() ? merged_runs(copy.inner_count, copy.transposed_columns, copy.destination_inner_stride,
                                 rows * (copy.run_bytes / copy.transposed_columns), transposed_step(copy))
                   : merged_runs(copy.run_bytes, columns, copy.destination_inner_stride, rows,
                                 copy.destination_outer_stride);
  const PortPath& from = path_of(ways, copy.source, Direction::kRead);
  const PortPath& to = copy.unit == Unit::kCdma ? link_ : path_of(ways, copy.destination, Direction::kWrite);
  TaskCost cost;
  // A burst is written when all of it has been read: the first or last burst of the faster side comes on top.
  const double reading = port_cycles(read, from), writing = port_cycles(written, to);
  cost.cycles = std::max(reading, writing);
  if (copy.decodes) {
    // A burst of weights is decoded in whole cycles.
    const std::int64_t weights = std::int64_t{copy.run_bytes} * copy.inner_count * copy.outer_count;
    const double bursts = static_cast<double>(weights) / to.burst_bytes;
    cost.cycles = std::max(cost.cycles, bursts * std::ceil(copy.stream_bytes() / bursts / decode_bytes_));
  }
  cost.release = round_trip(read, from);
  cost.latency = cost.release + round_trip(written, to) +
                 (reading > writing ? burst_beats(written, to) : burst_beats(read, from));
  // A transposed block is written when all of it has been read.
  cost.latency += static_cast<double>(copy.block_bytes()) / from.width;
  const auto uses_dram = [&](const Runs& runs, const PortPath& path, std::uint64_t address,
                             std::int64_t extent) {
    cost.dram_bytes = bus_bytes(runs, path, address);
    const std::int64_t requests = runs.count * ceil_div<std::int64_t>(runs.run, path.burst_bytes);
    cost.dram_request = cost.dram_bytes / static_cast<double>(requests);
    cost.dram_part = to_signed(address / kControllerBytes);
    cost.dram_parts = to_signed((address + to_unsigned(extent) - 1) / kControllerBytes) - cost.dram_part + 1;
  };
  const int from_sram = cluster_of_sram(copy.source), to_sram = cluster_of_sram(copy.destination);
  if (from_sram >= 0) cost.sram_read = from_sram, cost.sram_bytes = whole_beats(read, cluster_);
  if (to_sram >= 0) cost.sram_write = to_sram, cost.sram_bytes = whole_beats(written, cluster_);
  const auto extent = [&](std::int64_t inner, std::int64_t inner_stride, std::int64_t outer,
                          std::int64_t outer_stride) {
    return copy.run_bytes + (inner - 1) * inner_stride + (outer - 1) * outer_stride;
  };
  if (copy.source < kDramEnd)
    uses_dram(read, from, copy.source,
              copy.decodes ? copy.stream_bytes()
                           : extent(copy.inner_count, copy.source_inner_stride, copy.outer_count,
                                    copy.source_outer_stride));
  if (copy.destination < kDramEnd)
    uses_dram(written, to, copy.destination,
              extent(columns, copy.destination_inner_stride, rows, copy.destination_outer_stride));
  const bool reads_dram = copy.source < kDramEnd, writes_dram = copy.destination < kDramEnd;
  if (reads_dram && !writes_dram) cost.requests = requests_of(copy, cost, read, from, written, to);
  if (writes_dram && !reads_dram) cost.requests = requests_of(copy, cost, written, to, read, from);
  cost.requests.buffer = static_cast<float>(ways.buffer_bytes);
  return cost;
}

RequestCost CopyCosts::requests_of(const Copy& copy, const TaskCost& cost, const Runs& at_dram,
                                   const PortPath& dram, const Runs& at_other, const PortPath& other) const {
  const std::int64_t count = at_dram.count * ceil_div<std::int64_t>(at_dram.run, dram.burst_bytes);
  const auto each = [&](double all) { return static_cast<float>(all / static_cast<double>(count)); };
  const std::int64_t beats = at_dram.count * ceil_div<std::int64_t>(at_dram.run, dram.width);
  RequestCost requests;
  requests.count = to_int(count);
  requests.outstanding = dram.outstanding;
  requests.to_dram = copy.destination < kDramEnd;
  requests.bytes = each(cost.dram_bytes + lost_in_groups(at_dram, dram));
  requests.dram_beats = each(static_cast<double>(beats));
  requests.request_trip = static_cast<float>(request_cycles_);
  requests.dram_trip = static_cast<float>(dram.round_trip - request_cycles_);
  // Weights are decoded on their way.
  requests.other_beats = each(copy.decodes ? cost.cycles : port_cycles(at_other, other));
  // A block that is turned is written when all of it has been read.
  requests.other_trip = static_cast<float>(other.round_trip + static_cast<double>(copy.block_bytes()) /
                                                                  (requests.to_dram ? other : dram).width);
  return requests;
}

// As a copy of rows that lie apart, behind the indices that are read before each few of them.
TaskCost CopyCosts::of(const RowGather& rows) const {
  Copy copy;
  copy.source = rows.source, copy.destination = rows.destination, copy.run_bytes = rows.row_bytes;
  copy.inner_count = rows.count, copy.destination_inner_stride = rows.row_bytes;
  set_field(copy.source_inner_stride, std::int64_t{2} * rows.row_bytes);
  const Runs read{RowGather::kIndexBytes * std::min<std::int64_t>(rows.count, RowGather::kHeld),
                  rows.more_rows > 0 ? 2 : 1, 0};
  TaskCost cost = of(copy);
  cost.cycles += ceil_div<int>(rows.count, RowGather::kHeld) *
                 (port_cycles(read, core_.nram) + round_trip(read, core_.nram));
  return cost;
}

}  // namespace tilebeat
