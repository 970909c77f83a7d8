#pragma once

#include "base/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tilebeat::wfold {

/// The mode in which the W-fold engine reads the lines of a map (SPEC WF-2; document 003 figures 7a-7c): one
/// continuous request per line, one request for every position of a line, or requests for whole positions
/// into a transit buffer of registers from which lines are formed.
enum class WfoldReadMode : std::uint8_t { kContinuous, kStrided, kTransit };
constexpr std::array<std::string_view, 3> kWfoldReadModeNames{"continuous", "strided", "transit"};

/// The lines that a slave's first buffer holds (document 003 [0068]): each compute unit takes lines of its
/// own from there, and all share a line of the other kind in the second buffer.
enum class FirstBuffer : std::uint8_t { kMaps, kKernels };

/// Sizes of a W-fold engine that its schedules depend on (SPEC section 4; document 003 figure 5).
struct WfoldShape {
  int slaves = 16;        ///< Ns
  int compute_units = 4;  ///< Ncu of a slave
  int line_bytes = 64;    ///< M
  int first_lines = 8;    ///< L1: lines of the first buffer
  int second_lines = 9;   ///< L2: lines of the second buffer
  FirstBuffer first_buffer = FirstBuffer::kMaps;
  int masters = 1;  ///< each broadcasts to its share of neighbouring slaves

  bool kernels_first() const { return first_buffer == FirstBuffer::kKernels; }
  /// Lines of the buffer that holds map lines, and of the one that holds kernel lines.
  int map_lines() const { return kernels_first() ? second_lines : first_lines; }
  int kernel_lines() const { return kernels_first() ? first_lines : second_lines; }
  /// Lines of columns of a tile: one for each compute unit, or half of the second buffer.
  int windows() const { return kernels_first() ? second_lines / 2 : compute_units; }
  /// The fold factor Ws: positions in a line of granularity `granularity`.
  int fold(int granularity) const { return line_bytes / granularity; }
  /// The most kernels of a slave in one tile: two sets of lines fit the second buffer (SPEC WF-4), or one for
  /// each compute unit.
  int kernels_per_slave() const { return kernels_first() ? compute_units : second_lines / 2; }
  /// The most output channels of a tile.
  int tile_kernels() const { return slaves * kernels_per_slave(); }
  /// Output columns of a tile.
  int tile_columns(int granularity) const { return windows() * fold(granularity); }
  /// Kmax of document 003 [0142]: the widest kernel that is not split, in folded columns.
  int widest_kernel(int granularity) const { return (map_lines() - windows()) * fold(granularity) + 1; }
};

/// Bytes that `channels` bytes lack to a multiple of `granularity`.
constexpr int granularity_padding(int channels, int granularity) {
  return (granularity - channels % granularity) % granularity;
}

/// A candidate for the channel granularity (SPEC WF-1).
struct GranularityCandidate {
  int granularity = 0;
  int fold = 0;
  int padding = 0;         ///< bytes that align the channels to it
  bool too_wide = false;   ///< the map has fewer columns than `fold`
  bool tolerable = false;  ///< its padding exceeds the least one by less than the tolerance
};
/// The chosen granularity, and all candidates, largest first.
struct GranularityChoice {
  int granularity = 0;
  int least_padding = 0;
  std::vector<GranularityCandidate> candidates;
};
/// The largest power of two from `smallest` to `line_bytes` whose padding exceeds the least padding by less
/// than `tolerance` bytes; candidates that fold more columns than the map's `width` are dropped, and when
/// none is left it is `line_bytes` (SPEC WF-1; document 003 [0088-0094]).
GranularityChoice choose_granularity(int channels, int width, int smallest, int tolerance, int line_bytes);

/// A column of a kernel whose width is folded by the stride, with the taps in it (SPEC WF-5, WF-6).
struct FoldedColumn {
  struct Tap {
    int tap = 0;    ///< tap in the kernel's width
    int phase = 0;  ///< phase of the stride: position of its channels in the folded pixel
  };
  int column = 0;
  std::vector<Tap> taps;
};
/// The folded columns that have a tap: tap k lies in column (k * dilation) div stride, phase (k * dilation)
/// mod stride.
std::vector<FoldedColumn> fold_kernel(int kernel_w, int stride_w, int dilation_w);

