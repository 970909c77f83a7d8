#include "engines/switch_array/kernel_words.h"
#include "engines/switch_array/operations.h"
#include "engines/switch_array/sim/array_messages.h"
#include "engines/switch_array/sim/dma_channels.h"
#include "tilebeat/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace tilebeat::switch_array {
namespace {

std::int64_t bytes_of(const LoadKernels& kernels, const SwitchArrayConfig& array) {
  return KernelWords(kernels, array.columns, array.port_channels).bytes();
}

// The blocks of an instruction, without packed kernels.
std::deque<StridedBlock> blocks_of(const Instruction& instruction, const SwitchArrayConfig& array) {
  std::deque<StridedBlock> blocks;
  if (const auto* load = instruction.operation.get_if<LoadInput>()) {
    const int slice = load->slice == 0 ? load->channels : load->slice;
    for (int begin = 0; begin < load->channels; begin += slice) {
      blocks.push_back({load->address + to_unsigned(begin), std::min(slice, load->channels - begin),
                        load->width, load->pixel_stride, load->height, load->row_stride});
    }
  } else if (const auto* image = instruction.operation.get_if<LoadImage>()) {
    blocks.push_back({image->address, image->front_bytes});
  } else if (const auto* kernels = instruction.operation.get_if<LoadKernels>()) {
    if (!kernels->packed)
      blocks.push_back(
          {kernels->address, kernels->stream_bytes > 0 ? kernels->stream_bytes : bytes_of(*kernels, array)});
    blocks.push_back({kernels->post_address, std::int64_t{kernels->post_records} * kPostParameterBytes});
  }
  blocks.erase(std::remove_if(blocks.begin(), blocks.end(),
                              [](const StridedBlock& b) { return b.total_bytes() == 0; }),
               blocks.end());
  return blocks;
}

}  // namespace

ReadChannel::ReadChannel(sc_core::sc_module_name name, const SimContext& context, const DmaConfig& config,
                         const SwitchArrayConfig& array, Unit unit, int bytes_per_clock)
    : CommandedUnit(name, context, unit),
      port("port", context, config.max_outstanding, wake_),
      stream("stream"),
      config_(config),
      array_(array),
      bytes_per_clock_(bytes_per_clock),
      landing_fill_(context, *this, {"", "landing buffer", "bytes", CounterInfo::Kind::kLevel}) {
  SC_METHOD(step);
  sensitive << wake_;
  dont_initialize();
  if (Trace* trace = context_.trace(); trace != nullptr) {
    busy_signal_ = trace->add_signal(this->name(), "streaming", 1);
    landing_signal_ = trace->add_signal(this->name(), "landing_bytes", 32, Radix::kDecimal);
  }
}

void ReadChannel::take(const Instruction& instruction, Cycle) {
  if (const auto* image = instruction.operation.get_if<LoadImage>()) {
    KernelDecoder::check(*image);
    image_ = *image;
  }
  const auto* kernels = instruction.operation.get_if<LoadKernels>();
  if (kernels != nullptr && kernels->stream_bytes > 0 && stream_bytes_per_clock == 0)
    throw SimulationError("load.kernels: the channel has no decoder of weight streams");
  commands_.push_back(instruction);
}

Footprint ReadChannel::footprint(const Instruction& instruction) const {
  Footprint made;
  for (const StridedBlock& block : blocks_of(instruction, array_)) add(block, made.chip.reads);
  if (const auto* load = instruction.operation.get_if<LoadInput>()) {
    made.buffers[kInputBanks].writes.add(words_of(*load, array_));
  } else if (const auto* kernels = instruction.operation.get_if<LoadKernels>()) {
    made.buffers[kParameterBuffer].writes.add(words_of(*kernels));
    made.buffers[kPostRecords].writes.add(records_of(*kernels, array_));
    if (kernels->packed) add(StridedBlock{image_.address, image_.bytes}, made.chip.reads);
  }
  return made;
}

void ReadChannel::step() {
  if (gate_.hold(context_.jitter)) return;
  const Cycle now = context_.clock.cycle_of(now_ps());
  if (now >= stream_free_) {
    landing_used_ -= landing_freed_;
    landing_freed_ = 0;
  }
  complete(now);
  deliver(now);
  request(now);
  account(now);
  schedule(now);
}

