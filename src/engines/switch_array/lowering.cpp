#include "engines/switch_array/lowering.h"

#include "base/types.h"
#include "engines/switch_array/chunks.h"
#include "engines/switch_array/operations.h"
#include "engines/switch_array/schedule.h"
#include "engines/switch_array/write_queues.h"
#include "isa/address_map.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tilebeat::switch_array {
namespace {

class Lowering : public MatrixLowering {
 public:
  Lowering(TaskGraph& graph, const EnginePlace& place, const Problem& problem, const Tiling& tiling,
           const HardwareConfig& hardware, const PortPath& path, const ArrangingCycles& arranging)
      : graph_(graph),
        place_(place),
        p_(problem),
        tiling_(tiling),
        config_(hardware.engine<SwitchArrayConfig>()),
        path_(path),
        arranging_(arranging),
        setup_(conv_setup(problem)),
        array_(array_shape(hardware.engine<SwitchArrayConfig>())),
        slot_words_(
            std::max(1, std::min(widest_planes(problem, array_), tiling.planes_per_chunk) * problem.taps())),
        maker_(array_, tiling, ChunkMaker::slots(config_, slot_words_, tiling.blocks_per_chunk)),
        inputs_(graph, BufferRole::kInput, ChunkMaker::kCopies),
        parameters_(graph, BufferRole::kParameters,
                    ChunkMaker::slots(config_, slot_words_, tiling.blocks_per_chunk)),
        outputs_(graph, BufferRole::kOutput, ChunkMaker::kCopies),
        decoders_(graph, BufferRole::kParameters, 1),
        input_(to_size(inputs_.count())),
        parameter_(to_size(parameters_.count())) {
    add(setup_, {}, {}, TaskEvent::kReleased);
  }

  ReadBytes read_bytes() const override { return read_; }
  void add(const MatrixJob& job) override {
    job_ = &job;
    tiles_of(p_, job, tiling_, tiles_);
    planes_.clear(), bytes_before_ = {0};
    for (int kb = job.blocks.begin; kb < job.blocks.end; ++kb) {
      planes_.push_back(planes_of_job(kb));
      bytes_before_.push_back(bytes_before_.back() + packed_bytes(p_, array_, kb, planes_.back()));
    }
    const Job cut{p_, job.blocks, 0, true};
    const JobContents contents{content_of_map(job), content_of_weights(job)};
    for (const Chunk& chunk :
         maker_.chunks(cut, count_of(tiles_), planes_, contents, job.reduction.first, job.reduction.last)) {
      if (chunk.loads_input) load_input(chunk);
      if (chunk.loads_kernels) load_kernels(chunk);
      run(chunk);
      if (chunk.ends_store) store(chunk);
    }
  }

 private:
  // The contents that jobs find in memory: buffer version, address, and the first outputs of the tile (jobs
  // of the same map may be cut differently).
  using Contents = std::map<std::tuple<BufferId, int, std::uint64_t, int, int>, int>;
  static int number_of(Contents& known, const Access* read, std::uint64_t address, const OutputTile& tile) {
    const auto key = read != nullptr
                         ? std::tuple(read->buffer, read->version, address, tile.h.out, tile.w.out)
                         : std::tuple(-1, 0, address, tile.h.out, tile.w.out);
    return known.try_emplace(key, count_of(known)).first->second;
  }
  int content_of_map(const MatrixJob& job) {
    return number_of(maps_, job.ifm_reads.empty() ? nullptr : &job.ifm_reads.back(), job.ifm.address,
                     job.tile);
  }
  int content_of_weights(const MatrixJob& job) {
    return number_of(weights_, job.weights_read ? &*job.weights_read : nullptr, job.weights, {});
  }

  template <class Op>
  void add(const Op& operation, AccessList accesses, const TaskCost& cost, TaskEvent operands_free) {
    Task task;
    task.processor = place_.processor;
    task.instruction.operation = operation;
    task.accesses = std::move(accesses);
    task.cost = cost;
    task.operands_free = operands_free;
    graph_.add(std::move(task));
  }
  static void also(AccessList& accesses, const std::optional<Access>& access) {
    if (access) accesses.push_back(*access);
  }