/// The bytes of kernels in a region of the second storage (SPEC WF-3, WF-9): folded lines, with zero points
/// between the phases and groups that a kernel has, channel block by channel block (`kBlocks`) or kernel by
/// kernel (`kFolded`); or the kernels' own bytes (`kOwn`).
enum class KernelBytesAre : std::uint8_t { kBlocks, kFolded, kOwn };
struct WfoldKernelLayout {
  KernelBytesAre bytes = KernelBytesAre::kBlocks;
  // ---- of kernels that come as they are ----
  int channels = 1;        ///< channels of a kernel: those of its convolution group
  int group_kernels = 0;   ///< kernels of a convolution group; 0: there is one group
  int first_in_group = 0;  ///< number of the run's first kernel in its group
  int slave_groups = 1;    ///< groups of slaves, each with lines of its own channels (document 003 [0063])

  bool own() const { return bytes == KernelBytesAre::kOwn; }
  /// Whether kernels come to the region as they are.
  bool dealt() const { return bytes != KernelBytesAre::kBlocks; }
};

/// The work of one run: output rows x columns x kernels from a map in the first storage. Its rows lie there
/// without gaps and may be folded already or not: a folded pixel is `pixel_bytes` = stride x channels bytes
/// that are contiguous either way (document 003 [0204]), and folded column f begins at byte f * pixel_bytes -
/// lead_bytes of its row. What lies outside the row is padding.
struct WfoldGeometry {
  int rows = 0, columns = 0;  ///< output pixels
  int kernels = 0;            ///< output channels
  int height = 0;             ///< rows of the map
  std::int64_t row_bytes = 0;
  std::int64_t lead_bytes = 0;
  int h_offset = 0;  ///< row of the map of output row 0, tap row 0
  int kernel_h = 1, stride_h = 1, dilation_h = 1;
  int kernel_w = 1, stride_w = 1, dilation_w = 1;
  int pixel_bytes = 0;
  int first_channel = 0, channels = 0;  ///< bytes of a folded pixel that the kernels touch
  int granularity = 64;                 ///< Pci
  bool block_outer = false;  ///< channel blocks are the outer loop and kernel rows the inner one (SPEC WF-4)
  bool post_parameters = false;  ///< every kernel has a record of bias and scale
  WfoldKernelLayout kernel_layout;
};

/// A tile: neighbouring columns of one output row x kernels (SPEC WF-4).
struct WfoldTile {
  int kernel_tile = 0, row = 0, column = 0;  ///< column: of the first output
  int columns = 0;                           ///< outputs that exist
  int kernels = 0;                           ///< kernels that exist
  int windows = 0;                           ///< lines of columns that exist
  int kernels_per_slave = 0;                 ///< Nco: kernel k of slave s is channel s + Ns * k of the tile
};
/// One filling of the first buffers: one kernel row, one channel block, one part of a wide kernel.
struct WfoldRefill {
  int part = 0, kernel_row = 0, block = 0;
};
/// Bytes of one row of the map, clipped to it.
struct ByteRange {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};
/// One beat: the selected map lines times line `kernel` of every slave's second buffer.
struct WfoldBeat {
  std::int64_t tile = 0;
  int refill = 0;                ///< number within the tile
  int step = 0;                  ///< number within the refill: a column of the kernel
  int kernel = 0;                ///< k, of the slave; 0 when each compute unit has one of its own
  int window = 0;                ///< line of columns; 0 when each compute unit has one of its own
  std::int64_t step_number = 0;  ///< j, counted from the first step of the run's kernel tile
  std::int64_t first_line = 0;   ///< lines of the run's refills before this one
};

