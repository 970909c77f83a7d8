#pragma once

#include "tilebeat/config/hardware_config.h"
#include "tilebeat/mapping/transfer.h"
#include "tilebeat/mapping/window.h"
#include "tilebeat/program/plan.h"
#include "tilebeat/workload/workload.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "resize_axis.h"

namespace tilebeat {

/// What a vector unit executes.
using VectorInstruction = std::variant<VectorRun, VectorResize>;

/// One step of a core: what it fetches into a buffer, computes and stores.
struct VectorPiece {
  struct Fetch {
    std::uint64_t source = 0;
    std::int64_t offset = 0;  ///< in the buffer
    CopyShape shape;
  };
  std::vector<Fetch> fetches;
  std::int64_t in_bytes = 0, out_bytes = 0;
  /// The buffer holds this byte in every place that no fetch fills; nothing: they fill it.
  std::optional<std::uint8_t> fill;
  std::optional<VectorInstruction> run;  ///< nothing: what was fetched is stored as it is
  std::int64_t b_offset = 0;             ///< of the second operand in the buffer
  std::uint64_t destination = 0;
  CopyShape store;
};

/// What a layer asks of vector units: its factors, and its work in pieces that fit NRAM. `layer` and
/// `hardware` outlive it.
class VectorWork {
 public:
  /// `inputs` and `output` are places in DRAM. Throws UserError when the layer cannot fit.
  VectorWork(const Layer& layer, const HardwareConfig& hardware, const std::vector<Placement>& inputs,
             const Placement& output);

  /// Tables and factors; may be empty.
  const std::vector<std::uint8_t>& parameters() const { return parameters_; }
  /// Bytes of NRAM in front of the buffers, for the parameters.
  std::int64_t parameter_room() const;
  /// Bytes of maps that the layer touches at least once, results included.
  std::int64_t touched_bytes() const { return touched_; }
  std::int64_t result_bytes() const { return output_.size_bytes(); }
  /// The work of core `core` of `cores`; may be nothing. Throws UserError when a piece does not fit NRAM.
  std::vector<VectorPiece> pieces_of(int core, int cores);

 private:
  [[noreturn]] void cannot_fit(const std::string& what) const;
  [[noreturn]] void beyond_nram(const char* what) const;

  // Parameters, and what VectorRun says of the whole layer.
  void prepare(const Pooling& pool);
  void prepare(const Elementwise& operation);
  void prepare(const ByteTable& table);
  void prepare(const ChannelScale& operation);
  void prepare(const Requantize& operation);
  void prepare(const Softmax& operation);
  void prepare(const Concat& /*operation*/) {}
  void prepare(const Conv2d& /*operation*/) {}
  void prepare(const Reshape& /*operation*/) {}
  void prepare(const Pad& /*operation*/) {}
  void prepare(const Resize& resize);
  WindowAxis axis(const Pooling& pool, std::size_t number) const;
  void need_row() const;
  void types();

  // Elements without a channel of their own are spread one by one, others pixel by pixel.
  void cut(const Elementwise& /*operation*/, int core) { cut_flat(core, std::nullopt); }
  void cut(const ByteTable& /*operation*/, int core) { cut_flat(core, std::nullopt); }
  void cut(const ChannelScale& /*operation*/, int core) { cut_flat(core, channels_); }
  void cut(const Requantize& /*operation*/, int core) { cut_flat(core, channels_); }
  void cut(const Softmax& /*operation*/, int core) { cut_flat(core, channels_); }
  void cut(const Pooling& pool, int core);
  void cut(const Concat& operation, int core);
  void cut(const Resize& resize, int core);
  void cut(const Pad& pad, int core);
  void cut(const Conv2d& /*operation*/, int /*core*/) {}
  void cut(const Reshape& /*operation*/, int /*core*/) {}
  std::int64_t step_bytes() const;
  void add_pooled(int image, const Window& h, const Window& w, Interval channels);
  void add_padded(const Pad& pad, int image, Interval rows, Interval columns);
  void add_resized(const Resize& resize, int image, Interval rows, Interval columns);
  VectorPiece piece_of_map(int image, const Window& h, const Window& w, Interval channels) const;
  void cut_flat(int core, std::optional<int> pixel);
  void add_flat(std::int64_t first, std::int64_t elements, int columns, int channels);

  const ChipConfig& chip_;
  const Layer& layer_;
  TensorInfo output_;
  std::vector<Placement> inputs_;
  std::uint64_t output_address_;
  int channels_ = 0, cores_ = 1;
  std::int64_t touched_ = 0;
  VectorRun base_;
  std::array<ResizeAxis, 2> resize_axes_;
  std::vector<std::uint8_t> parameters_;
  std::vector<VectorPiece> pieces_;  // of the core that is being cut
};

}  // namespace tilebeat