  Interval planes_of_job(int kernel_block) const {
    const Interval all = planes_of(p_, array_, kernel_block);
    const Interval channels = job_->reduction.channels;
    return {std::max(all.begin, channels.begin / array_.port_channels),
            std::min(all.end, ceil_div(channels.end, array_.port_channels))};
  }
  const OutputTile& tile_of(const Chunk& chunk) const { return nth(tiles_, chunk.tile); }
  Interval channels_loaded(const Chunk& chunk) const {
    if (tiling_.channels_resident) return {0, p_.channels};
    return {chunk.planes.begin * array_.port_channels,
            std::min(p_.channels, chunk.planes.end * array_.port_channels)};
  }
  std::uint16_t narrowed(std::int64_t value, const char* what) const { return narrow(p_, value, what); }
  double clocks(double cycles) const { return std::max(cycles, 1.0); }

  // Cycles in which the banks take a map: all words of a pixel go to one bank, one a cycle, behind a queue.
  double arranging_cycles(const LoadInput& load) const {
    // Words arrive with the beat that brings their last byte; separate pixels each begin a new beat.
    const bool apart = load.pixel_stride != load.channels || load.slice != 0;
    return arranging_.get({load.height, load.width, load.channels, apart, to_int(path_.width), load.slice},
                          [&] { return work_out_arranging(load, apart); });
  }
  double work_out_arranging(const LoadInput& load, bool apart) const {
    const bool aware = config_.arrangement == ArrangementKind::kStrideAware;
    const Arrangement arrangement(array_, load.height, load.width, aware ? load.stride_h : 1,
                                  aware ? load.stride_w : 1);
    WriteQueues queues(config_.rows, config_.arrangement_queue_words);
    std::int64_t byte = 0, beat = -1;
    for_slices(load, [&](int channels) {
      for (int row = 0; row < load.height; ++row) {
        byte = align_up<std::int64_t>(byte, path_.width);
        for (int column = 0; column < load.width; ++column) {
          if (apart) byte = align_up<std::int64_t>(byte, path_.width);
          const int bank = arrangement.place(row, column).bank.value();
          const int word = array_.port_channels;
          for (int at = 0; at < channels;) {
            const std::int64_t last = byte + std::min(word, channels - at) - 1;
            if (last / path_.width != beat) {
              if (beat >= 0) queues.end_beat();
              queues.begin_beat(0);
              beat = last / path_.width;
            }
            // The word that ends in this beat, and the whole words behind it.
            byte = last + 1, at += word;
            const std::int64_t room = ((beat + 1) * path_.width - byte) / word;
            const auto more = to_int(std::min<std::int64_t>(room, std::max(0, channels - at) / word));
            byte += std::int64_t{more} * word, at += more * word;
            queues.add_words(bank, 1 + more);
          }
        }
      }
    });
    if (beat >= 0) queues.end_beat();
    return static_cast<double>(queues.next_beat());
  }

  template <class Function>
  static void for_slices(const LoadInput& load, const Function& function) {
    const int slice = load.slice == 0 ? load.channels : load.slice;
    for (int begin = 0; begin < load.channels; begin += slice)
      function(std::min(slice, load.channels - begin));
  }
  TaskCost cost_of(const LoadInput& load) {
    TaskCost cost, slice;
    int known = 0;  // channels of `slice`
    for_slices(load, [&](int channels) {
      if (channels != known) {
        const Runs runs = merged_runs(channels, load.width, load.pixel_stride, load.height, load.row_stride);
        slice = transfer_cost(runs, load.address), known = channels;
      }
      cost.cycles += slice.cycles, cost.dram_bytes += slice.dram_bytes;
      cost.latency = std::max(cost.latency, slice.latency);
    });
    cost.cycles = std::max(clocks(cost.cycles), arranging_cycles(load));
    return cost;
  }
  // From memories on the chip, where short runs cost little, pixels may come in slices of whole beats.
  TaskCost choose_slice(LoadInput& load) {
    TaskCost best = cost_of(load);
    if (load.address < kDramEnd) return best;
    for (int slice = path_.width; slice < load.channels; slice *= 2) {
      if (slice % array_.port_channels != 0) continue;
      LoadInput sliced = load;
      sliced.slice = narrowed(slice, "slice");
      const TaskCost cost = cost_of(sliced);
      if (cost.cycles < best.cycles) load = sliced, best = cost;
    }
    return best;
  }