/// The kernel line of one slave: the bytes of its region that the port reads, and where they lie in the line;
/// the rest of the line is the zero point.
struct KernelLine {
  struct Piece {
    int from = 0, to = 0, count = 0;  ///< from: in `bytes`; to: in the line
  };
  ByteRange bytes;  ///< empty: the slave has no such kernel, or the kernel no channel of the block
  std::vector<Piece> pieces;
};
/// The bytes that a kernel's row has of one folded column (SPEC WF-5, WF-6).
struct StoredColumn {
  std::int64_t source = 0;  ///< of the row as the workload has it
  std::int64_t at = 0;      ///< of the row in the region
  std::int64_t count = 0;
};

/// The order of everything that a W-fold engine does in a run: tiles, refills, lines, steps and beats (SPEC
/// WF-2 to WF-8). Pure arithmetic.
class WfoldSchedule {
 public:
  WfoldSchedule(const WfoldShape& shape, const WfoldGeometry& geometry);

  const WfoldShape& shape() const { return shape_; }
  const WfoldGeometry& geometry() const { return geometry_; }
  int fold() const { return fold_; }
  int blocks() const { return blocks_; }
  int parts() const { return count_of(parts_); }
  /// Folded kernel columns of a part: indices into `fold_kernel` are first_step(part) + step.
  const std::vector<int>& steps(int part) const { return nth(parts_, part).columns; }
  int first_step(int part) const { return nth(parts_, part).first; }
  int all_steps() const { return all_steps_; }

  int kernel_tiles() const { return kernel_tiles_; }
  std::int64_t tiles() const { return tiles_per_kernel_tile_ * kernel_tiles_; }
  WfoldTile tile(std::int64_t index) const;
  int refills() const { return count_of(refills_); }
  const WfoldRefill& refill(int index) const { return nth(refills_, index); }
  /// Groups of a master's slaves that lines are sent to: each has every `groups()`-th line of a refill, and
  /// the channels that its kernels touch. One: a line goes to all slaves of the master. All masters have
  /// equally many, and equally many lines, which are counted for each of them.
  int groups() const { return groups_; }
  int master_of_slave(int slave) const { return slave / (shape_.slaves / shape_.masters); }
  /// The slave's group, among all of `line_groups`, and among those of its master.
  int line_group_of_slave(int slave) const { return slave / (shape_.slaves / line_groups()); }
  int group_of_slave(int slave) const { return line_group_of_slave(slave) % groups_; }
  /// Groups of all masters.
  int line_groups() const { return groups_ * shape_.masters; }
  /// Places for map lines in the buffers of one slave of each group of a master.
  int places() const { return shape_.map_lines() * groups_; }
  /// Lines of a refill of `part`: ceil((Ncu*Ws + span of its columns) / Ws) for each group of slaves.
  int lines(int part) const { return lines_of_group(part) * groups_; }
  int lines_of_group(int part) const { return nth(parts_, part).lines; }
  /// Lines of a refill that `step` of it reads: they must be in the buffer, and those before `first` become
  /// free afterwards.
  struct LineSpan {
    int first = 0, end = 0;
  };
  LineSpan lines_of_step(int part, int step) const;
  /// The same of a beat that takes line `window` of a step's columns. The last beat of a refill needs all of
  /// its lines, and leaves them all.
  LineSpan lines_of_window(int part, int step, int window, bool last) const;
  /// Row of the map that a refill reads; outside 0 to height - 1 it is padding.
  int map_row(const WfoldTile& tile, const WfoldRefill& refill) const {
    return tile.row * geometry_.stride_h + refill.kernel_row * geometry_.dilation_h + geometry_.h_offset;
  }
  bool row_exists(int row) const { return row >= 0 && row < geometry_.height; }
  /// Whether a line of a master's refill has a byte of the map. One that has none is neither read nor
  /// broadcast: its place in the first buffers is marked, and delivers the zero point.
  bool line_exists(const WfoldTile& tile, const WfoldRefill& refill, int line, int master) const;
  /// Folded column of the map at position 0 of line `line` of a refill.
  int line_column(const WfoldTile& tile, const WfoldRefill& refill, int line) const {
    return tile.column + nth(parts_, refill.part).columns.front() + line / groups_ * fold_;
  }
  /// Channels of line `line` of a master's refill, counted from the run's first channel.
  struct ChannelSpan {
    int begin = 0, end = 0;
  };
  ChannelSpan line_channels(const WfoldRefill& refill, int line, int master) const {
    const int begin = block_begin(refill.block) + master_begin(master) + line % groups_ * group_step();
    return {begin, begin + block_bytes(refill.block)};
  }
  /// Channels from those of a group of slaves to those of the next one.
  int group_step() const;
  /// The first channel of a master's first group of slaves.
  int master_begin(int master) const { return master * groups_ * group_step(); }
  /// Channels from the first one of a master's first group of slaves to the first one of its last group.
  int groups_span() const { return (groups_ - 1) * group_step(); }
  /// Bytes of a folded pixel that the kernels' groups of a convolution have, in one group of slaves; 0: there
  /// is one group, of which a run may have a part.
  int channels_of_kernels() const;
  /// Channels from the run's first one to the last one of the last group of slaves of the last master.
  int channels_of_groups() const { return (kernel_groups_ - 1) * group_step() + geometry_.channels; }
  /// Channels [first, first + count) of a folded pixel that block `block` holds, of the run's channels.
  int block_begin(int block) const { return block * geometry_.granularity; }
  int block_bytes(int block) const;
  /// Bytes of the row for channels [begin, end) of the run's channels in folded columns [column, last].
  ByteRange bytes_of(int column, int last, int begin, int end) const;