void ReadChannel::complete(Cycle now) {
  while (!completions_.empty() && completions_.front().at <= now) {
    tell(UnitMessage::Kind::kDone, completions_.front().signals);
    completions_.pop_front();
  }
}

void ReadChannel::deliver(Cycle now) {
  while (!order_.empty() && now >= stream_free_) {
    const Delivery next = order_.front();
    if (next.bytes > 0 && !port.front_ready(now)) return;
    order_.pop_front();
    const auto* image = streaming_.front().operation.get_if<LoadImage>();
    if (next.first) {
      stream_begin_ = now;
      streamed_before_ = bytes;
      if (image != nullptr)
        decoder.begin(*image);
      else
        stream.send({StreamMessage::Begin{streaming_.front()}});
      if (next.of_stream)
        decoder.begin_stream(bytes_of(streaming_.front().operation.get<LoadKernels>(), array_));
    }
    Cycle written = now;
    if (next.bytes > 0) written = image != nullptr ? take_image(next, now) : pass_on(next, now);
    if (next.last) {
      show_work(context_, *this, streaming_.front(), stream_begin_, std::max(written, now + 1),
                {bytes - streamed_before_});
      completions_.push_back({std::max(written, now + 1), streaming_.front().done_signals});
      streaming_.pop_front();
    }
  }
}

// The decoder takes bytes of an image, a beat a cycle. Returns the cycle after the last one.
Cycle ReadChannel::take_image(const Delivery& next, Cycle now) {
  std::vector<std::uint8_t> data = port.take_front();
  data_ledger.explain(port.trail(), now);
  decoder.take(data.data(), next.bytes);
  port.recycle(std::move(data));
  StreamMessage::Answer taken;
  taken.accepted = now + ceil_div(next.bytes, bytes_per_clock_);
  end_burst(next, taken, now);
  return taken.accepted;
}

// Streams a burst into the sink. Returns the cycle in which it has been written.
Cycle ReadChannel::pass_on(const Delivery& next, Cycle now) {
  std::vector<std::uint8_t> data = port.take_front();
  data_ledger.explain(port.trail(), now);
  const std::uint8_t* streamed = data.data();
  int count = next.bytes;
  if (next.decoded) {
    const std::vector<std::uint8_t>& weights = decoder.decode(*next.decoded, data.data());
    streamed = weights.data(), count = count_of(weights);
    decoded += count;
  }
  StreamMessage::Data made{streamed, count, port.trail()};
  if (next.of_stream) {
    const std::vector<std::uint8_t>& weights = decoder.decode_stream(data.data(), count, next.ends_stream);
    made.bytes = weights.data(), made.count = count_of(weights);
    made.bytes_per_clock = decoded_per_clock(array_);
    made.clocks = ceil_div(count, stream_bytes_per_clock);
    decoded += made.count;
  }
  StreamMessage message{made};
  stretches_.clear();
  std::swap(message.answer.stretches, stretches_);
  stream.send(message);
  StreamMessage::Answer& taken = message.answer;
  port.recycle(std::move(data));
  end_burst(next, taken, now);
  std::swap(message.answer.stretches, stretches_);
  return taken.written;
}

// Books the beats of a burst, whose place in the landing buffer is free behind them.
void ReadChannel::end_burst(const Delivery& next, const StreamMessage::Answer& taken, Cycle now) {
  bytes += next.bytes;
  book_beats(taken, now);
  stream_free_ = taken.accepted;
  landing_freed_ += next.bytes;
}

// Books the cycles of a burst's beats as the sink does, each beat behind its own wait for a queue.
void ReadChannel::book_beats(const StreamMessage::Answer& taken, Cycle now) {
  Trace* const trace = context_.trace();
  data_ledger.enter(Activity::kBusy, now);
  data_ledger.spend(Activity::kDecode, taken.decoding);
  Cycle at = now + taken.decoding;
  const auto book = [&](Cycle blocked, Cycle beats) {
    data_ledger.spend(Activity::kBankWrite, blocked);
    data_ledger.spend(Activity::kBusy, beats);
    at += blocked + beats;
    if (trace == nullptr) return;
    trace->change(busy_signal_, context_.clock.at(at - beats), 1);
    trace->change(busy_signal_, context_.clock.at(at), 0);
  };
  for (const auto& stretch : taken.stretches) book(stretch.blocked, stretch.beats);
  if (taken.stretches.empty()) book(taken.blocked, taken.accepted - at - taken.blocked);
}

