#include "engines/switch_array/kernel_words.h"

#include "tilebeat/error.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace tilebeat::switch_array {

KernelWords::KernelWords(const LoadKernels& load, int columns, int port_channels)
    : load_(load), columns_(columns), port_channels_(port_channels) {
  if (load.group_channels == 0) {
    LoadKernels plain;
    if (std::tie(load.group_kernels, load.first_kernel, load.kernels, load.first_channel, load.block_words,
                 load.block_channels, load.taps, load.fill) !=
        std::tie(plain.group_kernels, plain.first_kernel, plain.kernels, plain.first_channel,
                 plain.block_words, plain.block_channels, plain.taps, plain.fill))
      throw SimulationError("load.kernels: fields of groups are set, but group_channels is 0");
    return;
  }
  const bool whole = load.taps > 0 && load.block_words > 0 && load.block_words % load.taps == 0 &&
                     load.words % load.block_words == 0;
  if (!whole || load.group_kernels == 0) {
    throw SimulationError(fmt::format("load.kernels: {} words in blocks of {} of {} taps, {} kernels a group",
                                      load.words, load.block_words, load.taps, load.group_kernels));
  }
  if (load.words == load.block_words && load.block_channels != 0) {
    throw SimulationError(fmt::format(
        "load.kernels: {} channels to the next kernel block, there is one block", load.block_channels));
  }
}

std::int64_t KernelWords::group_of(std::int64_t kernel) const {
  return (load_.first_kernel + kernel) / load_.group_kernels * load_.group_channels;
}

Interval KernelWords::brought(std::int64_t word, int column) const {
  if (load_.group_channels == 0) return {0, port_channels_};
  const std::int64_t block = word / load_.block_words, plane = word % load_.block_words / load_.taps;
  const std::int64_t number = block * columns_ + column;
  if (number >= load_.kernels) return {};
  // Kernels and channels count from those of the first kernel's group.
  const std::int64_t channel = load_.first_channel + block * load_.block_channels + plane * port_channels_;
  const std::int64_t group = group_of(number) - channel;
  const auto in_word = [&](std::int64_t at) {
    return to_int(std::clamp<std::int64_t>(at, 0, port_channels_));
  };
  return {in_word(group), in_word(group + load_.group_channels)};
}

std::int64_t KernelWords::bytes() const {
  if (load_.group_channels == 0) return std::int64_t{load_.words} * columns_ * port_channels_;
  std::int64_t bytes = 0;
  // The planes of a block are channels one after another; those of its taps are alike.
  const std::int64_t channels = std::int64_t{load_.block_words / load_.taps} * port_channels_;
  for (std::int64_t block = 0; block * load_.block_words < load_.words; ++block) {
    const std::int64_t channel = load_.first_channel + block * load_.block_channels;
    const std::int64_t numbers = std::min<std::int64_t>(columns_, load_.kernels - block * columns_);
    for (std::int64_t column = 0; column < numbers; ++column) {
      const std::int64_t group = group_of(block * columns_ + column) - channel;
      bytes += std::clamp<std::int64_t>(group + load_.group_channels, 0, channels) -
               std::clamp<std::int64_t>(group, 0, channels);
    }
  }
  return bytes * load_.taps;
}

}  // namespace tilebeat::switch_array