  /// Beats of a step of a tile: one for each kernel of a slave, or for each line of columns.
  int beats_of_step(const WfoldTile& tile) const {
    return shape_.kernels_first() ? tile.windows : tile.kernels_per_slave;
  }
  std::int64_t steps_of_tile() const { return std::int64_t{geometry_.kernel_h} * all_steps_ * blocks_; }
  std::int64_t beats_of(const WfoldTile& tile) const { return beats_of_step(tile) * steps_of_tile(); }
  std::int64_t beats() const;
  /// Lines that a master sends to slaves in the run, or whose place it marks.
  std::int64_t all_lines() const { return tiles() * lines_per_tile_; }
  std::int64_t lines_per_tile() const { return lines_per_tile_; }

  /// Advances by one beat; false after the last one. The first beat is WfoldBeat{}.
  bool advance(WfoldBeat& beat) const { return advance(beat, tile(beat.tile)); }
  bool advance(WfoldBeat& beat, const WfoldTile& tile) const;  ///< the same, its tile is known
  /// Advances by one kernel line: to the next kernel of the beat's step, or the first one of the next step.
  bool advance_kernel_line(WfoldBeat& beat, const WfoldTile& tile) const;
  /// The slot that the kernel line of a beat lies in (SPEC WF-8).
  int kernel_slot(const WfoldBeat& beat, const WfoldTile& tile) const {
    const int sets = shape_.kernel_lines() / tile.kernels_per_slave;
    return to_int(beat.step_number % sets) * tile.kernels_per_slave + beat.kernel;
  }

  /// The kernel of a tile that is number `number` of slave `slave`: co mod Ns is the slave; with groups of
  /// slaves, each group has neighbouring kernels of the tile and deals them likewise.
  int kernel_of(int slave, int number) const {
    const int group_slaves = shape_.slaves / kernel_groups_;
    return slave / group_slaves * group_kernels() + number * group_slaves + slave % group_slaves;
  }
  /// The slave of a kernel of a tile, and the kernel's number there.
  struct SlaveKernel {
    int slave = 0, number = 0;
  };
  SlaveKernel slave_kernel(int kernel) const {
    const int group_slaves = shape_.slaves / kernel_groups_, in_group = kernel % group_kernels();
    return {kernel / group_kernels() * group_slaves + in_group % group_slaves, in_group / group_slaves};
  }
  /// Kernels of a tile that a group of slaves has.
  int group_kernels() const {
    return kernel_groups_ == 1 ? shape_.tile_kernels()
                               : shape_.slaves / kernel_groups_ * per_slave(kernels_of_tile(0));
  }

