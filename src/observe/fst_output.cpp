#include "observe/fst_output.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <lz4.h>

namespace tilebeat {
namespace {

constexpr std::size_t kBlockBytes = 16 << 20;  // of changes, before they are compressed
// Kinds of blocks.
constexpr char kHeader = 0, kGeometry = 3, kHierarchy = 6, kChanges = 8;
// Lengths of the fields of the header that are texts: who wrote it, and when, which is left empty.
constexpr std::size_t kWriterBytes = 128, kDateBytes = 119;
constexpr char kTimescale = -12;  // picoseconds
constexpr char kEnterScope = static_cast<char>(254), kLeaveScope = static_cast<char>(255), kWire = 16,
               kString = 21;
constexpr std::uint64_t kLengthOfText = 0xFFFFFFFF;

constexpr std::size_t kNumberBytes = 10;  // of the largest number

char* write_number(char* to, std::uint64_t number) {
  for (; number > 0x7F; number >>= 7) *to++ = static_cast<char>((number & 0x7F) | 0x80);
  *to++ = static_cast<char>(number);
  return to;
}

void put_number(std::string& to, std::uint64_t number) {
  std::array<char, kNumberBytes> bytes{};
  to.append(bytes.data(), write_number(bytes.data(), number));
}

// A number that is not negative, for a reader that takes the highest bit of the last byte for a sign.
void put_signed(std::string& to, std::uint64_t number) {
  for (; number > 0x3F; number >>= 7) to += static_cast<char>((number & 0x7F) | 0x80);
  to += static_cast<char>(number);
}

std::uint64_t number_at(const std::string& bytes, std::size_t& place) {
  std::uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes[place++]);
    number |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80) == 0) return number;
  }
}

// Eight bytes, the highest first.
void put_word(std::string& to, std::uint64_t word) {
  word = __builtin_bswap64(word);
  to.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

std::string compressed(std::string_view bytes) {
  std::string to(to_size(LZ4_compressBound(to_int(bytes.size()))), '\0');
  to.resize(to_size(LZ4_compress_default(bytes.data(), to.data(), to_int(bytes.size()), to_int(to.size()))));
  return to;
}

// A block: its kind, its length with that of the length itself, and what it has.
std::string block(char kind, const std::string& body) {
  std::string all(1, kind);
  put_word(all, body.size() + sizeof(std::uint64_t));
  return all + body;
}

}  // namespace

std::string FstOutput::header() const {
  constexpr double kEndianTest = 2.7182818284590452354;
  std::string body;
  put_word(body, to_unsigned(begin_));
  put_word(body, to_unsigned(end_));
  body.append(reinterpret_cast<const char*>(&kEndianTest), sizeof(kEndianTest));
  put_word(body, kBlockBytes);
  put_word(body, scopes_);
  put_word(body, chains_.size());  // variables
  put_word(body, chains_.size());  // those that are no aliases
  put_word(body, blocks_);
  body += kTimescale;
  std::string writer = "tilebeat";
  writer.resize(kWriterBytes);
  body += writer;
  body.append(kDateBytes, '\0');
  body += '\0';       // Verilog
  put_word(body, 0);  // of the time
  return block(kHeader, body);
}

void FstOutput::open(const std::vector<SignalInfo>& signals, Picoseconds begin, Picoseconds end) {
  begin_ = begin, end_ = end;
  std::string lengths, scopes;
  walk_scopes(
      signals,
      [&](const std::string& scope) {
        ++scopes_;
        scopes += kEnterScope;
        scopes += '\0';                        // a module
        scopes.append(scope).append(2, '\0');  // and its component, which has no name
      },
      [&] { scopes += kLeaveScope; },
      [&](int rank) {
        const SignalInfo& signal = nth(signals, rank);
        const bool is_text = signal.radix == Radix::kText;
        chains_.emplace_back().width_bits = is_text ? 0 : signal.width_bits;
        chains_.back().at_beginning.assign(to_size(chains_.back().width_bits), 'x');
        scopes += is_text ? kString : kWire;
        scopes += '\0';  // no direction
        scopes.append(name_with_range(signal)).append(1, '\0');
        put_number(scopes, to_unsigned(std::int64_t{chains_.back().width_bits}));
        put_number(scopes, 0);  // no alias
        put_number(lengths, is_text ? kLengthOfText : to_unsigned(std::int64_t{signal.width_bits}));
      });
  sink_(header());
  std::string geometry;
  put_word(geometry, lengths.size());
  put_word(geometry, chains_.size());
  sink_(block(kGeometry, geometry + lengths));
  std::string hierarchy;
  put_word(hierarchy, scopes.size());
  sink_(block(kHierarchy, hierarchy + compressed(scopes)));
}

void FstOutput::advance_to(Picoseconds at) {
  if (!times_.empty() && times_.back() == at) return;
  if (block_bytes_ > kBlockBytes) write_block();
  times_.push_back(at);
}