  void load_input(const Chunk& chunk) {
    const OutputTile& t = tile_of(chunk);
    const Interval channels = channels_loaded(chunk);
    const int height = t.padding_only() ? 0 : t.h.ins, width = t.padding_only() ? 0 : t.w.ins;
    LoadInput load;
    set_field(load.copy, chunk.copy);
    load.address = job_->ifm.at(t.image, t.h.in, t.w.in) + to_unsigned(channels.begin);
    set_field(load.row_stride, job_->ifm.row_stride);
    set_field(load.pixel_stride, job_->ifm.pixel_stride);
    load.height = narrowed(height, "tile height"), load.width = narrowed(width, "tile width");
    load.channels = narrowed(channels.size(), "channels");
    load.stride_h = narrowed(p_.conv.stride[0], "stride"),
    load.stride_w = narrowed(p_.conv.stride[1], "stride");
    set_field(load.fill, p_.input.zero_point);
    read_.maps += std::int64_t{height} * width * channels.size();
    auto& filling = nth(input_, chunk.copy);
    filling = inputs_.next();
    AccessList accesses{filling.write()};
    accesses.append(job_->ifm_reads);
    const TaskCost cost = choose_slice(load);
    add(load, std::move(accesses), cost, TaskEvent::kDone);
  }

  // The index of a block among the job's blocks.
  std::size_t in_job(int block) const { return to_size(block - job_->blocks.begin); }
  // Channel blocks between neighbouring kernel blocks of the chunk.
  int plane_step(const Chunk& chunk) const {
    if (chunk.blocks.size() == 1) return 0;
    return planes_[in_job(chunk.blocks.begin + 1)].begin - chunk.planes.begin;
  }
  std::uint32_t parameter_word(const Chunk& chunk) const {
    return static_cast<std::uint32_t>(chunk.slot * tiling_.blocks_per_chunk * slot_words_);
  }
  // Whether the records that come with a chunk's kernels wait for the lanes that use their slot.
  bool held_records(const Chunk& chunk) const {
    return config_.records == RecordsKind::kHeld && chunk.loads_kernels && job_->post != 0 && chunk.last;
  }
  std::uint8_t post_slot(const Chunk& chunk) const {
    return static_cast<std::uint8_t>(chunk.slot * tiling_.blocks_per_chunk);
  }

  // Brings the image of the job's kernels, unless the channel has it.
  void load_image() {
    const int content = content_of_weights(*job_);
    if (image_ == content) return;
    image_ = content;
    LoadImage load;
    load.address = job_->image;
    set_field(load.front_bytes, job_->image_front), set_field(load.bytes, job_->image_bytes);
    decoder_ = decoders_.next();
    AccessList accesses{decoder_.write()};
    also(accesses, job_->weights_read);
    add(load, std::move(accesses), transfer_cost({job_->image_front, 1}, load.address), TaskEvent::kDone);
  }

  void load_kernels(const Chunk& chunk) {
    const std::size_t block = in_job(chunk.blocks.begin);
    const int blocks = chunk.blocks.size();
    LoadKernels load = kernel_load(p_, array_, chunk.blocks.begin, chunk.planes);
    load.address = job_->weights + to_unsigned(bytes_before_[block] +
                                               packed_bytes(p_, array_, chunk.blocks.begin,
                                                            {planes_[block].begin, chunk.planes.begin}));
    load.words *= static_cast<std::uint32_t>(blocks);
    if (load.group_channels > 0)
      load.block_channels = narrowed(std::int64_t{plane_step(chunk)} * array_.port_channels, "channels");
    load.parameter_word = parameter_word(chunk);
    load.slot = post_slot(chunk);
    if (job_->post != 0 && chunk.last) {
      load.post_records = narrowed(p_.kernels_of(chunk.blocks), "kernels");
      load.post_address = job_->post + block * to_unsigned(array_.columns * kPostParameterBytes);
    }
    std::int64_t bytes = blocks * packed_bytes(p_, array_, chunk.blocks.begin, chunk.planes);
    if (job_->image != 0) {
      load_image();
      load.packed = true, bytes = ceil_div<std::int64_t>(bytes, 2);
    }
    double decoder_cycles = 0;
    if (job_->stream_of != nullptr) {
      const PlacedStream stream = (*job_->stream_of)(load.address, bytes);
      decoder_cycles = static_cast<double>(bytes) / decoded_per_clock(config_);
      load.address = stream.address, bytes = stream.bytes;
      set_field(load.stream_bytes, bytes);
    }
    read_.kernels += bytes + std::int64_t{load.post_records} * kPostParameterBytes;
    auto& filling = nth(parameter_, chunk.slot);
    filling = parameters_.next();
    AccessList accesses{filling.write()};
    also(accesses, job_->weights_read);
    if (job_->image != 0) accesses.push_back(decoder_.read());
    TaskCost cost = transfer_cost({bytes, 1}, load.address);
    cost.cycles = std::max(cost.cycles, decoder_cycles);
    const double word_cycles = cost.cycles;
    if (load.post_records > 0) {
      const TaskCost post =
          transfer_cost({std::int64_t{load.post_records} * kPostParameterBytes, 1}, load.address);
      cost.cycles += post.cycles, cost.dram_bytes += post.dram_bytes;
    }
    // Every bank writes one word a cycle. Records follow when all words are in the queues of the banks.
    const auto words = static_cast<double>(load.words);
    const double queued = std::max(word_cycles, words - config_.arrangement_queue_words);
    cost.cycles = std::max({cost.cycles, words, queued + load.post_records});
    if (held_records(chunk) && filling.version > 0) {
      const auto held = static_cast<double>(drain_cycles(config_) + load.post_records);
      cost.latency = std::max(cost.latency, held - cost.cycles);
    }
    add(load, std::move(accesses), cost, TaskEvent::kDone);
  }

