#include "engines/offset_table/table_file.h"

#include "tilebeat/error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace tilebeat::offset_table {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic{'T', 'B', 'O', 'F', 'F', 'S', 'E', 'T'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kChecksumBytes = 4;
constexpr std::size_t kShapeNumbers = 18;
constexpr std::size_t kMostName = 4096;

class Writer {
 public:
  std::vector<std::uint8_t> bytes;

  void number(std::uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  template <class T>
  void numbers(const std::vector<T>& values) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const T value : values) number(static_cast<std::uint32_t>(value));
  }
};

class Reader {
 public:
  Reader(const std::vector<std::uint8_t>& bytes, std::size_t end, const std::string& name)
      : bytes_(bytes), end_(end), name_(name) {}

  [[noreturn]] void refuse(const std::string& what) const {
    throw UserError(fmt::format("{}: no tables of addresses: {}", name_, what));
  }
  std::size_t left() const { return end_ - at_; }
  void need(std::size_t count, const char* what) const {
    if (count > left()) refuse(fmt::format("{} of {} bytes, {} are left", what, count, left()));
  }
  std::uint32_t number(const char* what) {
    need(4, what);
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value |= std::uint32_t{bytes_[at_++]} << (8 * i);
    return value;
  }
  template <class T>
  std::vector<T> numbers(const char* what) {
    const std::uint64_t count = number(what);
    need(to_size(count) * 4, what);
    std::vector<T> values;
    values.reserve(to_size(count));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint32_t value = number(what);
      values.push_back(static_cast<T>(value));
      if (static_cast<std::uint32_t>(values.back()) != value)
        refuse(fmt::format("{} beyond their type", what));
    }
    return values;
  }
  std::string text() {
    const std::size_t count = number("length of a name");
    if (count > kMostName) refuse(fmt::format("a name of {} bytes", count));
    need(count, "a name");
    std::string value;
    for (std::size_t i = 0; i < count; ++i) {
      const auto byte = bytes_[at_++];
      if (byte < 0x20 || byte == 0x7F) refuse("a name with control characters");
      value.push_back(static_cast<char>(byte));
    }
    return value;
  }

 private:
  const std::vector<std::uint8_t>& bytes_;
  std::size_t end_, at_ = kMagic.size();
  const std::string& name_;
};

// The numbers of a shape, in the order of the file.
std::array<int, kShapeNumbers> numbers_of(const TableShape& s) {
  return {to_int(s.layout), s.block,      to_int(s.order), s.images,   s.channels, s.height,
          s.width,          s.out_height, s.out_width,     s.kernel_h, s.kernel_w, s.stride_h,
          s.stride_w,       s.dilation_h, s.dilation_w,    s.pad_h,    s.pad_w,    s.groups};
}

TableShape read_shape(Reader& reader) {
  std::array<int, kShapeNumbers> n{};
  for (int& number : n) number = to_int(reader.number("the shape"));
  TableShape s;
  if (n[0] < 0 || n[0] >= count_of(kMapLayoutNames)) reader.refuse(fmt::format("layout {}", n[0]));
  if (n[2] < 0 || n[2] >= count_of(kThreadOrderNames))
    reader.refuse(fmt::format("order of threads {}", n[2]));
  s.layout = static_cast<MapLayout>(n[0]), s.block = n[1], s.order = static_cast<ThreadOrder>(n[2]);
  s.images = n[3], s.channels = n[4], s.height = n[5], s.width = n[6];
  s.out_height = n[7], s.out_width = n[8], s.kernel_h = n[9], s.kernel_w = n[10];
  s.stride_h = n[11], s.stride_w = n[12], s.dilation_h = n[13], s.dilation_w = n[14];
  s.pad_h = n[15], s.pad_w = n[16], s.groups = n[17];
  if (const std::string wrong = s.problem(); !wrong.empty()) reader.refuse(wrong);
  return s;
}

}  // namespace

std::uint32_t checksum(const std::uint8_t* bytes, std::size_t count) {
  static const std::array<std::uint32_t, 256> sums_of_bytes = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1U) != 0 ? 0xEDB88320U : 0U);
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t sum = 0xFFFFFFFFU;
  for (std::size_t i = 0; i < count; ++i) sum = sums_of_bytes[(sum ^ bytes[i]) & 0xFFU] ^ (sum >> 8);
  return ~sum;
}

std::vector<std::uint8_t> write_tables(const std::vector<NamedTables>& entries) {
  Writer w;
  w.bytes.assign(kMagic.begin(), kMagic.end());
  w.number(kVersion);
  w.number(static_cast<std::uint32_t>(entries.size()));
  for (const NamedTables& entry : entries) {
    w.number(static_cast<std::uint32_t>(entry.layer.size()));
    w.bytes.insert(w.bytes.end(), entry.layer.begin(), entry.layer.end());
    const Tables& t = entry.tables;
    for (const int number : numbers_of(t.shape)) w.number(static_cast<std::uint32_t>(number));
    w.numbers(t.bases), w.numbers(t.groups), w.numbers(t.offsets);
    w.numbers(t.row_masks), w.numbers(t.column_masks);
    w.numbers(t.first_rows), w.numbers(t.first_columns);
  }
  w.number(checksum(w.bytes.data(), w.bytes.size()));
  return w.bytes;
}

