// What the W-fold master has done to kernels in the regions before a run reads them (SPEC WF-9, DT-1).
#include "engines/wfold/sim/wfold_master.h"
#include "tilebeat/error.h"
#include "units/matrix_unit.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::wfold {
namespace {

constexpr int kMostSlaves = 64;  // a bit each of BankReservation

}  // namespace

// The ports of all regions read the headers and scales of their images, from this cycle on.
void WfoldMaster::begin_images(const WfoldKernels& kernels, Cycle now) {
  if (kernels.folded) throw SimulationError("wfold.kernels: packed kernels cannot be folded in place");
  std::optional<ImageLoad> first;
  for (auto& slave : slave_images) {
    ImageLoad load{kernels.image};
    slave.send(load);
    if (to_signed(load.image) + load.bytes > region_bytes_)
      throw SimulationError(fmt::format("wfold.kernels: an image at byte {} of {} bytes, a region has {}",
                                        load.image, load.bytes, region_bytes_));
    if (first && (first->bytes != load.bytes || first->cycles != load.cycles))
      throw SimulationError("wfold.kernels: the images of the regions have different sizes");
    if (!first) first = load;
  }
  packed_ = {first->image, first->bytes};
  state_ = State::kLoadingImages;
  began_ = now, finish_at_ = now + first->cycles;
  pipeline_.idle(Activity::kWeightLoad, now);
  pipeline_.ports.enter(Activity::kBusy, now);
  if (second_storage_ != nullptr) {
    const BytePattern images = pattern_of(*packed_);
    second_storage_->open(summary(queue_.front()), Holds::Access::kRead, images, now);
    second_storage_->end_watch();
    second_storage_->watch(images);
    if (context_.bytes != nullptr) {
      Footprint made;
      add(images, made.chip.reads);
      context_.bytes->begin(queue_.front(), std::move(made), now);
    }
  }
  const std::uint64_t all = ~std::uint64_t{0} >> (kMostSlaves - config_.slaves);
  for (Cycle at = now; reservations.size() > 0 && at < finish_at_; ++at) reservations.send({at, all});
}

void WfoldMaster::end_images(Cycle now) {
  if (second_storage_ != nullptr) second_storage_->close_oldest(now);
  show_work(context_, *this, queue_.front(), began_, now, {});
  tell_complete(queue_.front());
  queue_.pop_front();
  state_ = State::kIdle;
}

// The bytes of images in all regions.
BytePattern WfoldMaster::pattern_of(const PackedRegions& packed) const {
  return {second_storage_->base() + packed.image, to_unsigned(packed.bytes), to_unsigned(region_bytes_),
          to_unsigned(config_.slaves)};
}

// Folds kernels in place, from this cycle on.
void WfoldMaster::begin_align(const WfoldAlign& kernels, Cycle now) {
  WfoldRun run;
  run.weights = kernels.weights, run.kernels = kernels.kernels, run.pixel_bytes = kernels.pixel_bytes;
  run.first_channel = kernels.first_channel, run.channels = kernels.channels;
  run.rows = run.columns = 1;
  run.granularity = static_cast<std::uint16_t>(config_.line_bytes), run.ends_sums = false;
  if (kernel_layout_.bytes != KernelBytesAre::kFolded)
    throw SimulationError("wfold.align: no wfold.kernels says that kernels are folded");
  if (kernels.kernels > wfold_shape(config_).tile_kernels())
    throw SimulationError(fmt::format("wfold.align: {} kernels, a tile has at most {}", kernels.kernels,
                                      wfold_shape(config_).tile_kernels()));
  align_job_ = std::make_unique<const WfoldJob>(
      WfoldJob{queue_.front(), run, setup_,
               WfoldSchedule(wfold_shape(config_), geometry_of(setup_, kernel_layout_, run))});
  check_kernels(*align_job_);
  hold_kernels(*align_job_, Holds::Access::kWrite, now);
  if (context_.bytes != nullptr)
    context_.bytes->begin(align_job_->instruction, footprint_of_align(*align_job_), now);
  state_ = State::kAligning;
  began_ = now;
  align_ = {0, 0, 0, {0, 0}, true};
  pipeline_.idle(Activity::kWeightLoad, now);
  pipeline_.ports.enter(Activity::kBusy, now);
}

// Reads or writes at most `weight_port_bytes` bytes of a folded column in every region, a cycle each.
void WfoldMaster::align(Cycle now) {
  const WfoldSchedule& schedule = align_job_->schedule;
  if (now > began_ && align_.writes && align_.bytes.end == align_job_->run.channels) {
    align_.bytes = {0, 0};
    if (++align_.column == schedule.all_steps()) align_.column = 0, ++align_.row;
    if (align_.row == align_job_->setup.kernel_h) align_.row = 0, ++align_.kernel;
    if (align_.kernel == schedule.tile(0).kernels_per_slave) {
      if (second_storage_ != nullptr) second_storage_->close_oldest(now);
      show_work(context_, *this, align_job_->instruction, began_, now, {});
      tell_complete(align_job_->instruction);
      queue_.pop_front();
      state_ = State::kIdle;
      begin_next(now);
      return;
    }
  }
  align_.writes = !align_.writes;
  if (!align_.writes) {
    align_.bytes.begin = align_.bytes.end;
    align_.bytes.end =
        std::min<std::int64_t>(align_job_->run.channels, align_.bytes.begin + config_.weight_port_bytes);
  }
  SlaveClock clock{*align_job_};
  clock.align = align_;
  for (auto& slave : slave_control) slave.send(clock);
}

// Declares the run's accesses to kernels: the same bytes of every region.
void WfoldMaster::hold_kernels(const WfoldJob& job, Holds::Access access, Cycle now) {
  if (second_storage_ == nullptr) return;
  const BytePattern kernels =
      job.packed
          ? pattern_of(*job.packed)
          : BytePattern{second_storage_->base() + job.run.weights, to_unsigned(job.schedule.region_bytes()),
                        to_unsigned(region_bytes_), to_unsigned(config_.slaves)};
  second_storage_->open(summary(job.instruction), access, kernels, now);
}

}  // namespace tilebeat::wfold