  void run(const Chunk& chunk) {
    const OutputTile& t = tile_of(chunk);
    ConvRun r;
    set_field(r.copy, chunk.copy);
    r.first = chunk.first, r.last = chunk.last;
    r.rows = narrowed(t.h.outs, "tile rows"), r.columns = narrowed(t.w.outs, "tile columns");
    r.height = narrowed(t.padding_only() ? 0 : t.h.ins, "tile height");
    r.width = narrowed(t.padding_only() ? 0 : t.w.ins, "tile width");
    r.h_offset = narrow_offset(p_, t.h.offset), r.w_offset = narrow_offset(p_, t.w.offset);
    r.first_plane = narrowed(tiling_.channels_resident ? chunk.planes.begin : 0, "channel block");
    r.planes = narrowed(chunk.planes.size(), "channel blocks");
    const int first = chunk.blocks.begin;
    r.kernels = narrowed(p_.kernels_of({first, first + 1}), "kernels");
    r.blocks = narrowed(chunk.blocks.size(), "kernel blocks");
    r.plane_step = narrowed(plane_step(chunk), "channel blocks");
    r.slot = post_slot(chunk);
    r.parameter_word = parameter_word(chunk);
    if (chunk.begins_store) output_ = outputs_.next();
    set_field(r.output_base, half_base() + std::int64_t{first - chunk.first_stored_block} * array_.columns *
                                               p_.element_bytes());
    set_field(r.output_stride, stored_bytes(chunk));
    set_field(r.macs_per_pixel, macs_per_pixel(p_, array_, first, chunk.planes));
    set_quotients(config_, setup_, r);
    AccessList accesses{nth(input_, chunk.copy).read(), nth(parameter_, chunk.slot).read()};
    if (chunk.last) accesses.push_back(output_.write());
    add(r, std::move(accesses), run_cost(chunk, r), TaskEvent::kReleased);
  }

  std::int64_t operation_cycles(const ConvRun& r) const {
    return std::int64_t{ceil_div<int>(r.rows, array_.groups)} * ceil_div<int>(r.columns, array_.lanes());
  }
  TaskCost run_cost(const Chunk& chunk, const ConvRun& r) const {
    const auto cycles = static_cast<double>(operation_cycles(r));
    const auto drain = static_cast<double>(drain_cycles(config_));
    TaskCost cost;
    cost.beats = operation_cycles(r) * r.planes * p_.taps() * r.blocks;
    double beats = static_cast<double>(cost.beats) / r.blocks;
    if (config_.arrangement == ArrangementKind::kTable1 && p_.conv.stride[0] * p_.conv.stride[1] > 1)
      beats = static_cast<double>(r.planes) * conflicted_clocks(r);
    const double fill = 2 + fill_cycles(config_);
    cost.cycles = r.blocks * (fill + (r.last ? std::max(beats, cycles * drain) : beats));
    // All lanes have drained when the records of the only slot are there.
    if (held_records(chunk) && parameters_.count() == 1 && r.blocks == 1)
      cost.cycles = fill + std::max(beats, (cycles - 1) * drain + beats / cycles);
    cost.latency = r.last ? drain + config_.post_latency_cycles + fill : fill;
    return cost;
  }
  // Cycles of one channel block, bank conflicts included.
  double conflicted_clocks(const ConvRun& r) const {
    const ChunkGeometry geometry{r.rows,
                                 r.columns,
                                 r.height,
                                 r.width,
                                 r.h_offset,
                                 r.w_offset,
                                 p_.conv.kernel[0],
                                 p_.conv.kernel[1],
                                 p_.conv.stride[0],
                                 p_.conv.stride[1],
                                 p_.conv.dilation[0],
                                 p_.conv.dilation[1],
                                 1};
    if (!census_ || !(census_->first == geometry)) {
      const BankCensus census =
          take_census(SwitchSchedule(array_, geometry), Arrangement(array_, r.height, r.width, 1, 1));
      double sum = 0;
      for (const int clocks : census.cycle_clocks) sum += clocks;
      census_ = std::pair(geometry, sum);
    }
    return census_->second;
  }

