// The offset-table engine in tile granularity: the products of a slice at once, from the bytes in memory.
#include "base/types.h"
#include "engines/offset_table/sim/offset_unit.h"
#include "engines/rolling/sim/operand_image.h"
#include "engines/rolling/sim/pe_array.h"

#include <algorithm>

namespace tilebeat::offset_table {
namespace {

using rolling::widen;

constexpr std::size_t kWhole = 32;  // elements that a line is a multiple of

}  // namespace

// The next stretch of the slice. Offsets that are streamed again for every slice are read again.
Stretch& OffsetUnit::stretch_of(const Slice& slice, const std::vector<Beat>& beats) {
  if (beat_ == 0) {
    const bool stay = config_.addresses == Addresses::kComputed || tables.offsets_stay();
    if (slice.group != of_group_ || !stay) forget_stretches();
    of_group_ = slice.group, stretch_ = 0;
  }
  return stretches_.at(stretch_, beat_, beats, pipeline_.cache,
                       [&](const Beat& beat, std::vector<Operand>& operands) {
                         gather(beat, slice.group, operands);
                         // Beats that would leave the map are processed one by one.
                         const std::uint64_t end = job_->run.map + to_unsigned(map_size());
                         std::int64_t room = map_size();
                         for (const Operand& operand : operands) {
                           if (operand.bytes > 0)
                             room = std::min(room, to_signed(end - operand.address) - operand.bytes);
                         }
                         return room;
                       });
}

// Processes the next beats of the run that need only the same lines; false while the cycle of their offset is
// unknown.
bool OffsetUnit::do_stretch() {
  const Job& job = *job_;
  const Slice& slice = job.schedule.slices()[slice_];
  const std::vector<Beat>& beats = job.schedule.beats(slice.group);
  const std::optional<Cycle> there = offset_from(beats[beat_]);
  if (!there) return false;
  if (beat_ == 0) pipeline_.begin_slice(job.run.first);
  Stretch& stretch = stretch_of(slice, beats);
  ++stretch_;
  LineCache::Footprint& footprint = stretch.footprint;
  const Pipeline::BeatTimes first = pipeline_.beat(footprint, *there, kernel_accesses(slice));
  count_accesses(slice, first, footprint.lines);
  count_beat(slice, first, footprint.lines);
  if (pipeline_.cache.holds(footprint.lines)) {
    repeat_beat(slice, stretch.beats - 1);
  } else {
    for (std::size_t i = 1; i < stretch.beats; ++i) {
      operands_.clear();
      gather(beats[beat_], slice.group, operands_);
      const Pipeline::BeatTimes times =
          pipeline_.beat(operands_, *there, kernel_accesses(slice), references_);
      count_accesses(slice, times, references_);
      count_beat(slice, times, references_);
    }
  }
  if (beat_ < beats.size()) return true;
  end_slice(slice);
  use_ports(slice);
  multiply_slice(slice);
  next_slice();
  return true;
}

// Counts the accesses of the ports for the next beat after it has passed the tags.
void OffsetUnit::count_accesses(const Slice& slice, const Pipeline::BeatTimes& times,
                                const std::vector<LineCache::Reference>& references) {
  if (beat_ == 0) of_kernels_ = {times.kernels_requested, 0}, of_lines_ = {};
  of_kernels_.count += kernel_accesses(slice);
  for (const LineCache::Reference& r : references) {
    if (!r.missed) continue;
    if (of_lines_.count == 0) of_lines_.from = r.requested;
    of_lines_.count += lines_.accesses(r.line * to_size(config_.cache.line_bytes), line_size(r.line));
  }
}

// Tells the banks of the slice's reads, whose bytes are read all at once.
void OffsetUnit::use_ports(const Slice& slice) {
  const Job& job = *job_;
  if (records_requested_)
    of_kernels_.count += kernels_.accesses(first_record(job, slice), slice.count * kPostParameterBytes);
  kernels_.use(of_kernels_.from, pipeline_.kernels_requested_by(), of_kernels_.count,
               job.kernels.is_packed() ? job.run.image : job.run.weights + to_unsigned(slice.weights));
  lines_.use(of_lines_.from, pipeline_.cache.requested_by(), of_lines_.count, job.run.map);
}

// Repeats the last beat `count` times with the same lines: only addresses, lines and kernels could delay it,
// and they do not.
void OffsetUnit::repeat_beat(const Slice& slice, std::size_t count) {
  const Beat& beat = job_->schedule.beats(slice.group)[beat_ - 1];
  const int bytes = OffsetSchedule::weight_bytes(slice, beat);
  const bool in_one = kernels_.in_one_access(bytes), is_packed = job_->kernels.is_packed();
  const int conflict = pipeline_.cache.last_cycles() - 1;
  const auto told = [&](Cycle addresses, Cycle ready, Cycle begin) {
    wait_for(Activity::kAddress, std::min(addresses, begin));
    wait_for(Activity::kInputLoad, std::min(ready, begin));
    wait_for(Activity::kWeightLoad, begin);
    ledger.spend(Activity::kBusy, 1);
    if (conflict > 0) ledger.spend(Activity::kBankConflict, conflict);
  };
  if (in_one && !is_packed) {
    pipeline_.beats_again(count, 1, told);
    of_kernels_.count += to_signed(count);
    stats.wram_read += to_signed(count) * bytes;
    beat_ += count;
  } else {
    for (std::size_t i = 0; i < count; ++i, ++beat_) {
      const int accesses = kernel_accesses(slice);
      pipeline_.beats_again(1, accesses, told);
      of_kernels_.count += accesses;
      count_kernels(slice, job_->schedule.beats(slice.group)[beat_]);
    }
  }
  stats.beats += to_signed(count);
}

// The kernels of a slice after subtraction of the zero point, kernel by kernel, in the order of the beats.
const std::vector<std::int16_t>& OffsetUnit::widened_kernels(const Slice& slice) {
  std::vector<std::int16_t>& wide = wide_kernels_[slice_];
  if (!wide.empty()) return wide;
  const Job& job = *job_;
  const std::vector<Beat>& beats = job.schedule.beats(slice.group);
  const auto vector = to_size(job.schedule.vector()), count = to_size(slice.count);
  bytes_.resize(to_size(elements_of(beats)) * count);
  job.kernels.direct_read(kernels_, job.run.weights + to_unsigned(slice.weights), bytes_.data(),
                          count_of(bytes_), context_.clock.cycle_of(now_ps()));
  wide.assign(count * width_, 0);
  const std::uint8_t* from = bytes_.data();
  for (std::size_t b = 0; b < beats.size(); ++b) {
    for (std::size_t k = 0; k < count; ++k, from += beats[b].count)
      widen(from, beats[b].count, rolling::OperandName::kB, job.conv, wide.data() + k * width_ + b * vector);
  }
  return wide;
}

// Widens the operands of the group's threads, thread by thread, in the order of the beats; those of a stretch
// are often contiguous.
void OffsetUnit::widen_threads(const std::vector<Beat>& beats) {
  if (widened_) return;
  widened_ = true;
  const Cycle now = context_.clock.cycle_of(now_ps());
  const Job& job = *job_;
  const auto vector = to_size(job.schedule.vector());
  wide_threads_.assign(threads_.size() * width_, 0);
  for (std::size_t number = 0; number < stretches_.found(); ++number) {
    const Stretch& stretch = stretches_.all()[number];
    for (std::size_t i = 0; i < stretch.beats;) {
      const Beat& beat = beats[stretch.begin + i];
      const int moved = beat.beyond - beats[stretch.begin].beyond;
      std::size_t together = 1;
      while (beat.count == job.schedule.vector() && i + together < stretch.beats &&
             beats[stretch.begin + i + together].beyond == beat.beyond + to_int(together) * beat.count)
        ++together;
      const int size = to_int(together) * beat.count;
      bytes_.resize(to_size(size));
      for (std::size_t t = 0; t < stretch.operands.size(); ++t) {
        const Operand& operand = stretch.operands[t];
        if (operand.bytes == 0) continue;
        lines_.direct_read(operand.address + to_unsigned(moved), bytes_.data(), size, now);
        widen(bytes_.data(), size, rolling::OperandName::kA, job.conv,
              wide_threads_.data() + t * width_ + (stretch.begin + i) * vector, beat.channel);
      }
      i += together;
    }
  }
}

void OffsetUnit::multiply_slice(const Slice& slice) {
  Job& job = *job_;
  const std::size_t elements = job.schedule.beats(slice.group).size() * to_size(job.schedule.vector());
  const std::size_t width = align_up(elements, kWhole);
  if (width != width_) widened_ = false;
  width_ = width;
  widen_threads(job.schedule.beats(slice.group));
  const std::vector<std::int16_t>& kernels = widened_kernels(slice);
  if (job.run.first) std::fill(sums_.begin(), sums_.end(), 0);
  rolling::multiply_block({wide_threads_.data(), width_}, count_of(threads_), {kernels.data(), width_},
                          slice.count, to_int(width_), sums_.data(), to_size(config_.columns),
                          job.conv.input_type == DType::kInt16);
  if (!job.run.last) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  if (records_requested_) {
    bytes_.resize(to_size(slice.count) * kPostParameterBytes);
    kernels_.direct_read(first_record(job, slice), bytes_.data(), count_of(bytes_),
                         std::max(*records_requested_, now));
    keep_records(job, slice, bytes_);
  }
  const auto offset = to_unsigned(slice.first * dtype_size(job.conv.output_type));
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    const std::vector<std::uint8_t> row =
        post_processed(job, slice, sums_.data() + t * to_size(config_.columns));
    const std::uint64_t address = threads_[t].result + offset;
    if (faulty_)
      results_.write(address, row.data(), count_of(row), to_int(rows_[t].sent - now));
    else
      results_.direct_write(address, row.data(), count_of(row), rows_[t].sent);
  }
}

}  // namespace tilebeat::offset_table