  /// The layout of kernels in the region of a slave: kernel tile after kernel tile. In each tile folded lines
  /// are [channel block][slave's kernel][kernel row][step], with the channels of a block in each line, so
  /// that the kernels of neighbouring channel blocks are one run of bytes, or [slave's kernel][kernel
  /// row][step] with all of the run's channels; the kernels' own bytes are [slave's kernel][kernel row][tap]
  /// with the run's channels of each tap. Behind them lie the post-parameter records.
  std::int64_t kernel_bytes() const {
    return geometry_.kernel_layout.own() ? own_kernel_bytes()
                                         : std::int64_t{geometry_.kernel_h} * all_steps_ * geometry_.channels;
  }
  /// Own bytes of a kernel that came as it is.
  std::int64_t own_kernel_bytes() const { return geometry_.kernel_h * row_bytes_; }
  /// Bytes of a kernel tile in front of its kernels' own bytes, when they are to be folded in place: they lie
  /// at the tail of the folded kernels' place.
  std::int64_t in_front_of_own(const WfoldTile& tile) const {
    return tile.kernels_per_slave * (kernel_bytes() - own_kernel_bytes());
  }
  /// Sets `line` to bytes `bytes` of a folded column of kernel `kernel` of slave `slave` in the first kernel
  /// tile, from the kernels' own bytes, which begin at byte `own` of the region.
  void find_own_bytes(std::int64_t own, int kernel, int row, int column, ByteRange bytes, int slave,
                      KernelLine& line) const;
  std::int64_t kernel_tile_begin(int kernel_tile) const;
  std::int64_t records_begin(int kernel_tile) const;
  std::int64_t region_bytes() const { return kernel_tile_begin(kernel_tiles_); }
  /// Sets `line` to the line of a beat in slave `slave`.
  void find_kernel_line(const WfoldBeat& beat, const WfoldTile& tile, int slave, KernelLine& line) const;
  /// Cycles in which the regions' ports read the line of a beat, `port_bytes` bytes a cycle: those of the
  /// slave with the longest one.
  Cycle port_cycles(const WfoldBeat& beat, const WfoldTile& tile, int port_bytes) const;
  /// The columns of a kernel's row that hold bytes; of kernels that are not folded.
  std::vector<StoredColumn> stored_columns() const;

 private:
  struct Part {
    int first = 0;             // step number of its first column
    std::vector<int> columns;  // folded columns of the kernel
    int lines = 0;             // of a group of slaves
  };
  // Channels [begin, end) of the run that a tap of a kernel of the first group has, and where they lie in the
  // kernel's row.
  struct StoredTap {
    int begin = 0, end = 0;
    std::int64_t at = 0, source = 0;
  };
  void store_taps();
  bool advance_step(WfoldBeat& beat) const;
  void add_pieces(std::int64_t row, int column, int shift, ByteRange bytes, KernelLine& line) const;
  // The first channel of the group of a kernel of the run, counted from that of its first kernel's group.
  int channel_shift(int kernel) const;
  int kernels_of_tile(int kernel_tile) const;
  int per_slave(int kernels) const { return (kernels + shape_.slaves - 1) / shape_.slaves; }

  WfoldShape shape_;
  WfoldGeometry geometry_;
  int fold_, blocks_, kernel_groups_, groups_, kernel_tiles_, column_tiles_;
  std::int64_t tiles_per_kernel_tile_;
  std::vector<Part> parts_;
  int all_steps_ = 0;
  std::int64_t lines_per_tile_ = 0;
  std::vector<WfoldRefill> refills_;            // refills of a tile
  std::vector<std::vector<StoredTap>> stored_;  // by folded column; of kernels that are not folded
  std::int64_t row_bytes_ = 0;                  // of one row of such a kernel
};