  void store(const Chunk& chunk) {
    const OutputTile& t = tile_of(chunk);
    StoreOutput s;
    const std::int64_t channel = std::int64_t{chunk.first_stored_block - job_->blocks.begin} * array_.columns;
    s.address = job_->ofm.at(t.image, t.h.out, t.w.out) + to_unsigned(channel * p_.element_bytes());
    set_field(s.pixel_stride, job_->ofm.pixel_stride);
    set_field(s.row_stride, job_->ofm.row_stride);
    set_field(s.source, half_base());
    set_field(s.pixel_bytes, stored_bytes(chunk));
    s.rows = narrowed(t.h.outs, "tile rows"), s.columns = narrowed(t.w.outs, "tile columns");
    AccessList accesses{output_.read()};
    also(accesses, job_->ofm_write);
    const Runs runs = merged_runs(s.pixel_bytes, s.columns, s.pixel_stride, s.rows, s.row_stride);
    TaskCost cost = transfer_cost(runs, s.address);
    cost.latency += burst_beats(runs, path_);  // a burst is collected before it is written
    add(s, std::move(accesses), cost, TaskEvent::kReleased);
  }

  TaskCost transfer_cost(const Runs& runs, std::uint64_t address) const {
    TaskCost cost;
    cost.cycles = clocks(runs.run == 0 ? 0 : port_cycles(runs, path_));
    cost.latency = round_trip(runs, path_);
    if (address < kDramEnd) cost.dram_bytes = bus_bytes(runs, path_, address);
    return cost;
  }
  std::int64_t half_base() const { return output_.place * (config_.output_buffer_bytes / 2); }
  std::int64_t stored_bytes(const Chunk& chunk) const {
    return std::int64_t{
               p_.kernels_of({chunk.first_stored_block, chunk.first_stored_block + chunk.stored_blocks})} *
           p_.element_bytes();
  }

  TaskGraph& graph_;
  EnginePlace place_;
  const Problem& p_;
  const Tiling& tiling_;
  const SwitchArrayConfig& config_;
  PortPath path_;
  const ArrangingCycles& arranging_;
  ConvSetup setup_;
  ArrayShape array_;
  int slot_words_;
  ChunkMaker maker_;
  BufferRing inputs_, parameters_, outputs_, decoders_;
  std::vector<BufferRing::Filling> input_, parameter_;  // by copy, by slot
  BufferRing::Filling output_, decoder_;
  ReadBytes read_;
  Contents maps_, weights_;
  std::optional<int> image_;                                        // the content whose image the channel has
  mutable std::optional<std::pair<ChunkGeometry, double>> census_;  // of the most recent geometry
  // State of the current job.
  const MatrixJob* job_ = nullptr;
  std::vector<OutputTile> tiles_;
  std::vector<Interval> planes_;            // by kernel block
  std::vector<std::int64_t> bytes_before_;  // by kernel block: bytes of the job's blocks before it
};

}  // namespace

std::unique_ptr<MatrixLowering> make_lowering(TaskGraph& graph, const EnginePlace& place,
                                              const Problem& problem, const Tiling& tiling,
                                              const HardwareConfig& hardware, const PortPath& path,
                                              const ArrangingCycles& arranging) {
  return std::make_unique<Lowering>(graph, place, problem, tiling, hardware, path, arranging);
}

}  // namespace tilebeat::switch_array
