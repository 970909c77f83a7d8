#include "planner/layer/packed_kernels.h"

#include "base/types.h"
#include "workload/weights.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr int kNoGroup = 0;               // a weight of 0 that belongs to no group
constexpr int kMostOfImage = UINT16_MAX;  // in the fields of two bytes

// Groups of the weights of a block, and the frames that fit them.
class Frames {
 public:
  explicit Frames(const std::vector<int>& groups) : groups_(groups), size_(ssize(groups)) {}

  // Frames that may fit: runs as long as the first one and the last run of a kernel, shorter; the first runs
  // again and again; and as many weights as divide every run.
  std::vector<ImageFrames> candidates() const {
    std::vector<ImageFrames> found;
    const std::vector<std::int64_t> runs = run_lengths();
    const std::int64_t first = runs.front();
    ImageFrames one;
    one.run = to_int(std::min<std::int64_t>(first, kMostOfImage));
    found.push_back(repeated(one));
    ImageFrames with_tail = one;
    for (std::size_t i = 1; i < runs.size() && with_tail.scales < kMostOfImage; ++i) {
      ++with_tail.scales;
      if (runs[i] == first) continue;
      with_tail.tail = to_int(runs[i]);
      if (runs[i] < first) found.push_back(with_tail);
      break;
    }
    ImageFrames divisor;
    const std::int64_t common =
        std::accumulate(runs.begin(), runs.end(), std::int64_t{0},
                        [](std::int64_t x, std::int64_t y) { return std::gcd(x, y); });
    divisor.run = to_int(std::gcd(common, std::int64_t{1} << 15));
    found.push_back(divisor);
    found.push_back(repeated(divisor));
    return found;
  }

  // The scales of a period for which frames like `form` fit; 0: there are none. A block of fewer kernels has
  // fewer scales a period.
  int scales_that_fit(ImageFrames form) const {
    if (fit(form)) return form.scales;
    for (const ImageFrames& own : candidates()) {
      form.scales = own.scales;
      if (own.run == form.run && own.periods == form.periods && own.tail == form.tail && fit(form))
        return form.scales;
    }
    return 0;
  }

  // Whether all weights of every scale belong to one group.
  bool fit(const ImageFrames& form) const {
    std::vector<int> of_scale(to_size(form.scales_of(size_)), kNoGroup);
    for (std::int64_t i = 0; i < size_; ++i) {
      const int group = nth(groups_, i);
      int& known = nth(of_scale, form.scale_of(i));
      if (group == kNoGroup || group == known) continue;
      if (known != kNoGroup) return false;
      known = group;
    }
    return true;
  }

 private:
  std::vector<std::int64_t> run_lengths() const {
    std::vector<std::int64_t> runs;
    for (std::int64_t begin = 0, at = 0; begin < size_; begin = at) {
      int group = kNoGroup;
      for (; at < size_; ++at) {
        const int next = nth(groups_, at);
        if (next != kNoGroup && group != kNoGroup && next != group) break;
        if (next != kNoGroup) group = next;
      }
      runs.push_back(at - begin);
    }
    return runs;
  }
  // Runs up to the one that has the first group again make a period.
  ImageFrames repeated(ImageFrames form) const {
    std::int64_t next = form.run;
    while (next < size_ && nth(groups_, next) != groups_.front()) next += form.run;
    const std::int64_t scales = next / form.run;
    if (next >= size_ || scales > kMostOfImage) return form;
    form.scales = to_int(scales);
    form.periods = 0;
    for (std::int64_t at = 0; at < size_ && form.periods < kMostOfImage;
         at += form.period(), ++form.periods) {
      if (nth(groups_, at) != groups_.front()) break;
    }
    return form;
  }

  const std::vector<int>& groups_;
  std::int64_t size_;
};

// Writes an image from the decoded bytes of a region and their codes and scales.
class ImageWriter {
 public:
  using Bytes = std::vector<std::uint8_t>;
  ImageWriter(const WeightImage& image, const DecodedWeights& decoded) : image_(image), decoded_(decoded) {}

