#include "planner/layer/staging.h"

#include "isa/address_map.h"
#include "planner/layer/placement.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::int64_t kLeastBuffer = 64;  // bytes: one that is smaller costs more than it carries

}  // namespace

void CopyTasks::add(int processor, Unit unit, const std::vector<Transfer>& transfers,
                    const AccessList& accesses) {
  for (const Transfer& transfer : transfers) {
    each_copy(unit, transfer, [&](const Copy& copy) { add(processor, copy, accesses); });
  }
}

Staging::Staging(TaskGraph& graph, const HardwareConfig& hardware, int cluster, std::string layer)
    : graph_(&graph),
      copies_(graph, hardware),
      layer_(std::move(layer)),
      memory_(processor_of_memory(*hardware.chip, cluster)),
      sram_(sram_address(cluster), hardware.chip->sram_bytes(), kLeastBuffer) {}

std::uint64_t Staging::reserve(std::int64_t bytes, const std::string& what) {
  try {
    return sram_.allocate(bytes);
  } catch (const UserError& error) {
    throw UserError(fmt::format("layer '{}' cannot fit: {} in the SRAM: {} (chip.sram.size_bytes is {})",
                                layer_, what, error.what(), sram_.size()));
  }
}

std::int64_t Staging::room(int buffers) const {
  const std::int64_t bytes = (sram_.size() - sram_.used()) / buffers / kLeastBuffer * kLeastBuffer;
  return std::min(bytes, kLargestBuffer);
}

std::int64_t Staging::share(int buffers) const {
  const std::int64_t bytes = room(buffers);
  if (bytes == 0) {
    throw UserError(
        fmt::format("layer '{}' cannot fit: {} buffers of at least {} bytes, through which maps, kernels and "
                    "results go, do not fit "
                    "the {} bytes that are left of the SRAM; chip.sram.size_bytes is {} (chip.dram_path "
                    "\"direct\" does without)",
                    layer_, buffers, kLeastBuffer, sram_.size() - sram_.used(), sram_.size()));
  }
  return bytes;
}

int Staging::add_stream(std::int64_t bytes, int buffers) {
  Stream stream;
  stream.bytes = bytes;
  stream.ring = BufferRing(*graph_, BufferRole::kStaging, buffers);
  try {
    stream.address = sram_.allocate(bytes * buffers);
  } catch (const UserError& error) {
    throw UserError(fmt::format(
        "layer '{}' cannot fit: {} buffers of {} bytes in the SRAM: {} (chip.sram.size_bytes is {})", layer_,
        buffers, bytes, error.what(), sram_.size()));
  }
  streams_.push_back(stream);
  return count_of(streams_) - 1;
}

std::uint64_t Staging::address_of(const Stream& stream, const BufferRing::Filling& filling) {
  return stream.address + to_unsigned(filling.place * stream.bytes);
}

Staging::Reader Staging::multicast(std::vector<Transfer> transfers, AccessList written) const {
  return {memory_, std::move(transfers), std::move(written)};
}

void Staging::load(int stream, const std::vector<Reader>& readers) {
  load({{this, stream, readers}}, 0);
}

int Staging::load(std::vector<Link> links, std::size_t turn) {
  int fetches = 0;
  for (std::size_t begin = 0; begin < links.size(); begin += kMostLinks, ++fetches) {
    const auto first = links.begin() + to_signed(begin);
    const auto last = first + to_signed(std::min(kMostLinks, links.size() - begin));
    std::rotate(first, first + to_signed(turn) % (last - first), last);
    load_chain({first, last});
  }
  return fetches;
}

void Staging::load_chain(const std::vector<Link>& links) {
  std::int64_t bytes = INT64_MAX;
  for (const Link& link : links)
    bytes = std::min(bytes, link.staging->part_bytes(link.stream, links.size() > 1));
  std::vector<std::vector<std::vector<std::vector<Transfer>>>> parts;  // by link, reader
  for (const Link& link : links) {
    parts.emplace_back();
    for (const Reader& reader : link.readers) parts.back().push_back(parts_of(reader.transfers, bytes));
  }
  for (std::size_t n = 0; n < parts.front().front().size(); ++n) {
    std::optional<BufferRing::Filling> before;  // filling of the previous link
    Copy pass;
    pass.unit = Unit::kCdma;
    for (std::size_t l = 0; l < links.size(); ++l) {
      Staging& staging = *links[l].staging;
      Stream& stream = staging.stream(links[l].stream);
      const BufferRing::Filling filling = stream.ring.next();
      const std::uint64_t sram = address_of(stream, filling);
      if (before) {
        pass.destination = sram;
        staging.copies_.add(links[l - 1].staging->memory_, pass, {before->read(), filling.write()});
      } else {
        const std::vector<Transfer> fetched = into_buffer(parts.front().front()[n], sram);
        staging.copies_.add(staging.memory_, Unit::kGdma, fetched, {filling.write()});
        for (const Transfer& transfer : fetched)
          pass.run_bytes += static_cast<std::uint32_t>(transfer.shape.bytes());
      }
      for (std::size_t r = 0; r < links[l].readers.size(); ++r) {
        const Reader& reader = links[l].readers[r];
        AccessList accesses{filling.read()};
        accesses.append(reader.accesses);
        staging.copies_.add(reader.processor, Unit::kMvdma, out_of_buffer(parts[l][r][n], sram), accesses);
      }
      before = filling, pass.source = sram;
    }
  }
}

void Staging::store(int number, int processor, const std::vector<Transfer>& transfers, const Access& read) {
  Stream& stream = this->stream(number);
  for (const std::vector<Transfer>& part : parts_of(transfers, stream.bytes)) {
    const BufferRing::Filling filling = stream.ring.next();
    const std::uint64_t sram = address_of(stream, filling);
    copies_.add(processor, Unit::kMvdma, into_buffer(part, sram), {read, filling.write()});
    copies_.add(memory_, Unit::kGdma, out_of_buffer(part, sram), {filling.read()});
  }
}

void Staging::pass(int number, const Transfer& transfer, int from, const Access& read, int to,
                   const Access& written) {
  Stream& stream = this->stream(number);
  for (const std::vector<Transfer>& part : parts_of({transfer}, stream.bytes)) {
    const BufferRing::Filling filling = stream.ring.next();
    const std::uint64_t sram = address_of(stream, filling);
    copies_.add(from, Unit::kMvdma, into_buffer(part, sram), {read, filling.write()});
    copies_.add(to, Unit::kMvdma, out_of_buffer(part, sram), {filling.read(), written});
  }
}

}  // namespace tilebeat