// Makes the cutter point at the next burst to request; false when there is none.
bool ReadChannel::next_burst() {
  if (!cutter_.empty()) return true;
  if (requesting_ && !blocks_.empty()) {
    cutter_.emplace_back(blocks_.front(), config_.burst_bytes);
    blocks_.pop_front();
    is_coded_ = coded_ > 0;
    if (is_coded_) --coded_;
    return true;
  }
  return false;
}

// Finds the blocks of the front command; false while the image of its kernels has not arrived.
bool ReadChannel::begin_command() {
  const Instruction& front = commands_.front();
  blocks_ = blocks_of(front, array_);
  if (front.operation.is<LoadImage>()) decoder.requested();
  const auto* kernels = front.operation.get_if<LoadKernels>();
  if (kernels != nullptr && kernels->stream_bytes > 0) coded_ = 1;
  if (kernels == nullptr || !kernels->packed) return true;
  if (!decoder.is_ready()) return false;
  const std::deque<StridedBlock> codes = decoder.find(kernels->address, bytes_of(*kernels, array_));
  blocks_.insert(blocks_.begin(), codes.begin(), codes.end());
  coded_ = count_of(codes);
  return true;
}

void ReadChannel::request(Cycle now) {
  while (!requesting_ && !commands_.empty()) {
    coded_ = 0;
    if (!begin_command()) {
      blocks_.clear();
      port.ledger.enter(Activity::kMemory, now);
      return;
    }
    streaming_.push_back(commands_.front());
    requesting_ = first_burst_ = true;
    if (!blocks_.empty()) break;
    order_.push_back({0, true, true});  // nothing to fetch: the sink still hears of it, in order
    tell(UnitMessage::Kind::kReleased, commands_.front().release_signals);
    commands_.pop_front();
    requesting_ = false;
  }
  if (!next_burst()) {
    port.ledger.enter(blocker_, now);
    return;
  }
  BurstCutter& cutter = cutter_.front();
  const int burst_bytes = cutter.bytes();
  if (!port.granted(now)) {
    port.ledger.enter(port.waits_for(), now);
  } else if (landing_used_ + burst_bytes > config_.buffer_bytes) {
    port.ledger.enter(Activity::kLanding, now);
  } else if (!port.has_room()) {
    port.ledger.enter(Activity::kOutstanding, now);
  } else {
    const std::uint64_t address = cutter.address();
    cutter.advance();
    if (cutter.done()) cutter_.clear();
    const bool last = cutter_.empty() && blocks_.empty();
    landing_used_ += burst_bytes;
    Delivery& made = order_.emplace_back(Delivery{burst_bytes, first_burst_, last});
    const auto* kernels = commands_.front().operation.get_if<LoadKernels>();
    if (is_coded_ && !kernels->packed)
      made.of_stream = true, made.ends_stream = cutter_.empty();
    else if (is_coded_)
      made.decoded = decoder.range_of(address, burst_bytes);
    first_burst_ = false;
    port.issue(tlm::TLM_READ_COMMAND, address, burst_bytes, port.buffer(burst_bytes), now);
    if (last) {
      tell(UnitMessage::Kind::kReleased, commands_.front().release_signals);
      commands_.pop_front();
      requesting_ = false;
    }
  }
}

void ReadChannel::account(Cycle now) {
  landing_fill_.level(now, landing_used_);
  if (Trace* trace = context_.trace(); trace != nullptr) {
    trace->change(landing_signal_, context_.clock.at(now), to_unsigned(landing_used_));
  }
  if (now < stream_free_) return;
  const bool idle = order_.empty() && !requesting_ && commands_.empty();
  const Activity waiting = idle ? blocker_ : Activity::kMemory;
  if (data_ledger.current() == waiting) return;
  data_ledger.enter(waiting, now);
  stream.send({WaitsFor{waiting}});  // the sink waits for the same
}

void ReadChannel::schedule(Cycle now) {
  NextClock next(now);
  if (now < stream_free_) next.at(stream_free_);
  if (!completions_.empty()) next.at(completions_.front().at);
  if (port.ledger.current() == Activity::kBusy) next.at(now + 1);
  // An instruction without bytes has no burst that would wake the channel.
  if (!order_.empty() && order_.front().bytes == 0) next.at(now + 1);
  wake_at(next);
}

}  // namespace tilebeat::switch_array