  // Appends the image of `bytes` to `to`.
  void add(const std::uint8_t* bytes, const std::uint8_t* codes, const std::uint8_t* scales, Bytes& to) {
    const std::size_t begin = to.size();
    to.resize(begin + to_size(image_.bytes()));
    std::uint8_t* const at = to.data() + begin;
    const auto header = image_.encoded();
    std::copy(header.begin(), header.end(), at);
    find_scales(codes, scales);
    std::uint8_t* const of_scales = at + kImageHeaderBytes;
    std::copy(scales_.begin(), scales_.end(), of_scales);
    for (std::size_t i = 0; image_.zero_points && i < zeros_.size(); ++i)
      put_half(of_scales + image_.all_scales(), to_signed(i), zeros_[i]);
    image_.for_parts(0, image_.decoded_bytes(), [&](const WeightImage::Part& part) {
      const std::int64_t first = part.block * image_.block_bytes();
      if (part.is_plain)
        std::copy_n(bytes + first + part.from, part.to - part.from, at + part.begin);
      else
        put_codes(part, first, bytes, codes, scales, at + part.begin);
    });
  }

 private:
  static bool is_any(std::uint8_t code, std::uint8_t scale) { return code == 0 && scale == 0; }
  static void put_half(std::uint8_t* bytes, std::int64_t number, int value) {
    bytes[number / 2] = static_cast<std::uint8_t>(bytes[number / 2] | value << (4 * (number % 2)));
  }
  void find_scales(const std::uint8_t* codes, const std::uint8_t* scales) {
    scales_.assign(to_size(image_.all_scales()), 0);
    zeros_.assign(scales_.size(), static_cast<std::uint8_t>(default_zero_point(image_.is_signed)));
    image_.for_parts(0, image_.decoded_bytes(), [&](const WeightImage::Part& part) {
      const std::int64_t first = part.block * image_.block_bytes();
      const std::int64_t first_scale = part.block * image_.block_scales();
      const ImageFrames frames = image_.frames_of(part.block);
      for (std::int64_t i = part.from; i < part.to && !part.is_plain; ++i) {
        const std::uint8_t code = codes[first + i], scale = scales[first + i];
        if (is_any(code, scale)) continue;
        const std::int64_t number = first_scale + frames.scale_of(i);
        nth(scales_, number) = scale, nth(zeros_, number) = code >> 4;
      }
    });
  }
  void put_codes(const WeightImage::Part& part, std::int64_t first, const std::uint8_t* bytes,
                 const std::uint8_t* codes, const std::uint8_t* scales, std::uint8_t* to) const {
    const std::int64_t first_scale = part.block * image_.block_scales();
    const ImageFrames frames = image_.frames_of(part.block);
    for (std::int64_t i = part.from; i < part.to; ++i) {
      const std::uint8_t code = codes[first + i], scale = scales[first + i];
      const std::int64_t number = first_scale + frames.scale_of(i);
      const int half = is_any(code, scale) ? nth(zeros_, number) : code & 15;
      const auto made = to_size(nth(scales_, number) << 8 | nth(zeros_, number) << 4 | half);
      if (decoded_[made] != bytes[first + i])
        throw std::logic_error(fmt::format("image of weights: byte {} is no weight of its scale", first + i));
      put_half(to, i, half);
    }
  }

  const WeightImage& image_;
  const DecodedWeights& decoded_;
  Bytes scales_, zeros_;
};

constexpr std::uint64_t kRecords = std::uint64_t{1} << 45;  // a place of post-parameters in DRAM
constexpr std::int64_t kRegion = std::int64_t{1} << 40;     // bytes from one region to the next

}  // namespace

std::vector<std::vector<std::uint8_t>> BlockBytes::of(const Transfer& transfer) {
  std::vector<std::vector<std::uint8_t>> made(tensors_.size());
  const CopyShape& s = transfer.shape;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t column = 0; column < s.columns; ++column)
      add(to_signed(transfer.source - place_.blocks.front()) + row * s.source_row + column * s.source_column,
          s.run, made);
  }
  return made;
}

// Appends `count` bytes from byte `at` of the kernels on.
void BlockBytes::add(std::int64_t at, std::int64_t count, std::vector<std::vector<std::uint8_t>>& made) {
  const std::vector<std::uint64_t>& begins = place_.layout.blocks;
  while (count > 0) {
    const auto next = std::upper_bound(begins.begin(), begins.end(), to_unsigned(at));
    const auto begin = to_signed(*(next - 1));
    pack(to_size(next - begins.begin() - 1));
    const std::int64_t from = at - begin, some = std::min(count, ssize(held_.front()) - from);
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i].insert(made[i].end(), held_[i].begin() + from, held_[i].begin() + from + some);
    at += some, count -= some;
  }
}