// Begins a change: the steps since the last one, and above them `kind`, of `kind_bits` bits. Returns the
// place for what follows, with room for `more` bytes and a word of rubbish.
char* FstOutput::begin_change(Chain& chain, Picoseconds at, std::uint64_t kind, int kind_bits,
                              std::size_t more) {
  advance_to(at);
  const std::int64_t step = ssize(times_) - 1;
  chain.last = chain.size;
  const std::size_t wanted = chain.size + kNumberBytes + more + sizeof(std::uint64_t);
  if (chain.bytes.size() < wanted) chain.bytes.resize(2 * wanted);
  return write_number(&chain.bytes[chain.size],
                      to_unsigned(step - std::exchange(chain.step, step)) << kind_bits | kind);
}

void FstOutput::end_change(Chain& chain, const char* end) {
  chain.size = to_size(end - chain.bytes.data());
  block_bytes_ += chain.size - chain.last;
}

void FstOutput::value(Picoseconds at, int rank, const std::uint64_t* words) {
  Chain& chain = nth(chains_, rank);
  const auto width = to_size(chain.width_bits);
  if (width == 1)
    return end_change(chain, words != nullptr ? begin_change(chain, at, *words << 1, 2, 0)
                                              : begin_change(chain, at, 1, 4, 0));
  if (words == nullptr)
    return end_change(chain, std::fill_n(begin_change(chain, at, 1, 1, width), width, 'x'));
  // The bits, the highest first.
  char* to = begin_change(chain, at, 0, 1, width / 8 + sizeof(std::uint64_t));
  char* const end = to + (width + 7) / 8;
  const int shift = -chain.width_bits & (kSignalWordBits - 1);
  for (std::size_t i = (width - 1) / kSignalWordBits; to < end; --i, to += sizeof(std::uint64_t)) {
    std::uint64_t word = words[i] << shift;
    if (i > 0 && shift > 0) word |= words[i - 1] >> (kSignalWordBits - shift);
    word = __builtin_bswap64(word);
    std::memcpy(to, &word, sizeof(word));
  }
  end_change(chain, end);
}

void FstOutput::text(Picoseconds at, int rank, std::string_view text) {
  Chain& chain = nth(chains_, rank);
  char* const to = begin_change(chain, at, 0, 1, kNumberBytes + text.size());
  end_change(chain, std::copy(text.begin(), text.end(), write_number(to, text.size())));
}

// The value after the last change, a character a bit; a text has none.
std::string FstOutput::last_value(const Chain& chain) {
  std::size_t place = chain.last;
  const std::uint64_t head = number_at(chain.bytes, place);
  if (chain.width_bits == 1) return (head & 1) != 0 ? "x" : (head & 2) != 0 ? "1" : "0";
  std::string value;
  for (int bit = 0; bit < chain.width_bits; ++bit) {
    const auto byte = static_cast<std::uint8_t>(chain.bytes[place + to_size(bit / 8)]);
    value += (head & 1) != 0 ? 'x' : (byte >> (7 - bit % 8) & 1) != 0 ? '1' : '0';
  }
  return value;
}

void FstOutput::write_block() {
  std::string values, changes, index, times;
  std::uint64_t memory = 0;  // that a reader needs for the changes
  std::uint64_t place = 1,
                last = 0;       // in the changes, where a byte names the way in which they are compressed
  std::uint64_t unchanged = 0;  // signals
  for (Chain& chain : chains_) {
    values += chain.at_beginning;
    if (chain.size == 0) {
      ++unchanged;
      continue;
    }
    if (unchanged > 0) put_number(index, std::exchange(unchanged, 0) << 1);
    put_signed(index, (place - std::exchange(last, place)) << 1 | 1);
    const std::string_view plain(chain.bytes.data(), chain.size);
    const std::string packed = compressed(plain);
    const bool smaller = packed.size() < plain.size();
    const std::size_t before = changes.size();
    put_number(changes, smaller ? plain.size() : 0);
    changes += smaller ? std::string_view(packed) : plain;
    place += changes.size() - before;
    memory += plain.size();
    chain.at_beginning = last_value(chain);
    chain.step = 0, chain.size = 0;
  }
  if (unchanged > 0) put_number(index, unchanged << 1);
  Picoseconds before = 0;
  for (const Picoseconds time : times_) put_number(times, to_unsigned(time - std::exchange(before, time)));
  std::string body;
  put_word(body, to_unsigned(times_.front()));
  put_word(body, to_unsigned(times_.back()));
  put_word(body, memory);
  put_number(body, values.size());
  put_number(body, values.size());  // as large as before: it is not compressed
  put_number(body, chains_.size());
  body += values;
  put_number(body, chains_.size());
  body += '4';  // LZ4
  body += changes + index;
  put_word(body, index.size());
  body += times;
  put_word(body, times.size());
  put_word(body, times.size());  // nor is this compressed
  put_word(body, times_.size());
  sink_(block(kChanges, body));
  ++blocks_;
  times_.clear();
  block_bytes_ = 0;
}

void FstOutput::close(Picoseconds end, const std::string&) {
  advance_to(end);
  write_block();
  rewrite_(header());
}

}  // namespace tilebeat