std::vector<NamedTables> read_tables(const std::vector<std::uint8_t>& bytes, const std::string& name) {
  const std::size_t end = bytes.size() < kChecksumBytes ? 0 : bytes.size() - kChecksumBytes;
  Reader reader(bytes, end, name);
  if (end < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin()))
    reader.refuse("it does not begin as they do");
  if (const std::uint32_t version = reader.number("the version"); version != kVersion)
    reader.refuse(fmt::format("version {}, this is for version {}", version, kVersion));
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kChecksumBytes; ++i) sum |= std::uint32_t{bytes[end + i]} << (8 * i);
  if (sum != checksum(bytes.data(), end)) reader.refuse("damaged: the checksum is another one");
  const std::uint32_t count = reader.number("the number of tables");
  std::vector<NamedTables> entries;
  for (std::uint32_t i = 0; i < count; ++i) {
    NamedTables entry;
    entry.layer = reader.text();
    Tables& t = entry.tables;
    t.shape = read_shape(reader);
    t.bases = reader.numbers<std::int32_t>("bases");
    t.groups = reader.numbers<std::int32_t>("displacements of groups");
    t.offsets = reader.numbers<std::int32_t>("offsets");
    t.row_masks = reader.numbers<std::uint32_t>("masks");
    t.column_masks = reader.numbers<std::uint32_t>("masks");
    t.first_rows = reader.numbers<std::int16_t>("coordinates");
    t.first_columns = reader.numbers<std::int16_t>("coordinates");
    if (const std::string wrong = check_tables(t); !wrong.empty())
      reader.refuse(fmt::format("table {} of layer '{}': {}", i, entry.layer, wrong));
    entries.push_back(std::move(entry));
  }
  if (reader.left() > 0) reader.refuse(fmt::format("{} bytes behind the last table", reader.left()));
  return entries;
}

std::string describe_tables(const NamedTables& entry) {
  const Tables& t = entry.tables;
  const TableShape& s = t.shape;
  const Alternatives others = alternatives_of(s);
  std::string layout(nth(kMapLayoutNames, s.layout));
  if (s.layout == MapLayout::kNchwc) layout += fmt::format("({})", s.block);
  std::string text = fmt::format(
      "{}: {} {} x {} x {} x {} (N x C x H x W) -> {} x {}, kernel {} x {}, stride {} x {}, dilation {} x "
      "{}, pads "
      "{} x {}, groups {}, threads {}\n",
      entry.layer, layout, s.images, s.channels, s.height, s.width, s.out_height, s.out_width, s.kernel_h,
      s.kernel_w, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w, s.pad_h, s.pad_w, s.groups,
      nth(kThreadOrderNames, s.order));
  text += fmt::format(
      "  {} bases, {} offsets, {} bytes ({} by k), masks ({}) {} bytes; im2col {} bytes, pointers {}\n",
      t.bases.size(), t.offsets.size(), t.table_bytes(), t.bytes_by_k(), nth(kMaskKindNames, s.masks()),
      t.mask_bytes(), others.im2col, others.pointers);
  return text;
}

std::string explain_address(const Tables& t, std::int64_t thread, int k) {
  const TableShape& s = t.shape;
  const Pixel pixel = s.pixel(thread);
  const int of_group = s.group_channels() * s.taps(), group = k / of_group;
  const Tap tap = t.tap(k % of_group);
  std::string text =
      fmt::format("thread {}, k {}: n {}, oh {}, ow {}, v {}, u {}, c {} -> ", thread, k, pixel.image,
                  pixel.row, pixel.column, tap.row, tap.column, group * s.group_channels() + tap.channel);
  if (!t.inside(thread, tap.row, tap.column)) return text + "padding";
  return text + fmt::format("element {}", t.base(thread, group) + t.rel(group, k % of_group));
}

void TableLibrary::use(const std::vector<std::uint8_t>& bytes, const std::string& name) {
  std::vector<NamedTables> read = read_tables(bytes, name);
  for (NamedTables& entry : read) entries_.push_back(std::move(entry));
}

const NamedTables* TableLibrary::find(const TableShape& shape) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const NamedTables& entry) { return entry.tables.shape == shape; });
  return found == entries_.end() ? nullptr : &*found;
}

Tables TableLibrary::tables_of(const std::string& layer, const TableShape& whole, const TableShape& tile) {
  if (records_) {
    for (const TableShape& shape : {whole, tile}) {
      if (find(shape) == nullptr) entries_.push_back({layer, compile_tables(shape)});
    }
  }
  const NamedTables* known = find(tile);
  if (known == nullptr) return compile_tables(tile);
  ++used_;
  return known->tables;
}

std::string TableLibrary::text(const Question& question) const {
  if (question.entry < 0 || to_size(question.entry) >= entries_.size())
    throw UserError(fmt::format("there is no table {}, there are {}", question.entry, entries_.size()));
  if (!question.thread && !question.k) {
    std::string text;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      text += fmt::format("{}: {}", i, describe_tables(entries_[i]));
    return text;
  }
  const NamedTables& entry = nth(entries_, question.entry);
  const TableShape& shape = entry.tables.shape;
  const std::int64_t thread = question.thread.value_or(0), most = std::int64_t{shape.channels} * shape.taps();
  const int k = question.k.value_or(0);
  if (thread < 0 || thread >= shape.threads())
    throw UserError(fmt::format("there is no thread {}, there are {}", thread, shape.threads()));
  if (k < 0 || k >= most) throw UserError(fmt::format("there is no k {}, there are {}", k, most));
  return explain_address(entry.tables, thread, k) + "\n";
}

}  // namespace tilebeat::offset_table