/// A walk over the beats of a run, with the tile and refill that it is at.
struct WfoldWalk {
  WfoldBeat beat;
  WfoldTile tile;
  WfoldRefill refill;
  bool more = true;

  void begin(const WfoldSchedule& schedule);
  /// Goes to the next beat, or to the next kernel line.
  void advance(const WfoldSchedule& schedule) { move(schedule, &WfoldSchedule::advance); }
  void advance_kernel_line(const WfoldSchedule& schedule) {
    move(schedule, &WfoldSchedule::advance_kernel_line);
  }
  bool begins_step() const { return beat.kernel == 0 && beat.window == 0; }
  bool begins_tile() const { return beat.refill == 0 && beat.step == 0 && begins_step(); }
  bool begins_kernel_tile() const { return beat.step_number == 0 && begins_step(); }
  /// Lines of the run that each master has to have sent before the step, or before the beat when kernels are
  /// in the first buffers.
  std::int64_t lines_needed(const WfoldSchedule& schedule) const;
  /// Lines of the run whose places are free after the first beat of the step, or after the beat.
  std::int64_t lines_freed(const WfoldSchedule& schedule) const;

 private:
  using Advance = bool (WfoldSchedule::*)(WfoldBeat&, const WfoldTile&) const;
  void move(const WfoldSchedule& schedule, Advance to_next);
  bool last_window() const { return beat.window + 1 == tile.windows; }
};

/// One request to the first storage.
struct WfoldRequest {
  int row = 0;
  ByteRange bytes;  ///< bytes of the row
};
/// A fetch: requests whose data go to one place, in order. Without a transit buffer it is one line; with it,
/// the row window of a refill, or of all channel blocks of a kernel row.
struct WfoldFetch {
  std::vector<WfoldRequest> requests;
  int refills = 1;  ///< refills whose lines it brings: 1, or all channel blocks of a kernel row
  int lines = 1;    ///< lines that it brings: those of its refills that exist
};

/// The fetches of a master in a run in order, without those that bring no line (SPEC WF-2).
class WfoldReader {
 public:
  /// `transit_half` is the size of half a master's transit buffer in bytes.
  WfoldReader(const WfoldSchedule& schedule, WfoldReadMode mode, std::int64_t transit_half, int master);

  bool done() const { return tile_ == schedule_.tiles(); }
  /// The next read; in the modes without transit buffer it is line `line` of the refill.
  std::int64_t tile() const { return tile_; }
  int refill() const { return refill_; }
  int line() const { return line_; }
  WfoldFetch fetch() const;
  void advance();
  /// With transit buffer: whether a row window holds all channel blocks.
  bool whole_pixels() const { return whole_pixels_; }

 private:
  int lines_here() const;
  void move_on();

  const WfoldSchedule& schedule_;
  WfoldReadMode mode_;
  int master_;
  bool whole_pixels_ = false;
  std::int64_t tile_ = 0;
  int refill_ = 0, line_ = 0;
};
/// Number of requests of a master's fetch, from the first on, that line `line` of its refill needs.
std::size_t requests_of_line(const WfoldSchedule& schedule, const WfoldFetch& fetch, const WfoldTile& tile,
                             const WfoldRefill& refill, int line, int master);
/// Whether the channels of a run are one block that is the whole folded pixel: a line is then one continuous
/// request.
bool can_read_continuously(const WfoldSchedule& schedule);
/// Whether the row window of a kernel row fits half the transit buffer with all channel blocks of a master's
/// groups of slaves, and the blocks are contiguous: it is then read once.
bool transit_holds_pixels(const WfoldSchedule& schedule, std::int64_t transit_half);
/// Whether the row window of one channel block fits half the transit buffer.
bool transit_holds_block(const WfoldSchedule& schedule, std::int64_t transit_half);
/// The mode with the fewest requests: continuous where it can be, transit where a window is read once for
/// several blocks, strided otherwise.
WfoldReadMode choose_read_mode(const WfoldSchedule& schedule, std::int64_t transit_half);

}  // namespace tilebeat::wfold