void BlockBytes::pack(std::size_t number) {
  if (!held_.empty() && number_ == number) return;
  const auto blocks = to_size(layer_.problem().kernel_blocks());
  held_.clear(), number_ = number;
  for (const Tensor* tensor : tensors_)
    held_.push_back(layer_.pack_block(*tensor, to_int(number / blocks), to_int(number % blocks)));
}

std::shared_ptr<const PackedKernels> PackedKernels::of(const std::shared_ptr<const MatrixLayer>& layer,
                                                       const WeightPlace& weights,
                                                       const HardwareConfig& hardware) {
  const Problem& p = layer->problem();
  if (!hardware.chip || hardware.chip->decompress != Decompress::kRead || p.weights.four_bits() == nullptr ||
      p.kernel_tensor || p.conv.groups > 1 || p.sets > 1 || p.of_halves || weights.layout.region_groups > 1 ||
      !layer->reads_images())
    return nullptr;
  return std::make_shared<PackedKernels>(layer, weights, hardware.chip->core.weight_scales);
}

PackedKernels::PackedKernels(std::shared_ptr<const MatrixLayer> layer, WeightPlace place,
                             std::int64_t most_scales)
    : layer_(std::move(layer)), place_(std::move(place)), most_scales_(most_scales) {
  if (place_.post != 0) place_.post = kRecords;
  if (place_.layout.regions > 1) place_.region_bytes = kRegion;
}

bool PackedKernels::has_short_block() const {
  const Problem& p = layer_->problem();
  return p.conv.out_channels % p.block_kernels != 0;
}

PackedKernels::Decoded PackedKernels::decoded(const KernelGroup& group,
                                              const std::vector<const Tensor*>& tensors) const {
  const std::int64_t regions = place_.layout.regions, stride = regions > 1 ? place_.region_bytes : 0;
  Decoded made;
  made.region_bytes = group_extent(*layer_, place_, group);
  made.parts.assign(tensors.size(), std::vector<std::uint8_t>(to_size(made.region_bytes * regions)));
  made.plain.assign(made.parts.front().size(), false);
  // Calls `put(place, first of the transfer's bytes, their number)` for each of its runs.
  const auto each_run = [&](const Transfer& transfer, const auto& put) {
    const CopyShape& s = transfer.shape;
    std::int64_t from = 0;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for (std::int64_t column = 0; column < s.columns; ++column, from += s.run) {
        const std::int64_t to =
            to_signed(transfer.destination) + row * s.destination_row + column * s.destination_column;
        const std::int64_t region = stride > 0 ? to / stride : 0;
        put(region * made.region_bytes + to - region * stride, from, s.run);
      }
    }
  };
  BlockBytes blocks(*layer_, place_, tensors);
  const std::vector<Transfer> kernels = kernel_transfers(*layer_, place_, group, 0);
  for (const Transfer& transfer : kernels) {
    const std::vector<std::vector<std::uint8_t>> read = blocks.of(transfer);
    each_run(transfer, [&](std::int64_t place, std::int64_t from, std::int64_t count) {
      for (std::size_t i = 0; i < read.size(); ++i)
        std::copy_n(read[i].begin() + from, count, made.parts[i].begin() + place);
    });
  }
  if (place_.layout.post_place != PostPlace::kInRegions || place_.post == 0) return made;
  const std::vector<std::uint8_t> records = layer_->pack_post_parameters();
  const std::vector<Transfer> all = weight_transfers(*layer_, place_, group, 0);
  for (std::size_t t = kernels.size(); t < all.size(); ++t) {
    const CopyShape& s = all[t].shape;
    std::vector<std::uint8_t> read;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for (std::int64_t column = 0; column < s.columns; ++column) {
        const auto at = records.begin() + to_signed(all[t].source - kRecords) + row * s.source_row +
                        column * s.source_column;
        read.insert(read.end(), at, at + s.run);
      }
    }
    each_run(all[t], [&](std::int64_t place, std::int64_t from, std::int64_t count) {
      std::copy_n(read.begin() + from, count, made.parts[0].begin() + place);
      std::fill_n(made.plain.begin() + place, count, true);
    });
  }
  return made;
}

PackedKernels::Pattern PackedKernels::pattern_of(const KernelGroup& group, int block) const {
  KernelGroup of_block = group;
  of_block.blocks = {block, block + 1};
  const std::array<Tensor, 3> groups = layer_->problem().weights.groups();
  const Decoded made = decoded(of_block, {&groups[0], &groups[1], &groups[2]});
  const auto end = made.plain.begin() + made.region_bytes;
  const auto weights = std::find(made.plain.begin(), end, true) - made.plain.begin();
  Pattern pattern;
  pattern.plain = to_int(made.region_bytes - weights);
  for (std::int64_t i = 0; i < weights; ++i)
    pattern.groups.push_back(nth(made.parts[0], i) | nth(made.parts[1], i) << 8 |
                             nth(made.parts[2], i) << 16);
  return pattern;
}

// The form of the frames, and the sizes of a block of all kernels and of the last block.
std::optional<WeightImage> PackedKernels::form_of(const KernelGroup& group, bool has_whole,
                                                  bool has_last) const {
  const Problem& p = layer_->problem();
  const FourBits& form = *p.weights.four_bits();
  std::vector<Pattern> patterns;
  if (has_whole) patterns.push_back(pattern_of(group, 0));
  if (has_last) patterns.push_back(pattern_of(group, p.kernel_blocks() - 1));
  const Pattern &block = patterns.front(), &last = patterns.back();
  // The kernels of a transposed convolution are parts of its own, each of other groups. Others are alike.
  std::vector<Pattern> others;
  for (int b = 1; p.interleaving && has_whole && b < p.kernel_blocks() - (has_short_block() ? 1 : 0); ++b)
    others.push_back(pattern_of(group, b));
  const auto fits_all = [&](const ImageFrames& frames) {
    return std::all_of(others.begin(), others.end(),
                       [&](const Pattern& other) { return Frames(other.groups).fit(frames); });
  };
  // A part of the channels may have records alone.
  if (block.groups.empty() || last.groups.empty()) return std::nullopt;
  std::optional<WeightImage> best;
  for (const ImageFrames& frames : Frames(block.groups).candidates()) {
    WeightImage one;
    one.frames = frames, one.last_scales = Frames(last.groups).scales_that_fit(frames);
    if (one.last_scales == 0 || !Frames(block.groups).fit(frames) || !fits_all(frames) ||
        block.plain > kMostOfImage)
      continue;
    one.shift = form.shift, one.is_signed = form.is_signed, one.zero_points = form.has_zero_points;
    one.weights = ssize(block.groups), one.plain = block.plain;
    one.last_weights = ssize(last.groups), one.last_plain = last.plain;
    one.blocks = ssize(patterns);
    if (!best || one.bytes() < best->bytes()) best = one;
  }
  return best;
}

std::optional<WeightImage> PackedKernels::image_of(const KernelGroup& group) const {
  const bool has_last = has_short_block() && group.blocks.end == layer_->problem().kernel_blocks();
  const bool has_whole = group.blocks.size() > (has_last ? 1 : 0);
  const Interval channels = group.reduction.channels;
  std::optional<WeightImage> made =
      forms_.get({channels.begin, channels.end, has_whole ? 1 : 0, has_last ? 1 : 0},
                 [&] { return form_of(group, has_whole, has_last); });
  if (!made) return made;
  made->blocks = group.blocks.size();
  if (!has_last) {
    made->last_weights = made->weights, made->last_plain = made->plain;
    made->last_scales = made->frames.scales;
  }
  if (made->all_scales() > most_scales_ || made->bytes() >= made->decoded_bytes()) made.reset();
  return made;
}

std::vector<std::uint8_t> PackedKernels::images(const KernelGroup& group, const WeightImage& image) const {
  const Weights& weights = layer_->problem().weights;
  const auto bytes = weights.int8();
  const auto codes = weights.codes();
  const Decoded of_group = decoded(group, {bytes.get(), &codes->codes, &codes->scales});
  std::vector<std::uint8_t> made;
  ImageWriter writer(image, decoded_weights(image.shift, image.is_signed));
  for (std::int64_t at = 0; at < ssize(of_group.plain); at += of_group.region_bytes) {
    writer.add(of_group.parts[0].data() + at, of_group.parts[1].data() + at, of_group.parts[2].data() + at,
               made);
  }
  return made;
}

}  // namespace tilebeat
