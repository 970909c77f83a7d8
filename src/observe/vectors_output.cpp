#include "observe/vectors_output.h"

#include "observe/signal_order.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <fnmatch.h>

namespace tilebeat {
namespace {

constexpr int kWordBits = 64;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

// The lowest `bits` bits.
std::uint64_t mask_of(int bits) {
  return ~std::uint64_t{0} >> (kWordBits - bits);
}

}  // namespace

VectorsOutput::VectorsOutput(VectorOptions options, VectorSink sink)
    : options_(std::move(options)),
      sink_(std::move(sink)),
      matched_(options_.patterns.size(), false),
      clocks_(options_.clock_ps),
      dram_clocks_(options_.dram_clock_ps) {}

SignalId VectorsOutput::declare(const SignalInfo& info) {
  check_identifiers(info);
  signals_.push_back(info);
  return to_int(signals_.size()) - 1;
}

bool VectorsOutput::wants(const std::string& name) {
  bool wanted = options_.patterns.empty();
  for (std::size_t i = 0; i < options_.patterns.size(); ++i) {
    if (fnmatch(options_.patterns[i].c_str(), name.c_str(), 0) != 0) continue;
    matched_[i] = true, wanted = true;
  }
  return wanted;
}

// All signals are declared: finds their ports.
void VectorsOutput::open() {
  opened_ = true;
  const std::vector<SignalId> order = ordered_by_path(signals_);
  rank_.resize(signals_.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) nth(rank_, order[rank]) = to_int(rank);
  VectorPorts ports = vector_ports(signals_, order);
  descriptions_ = std::move(ports.ports);
  for (const VectorPort& port : descriptions_) open_port(port);
  places_.resize(signals_.size());
  for (const SignalId signal : order) open_place(signal, nth(ports.places, signal));
}

void VectorsOutput::open_port(const VectorPort& description) {
  Port& port = ports_.emplace_back();
  port.wanted = wants(description.name);
  port.clocks = description.of_dram ? &dram_clocks_ : &clocks_;
  port.records = VectorRecords(description.name, description.field_bytes(), options_.text);
  if (description.kind == PortRecordKind::kChanges) {
    port.value_bytes = description.fields.back().bytes();
    port.last.resize(description.members.size());
    port.touched.resize((description.members.size() + kWordBits - 1) / kWordBits);
    return;
  }
  port.is_bank = description.kind == PortRecordKind::kBank;
  if (description.fields.empty()) return;
  for (const VectorField& field : description.fields) port.fields.append(field.bytes(), '\0');
  port.unknown = to_int(description.fields.size()) - 1;
  for (int first = 0; first < port.unknown; first += 8)
    port.all_known += static_cast<char>(mask_of(std::min(8, port.unknown - first)));
}

// Signals of one bit are 0 until they change, others unknown.
void VectorsOutput::open_place(SignalId signal, const VectorPlace& from) {
  Place& place = nth(places_, signal);
  const int bits = nth(signals_, signal).width_bits;
  Port& port = nth(ports_, from.port);
  place.bytes = static_cast<std::uint32_t>((bits + 7) / 8);
  place.wide = bits > kWordBits;
  place.latest_known = bits == 1;
  place.mask = bits <= kWordBits ? mask_of(bits) : mask_of((bits - 1) % 8 + 1);
  place.field = from.field, place.member = from.member, place.strobe = from.strobe;
  if (from.strobe) port.strobe = signal;
  if (port.wanted) place.port = from.port;
  if (from.field >= 0) {
    const std::vector<VectorField>& fields = nth(descriptions_, from.port).fields;
    for (int i = 0; i < from.field; ++i) place.offset += static_cast<std::uint32_t>(nth(fields, i).bytes());
    if (bits == 1) set_known(port, from.field, true);
  } else if (from.member >= 0 && nth(signals_, signal).radix != Radix::kText) {
    if (bits == 1 && port.wanted) record_change(port, {0, 0, signal, Change::Kind::kValue});
  }
}

// The port of a signal; null: it is not written.
VectorsOutput::Port* VectorsOutput::port_of(SignalId signal) {
  if (!opened_) open();
  const int port = nth(places_, signal).port;
  return port >= 0 ? &nth(ports_, port) : nullptr;
}

// From now on the strobe of the port carries nothing: its pulses and the changes of its signals make records.
void VectorsOutput::tell_changes(Port& port) {
  const bool has_records = std::exchange(port.way, Port::Way::kByChanges) == Port::Way::kAtOnce;
  port.records.close_lane();
  if (!has_records || port.records.count() == 0) return;
  // The last record has all fields, so that changes before it make no difference.
  const Picoseconds last = port.records.last_clock() * port.clocks->period_ps();
  port.fields = port.records.last_fields();
  port.unknown = 0, port.next = port.records.last_clock() + 1;
  const auto is_over = [last](const Change& change) { return change.at <= last; };
  std::stable_partition(port.changes.begin(), port.changes.end(), is_over);
  forget(port, to_size(std::count_if(port.changes.begin(), port.changes.end(), is_over)));
  for (Place& place : places_) {
    if (place.port < 0 || place.field < 0 || place.wide || &nth(ports_, place.port) != &port) continue;
    if (place.latest_at > last) continue;
    place.latest = 0, place.latest_known = true, place.latest_at = last;
    std::memcpy(&place.latest, port.fields.data() + place.offset, place.bytes);
  }
}

// Keeps bytes of a value that waits, of a signal or group that has `of` of them. Returns their place.
std::uint64_t VectorsOutput::keep(Port& port, const std::uint8_t* bytes, std::size_t count, std::size_t of) {
  const std::size_t at = port.bytes.size();
  port.bytes.append(reinterpret_cast<const char*>(bytes), std::min(count, of));
  if (count < of) port.bytes.append(of - count, '\0');
  return at;
}

void VectorsOutput::add(Port& port, const Change& change) {
  port.in_order &= port.changes.empty() || port.changes.back().at <= change.at;
  port.changes.push_back(change);
  const auto size = [&port] { return port.changes.size() + port.bytes.size() / sizeof(Change); };
  if (size() < port.look_at) return;
  look(port, options_.now());
  port.look_at = std::max(kLookAt, 2 * size());
}

// Whether a value of at most 64 bits is the one that the signal has by then; else it is the latest one.
bool VectorsOutput::repeats(const Port& port, Place& place, Picoseconds at, std::uint64_t value, bool known) {
  if (at < place.latest_at) return false;
  if (place.latest_at > port.group_at && known == place.latest_known && (value == place.latest || !known))
    return true;
  place.latest = value, place.latest_known = known, place.latest_at = at;
  return false;
}

void VectorsOutput::change(SignalId signal, Picoseconds at, std::uint64_t value) {
  Port* const port = port_of(signal);
  if (port == nullptr) return;
  Place& place = nth(places_, signal);
  if (place.wide) return change(signal, at, reinterpret_cast<const std::uint8_t*>(&value), sizeof value);
  value &= place.mask;
  if (!repeats(*port, place, at, value, true)) add(*port, {at, value, signal, Change::Kind::kValue});
}

void VectorsOutput::change(SignalId signal, Picoseconds at, const std::uint8_t* bytes, std::size_t count) {
  Port* const port = port_of(signal);
  if (port == nullptr) return;
  const Place& place = nth(places_, signal);
  if (!place.wide) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, std::min<std::size_t>(count, place.bytes));
    return change(signal, at, value);
  }
  const std::uint64_t kept = keep(*port, bytes, count, place.bytes);
  char& top = port->bytes[kept + place.bytes - 1];
  top = static_cast<char>(top & static_cast<char>(place.mask));
  add(*port, {at, kept, signal, Change::Kind::kBytes});
}

void VectorsOutput::unknown(SignalId signal, Picoseconds at) {
  Port* const port = port_of(signal);
  if (port == nullptr) return;
  Place& place = nth(places_, signal);
  if (place.wide || !repeats(*port, place, at, 0, false)) add(*port, {at, 0, signal, Change::Kind::kUnknown});
}

void VectorsOutput::pulse(SignalId signal, Picoseconds begin, Picoseconds end) {
  Port* const port = port_of(signal);
  if (port == nullptr) return;
  if (port->way != Port::Way::kByChanges) tell_changes(*port);
  Pulse& pulse = port->pulse;
  if (pulse.begin <= begin && begin <= pulse.end) {
    pulse.end = std::max(pulse.end, end);
    return;
  }
  draw_pulse(*port, INT64_MAX);
  pulse = {begin, end, false};
}

// Adds what the pulse of a port's strobe does before `limit`.
void VectorsOutput::draw_pulse(Port& port, Picoseconds limit) {
  Pulse& pulse = port.pulse;
  if (pulse.end < pulse.begin) return;
  const auto edge = [&](Picoseconds at, std::uint64_t value) {
    port.in_order &= port.changes.empty() || port.changes.back().at <= at;
    port.changes.push_back({at, value, port.strobe, Change::Kind::kValue});
  };
  if (pulse.begin < limit && !std::exchange(pulse.risen, true)) edge(pulse.begin, 1);
  if (pulse.end >= limit) return;
  edge(pulse.end, 0);
  pulse.end = pulse.begin - 1;
}

const VectorsOutput::Side& VectorsOutput::side_of(const SignalGroup& group) {
  if (!opened_) open();
  if (group.place < 0) {
    group.place = to_int(sides_.size());
    sides_.push_back(find_side(group));
  }
  return nth(sides_, group.place);
}

VectorsOutput::Side VectorsOutput::find_side(const SignalGroup& group) const {
  Side side;
  side.port = nth(places_, group.signals.front()).port;
  side.bytes = group.total_bytes;
  std::size_t from = 0;
  for (const SignalId signal : group.signals) {
    const Place& place = nth(places_, signal);
    side.scattered |= place.port != side.port || (place.port >= 0 && place.field < 0);
    side.fields.push_back(place.field);
    const bool goes_on =
        !side.pieces.empty() && side.pieces.back().to + side.pieces.back().bytes == place.offset;
    if (goes_on)
      side.pieces.back().bytes += place.bytes;
    else
      side.pieces.push_back({place.offset, from, place.bytes});
    from += place.bytes;
  }
  if (side.port >= 0) side.strobe = nth(ports_, side.port).strobe;
  side.whole = !side.scattered && side.strobe >= 0 &&
               side.fields.size() + 1 == nth(descriptions_, side.port).fields.size();
  return side;
}

void VectorsOutput::change(const SignalGroup& group, Picoseconds at, const std::uint8_t* packed) {
  if (group.signals.empty()) return;
  const Side& side = side_of(group);
  if (side.scattered) return Trace::change(group, at, packed);
  if (side.port < 0) return;
  Port& port = nth(ports_, side.port);
  port.group_at = std::max(port.group_at, at);
  const std::uint64_t kept = keep(port, packed, side.bytes, side.bytes);
  add(port, {at, kept, group.place, Change::Kind::kGroup});
}

VectorsOutput::Port* VectorsOutput::carrying_port(SignalId strobe, const SignalGroup& group) {
  if (group.signals.empty()) return nullptr;
  const Side& side = side_of(group);
  if (!side.whole || side.strobe != strobe) return nullptr;
  Port& port = nth(ports_, side.port);
  if (port.way == Port::Way::kUnused) port.way = Port::Way::kAtOnce;
  return port.way == Port::Way::kAtOnce ? &port : nullptr;
}

void VectorsOutput::carry(SignalId strobe, const SignalGroup& group, Picoseconds begin, Picoseconds end,
                          const std::uint8_t* packed) {
  Port* const port = carrying_port(strobe, group);
  if (port == nullptr) return Trace::carry(strobe, group, begin, end, packed);
  const Side& side = side_of(group);
  if (port->records.many()) port->records.pass_on(options_.now() / port->clocks->period_ps(), sink_);
  const Cycle from = port->clocks->from(begin);
  const Picoseconds period = port->clocks->period_ps();
  const Cycle clocks = end - begin == period ? 1 : (end - begin + period - 1) / period;
  for (Cycle clock = from; clock < from + clocks; ++clock) {
    char* const to = port->records.is_next(clock) ? port->records.add(clock) : port->records.put(clock);
    side.copy(packed, to);
    std::copy(port->all_known.begin(), port->all_known.end(), to + side.bytes);
  }
}

bool VectorsOutput::ignores(SignalId strobe, const SignalGroup& group) {
  if (!opened_) open();
  const auto is_kept = [this](SignalId signal) { return nth(places_, signal).port >= 0; };
  return !is_kept(strobe) && std::none_of(group.signals.begin(), group.signals.end(), is_kept);
}

RecordLane* VectorsOutput::lane(SignalId strobe, const SignalGroup& group) {
  Port* const port = carrying_port(strobe, group);
  if (port == nullptr || side_of(group).pieces.size() > 1) return nullptr;
  return &port->records.lane(*port->clocks, side_of(group).bytes, port->all_known);
}

void VectorsOutput::text(SignalId signal, Picoseconds at, std::string_view text) {
  if (port_of(signal) == nullptr) return;
  auto known = texts_.find(text);
  if (known == texts_.end()) known = texts_.emplace(text).first;
  late_.push_back({at, signal, &*known});
}

// Makes records of what changes before `limit`.
void VectorsOutput::look(Port& port, Picoseconds limit) {
  draw_pulse(port, limit);
  if (!port.in_order)
    std::stable_sort(port.changes.begin(), port.changes.end(),
                     [](const Change& a, const Change& b) { return a.at < b.at; });
  port.in_order = true;
  std::size_t done = 0;
  while (done < port.changes.size() && port.changes[done].at < limit) {
    if (!port.last.empty()) {
      std::size_t end = done + 1;
      while (end < port.changes.size() && port.changes[end].at == port.changes[done].at) ++end;
      record_instant(port, done, end);
      done = end;
    } else if (port.is_bank) {
      const Picoseconds at = port.changes[done].at;
      while (done < port.changes.size() && port.changes[done].at == at) apply(port, port.changes[done++]);
      record_bank(port, at);
    } else {
      emit_before(port, port.changes[done].at);
      apply(port, port.changes[done++]);
    }
  }
  if (port.records.many()) {
    // Of a port that is told of whole records, some may be ahead of the present.
    const bool at_once = port.way == Port::Way::kAtOnce;
    port.records.pass_on(at_once ? options_.now() / port.clocks->period_ps() : INT64_MAX, sink_);
  }
  forget(port, done);
}

// Of the changes of a register at one instant the last one counts, where it is one.
void VectorsOutput::record_instant(Port& port, std::size_t first, std::size_t end) {
  std::size_t low = port.touched.size(), high = 0;  // words of `touched`
  for (std::size_t i = first; i < end; ++i) {
    const auto member = to_size(nth(places_, port.changes[i].target).member);
    port.last[member] = to_int(i);
    port.touched[member / kWordBits] |= std::uint64_t{1} << member % kWordBits;
    low = std::min(low, member / kWordBits), high = std::max(high, member / kWordBits);
  }
  for (std::size_t word = low; word <= high; ++word) {
    for (std::uint64_t left = std::exchange(port.touched[word], 0); left != 0; left &= left - 1) {
      const std::size_t member = word * kWordBits + to_size(__builtin_ctzll(left));
      record_change(port, nth(port.changes, port.last[member]));
    }
  }
}

// Forgets the first changes, and the bytes that only they had.
void VectorsOutput::forget(Port& port, std::size_t count) {
  port.changes.erase(port.changes.begin(), port.changes.begin() + to_signed(count));
  if (port.bytes.empty()) return;
  std::string bytes;
  for (Change& change : port.changes) {
    if (change.kind != Change::Kind::kBytes && change.kind != Change::Kind::kGroup) continue;
    const std::size_t size = change.kind == Change::Kind::kGroup ? nth(sides_, change.target).bytes
                                                                 : nth(places_, change.target).bytes;
    const std::size_t from = std::exchange(change.value, bytes.size());
    bytes.append(port.bytes, from, size);
  }
  port.bytes.swap(bytes);
}

void VectorsOutput::set_known(Port& port, int field, bool known) {
  char& byte = port.fields[port.fields.size() - port.all_known.size() + to_size(field) / 8];
  const auto bit = static_cast<char>(1 << field % 8);
  if (((byte & bit) != 0) == known) return;
  byte = static_cast<char>(byte ^ bit);
  port.unknown += known ? -1 : 1;
}

// A change of a port with a strobe.
void VectorsOutput::apply(Port& port, const Change& change) {
  if (change.kind == Change::Kind::kGroup) {
    const Side& side = nth(sides_, change.target);
    side.copy(port.bytes.data() + change.value, port.fields.data());
    for (std::size_t i = 0; port.unknown > 0 && i < side.fields.size(); ++i)
      set_known(port, side.fields[i], true);
    return;
  }
  const Place& place = nth(places_, change.target);
  if (place.strobe) port.high = change.value != 0;
  if (place.field < 0) return;
  char* const to = port.fields.data() + place.offset;
  if (change.kind == Change::Kind::kBytes) {
    std::memcpy(to, port.bytes.data() + change.value, place.bytes);
  } else {
    std::memcpy(to, &change.value, std::min<std::size_t>(place.bytes, kWordBytes));
    if (place.wide) std::memset(to + kWordBytes, 0, place.bytes - kWordBytes);
  }
  set_known(port, place.field, change.kind != Change::Kind::kUnknown);
}

// A change of a register.
void VectorsOutput::record_change(Port& port, const Change& change) {
  Place& place = nth(places_, change.target);
  const bool known = change.kind != Change::Kind::kUnknown;
  bool differs = known != place.known;
  place.known = known;
  std::string_view value(reinterpret_cast<const char*>(&change.value),
                         std::min<std::size_t>(place.bytes, kWordBytes));
  if (change.kind == Change::Kind::kBytes) {
    std::string& present = wide_[change.target];
    value = std::string_view(port.bytes).substr(change.value, place.bytes);
    differs |= present != value;
    present = value;
  } else {
    differs |= known && change.value != place.value;
    if (known) place.value = change.value;
  }
  if (!differs) return;
  const auto member = static_cast<std::uint16_t>(place.member);
  static_assert(sizeof member * 8 == kMemberBits);
  char* const to = port.records.add(port.clocks->at(change.at));
  std::memcpy(to, &member, sizeof member);
  to[sizeof member] = known ? 1 : 0;
  std::memcpy(to + sizeof member + 1, value.data(), value.size());
  std::memset(to + sizeof member + 1 + value.size(), 0, port.value_bytes - value.size());
}

// Makes the record of a bank that may have changed at `at`.
void VectorsOutput::record_bank(Port& port, Picoseconds at) {
  if (!port.records.repeats(port.fields)) port.records.add(port.clocks->at(at), port.fields);
}

// Makes the records of the clocks that begin before `at` and have none yet.
void VectorsOutput::emit_before(Port& port, Picoseconds at) {
  const Cycle end = port.clocks->from(at);
  if (end <= port.next) return;
  for (Cycle clock = port.next; port.high && clock < end; ++clock) {
    port.records.add(clock, port.fields);
    if (port.records.many()) port.records.pass_on(INT64_MAX, sink_);
  }
  port.next = end;
}

// Texts come late, when a wait has ended.
void VectorsOutput::write_texts(Picoseconds end) {
  std::stable_sort(late_.begin(), late_.end(), [this](const Late& a, const Late& b) {
    return a.at != b.at ? a.at < b.at : nth(rank_, a.signal) < nth(rank_, b.signal);
  });
  for (std::size_t i = 0; i < late_.size() && late_[i].at <= end; ++i) {
    const Late& late = late_[i];
    if (late.at == 0 && i + 1 < late_.size() && late_[i + 1].at == 0 && late_[i + 1].signal == late.signal)
      continue;
    const Place& place = nth(places_, late.signal);
    VectorPort& description = nth(descriptions_, place.port);
    Port& port = nth(ports_, place.port);
    std::vector<std::string>& texts = description.texts;
    auto known = std::find(texts.begin(), texts.end(), *late.text);
    if (known == texts.end()) known = texts.insert(texts.end(), *late.text);
    std::string record;
    append_number(record, to_unsigned(place.member), description.fields[0].bytes());
    append_number(record, 1, description.fields[1].bytes());
    append_number(record, to_unsigned(known - texts.begin()), description.fields[2].bytes());
    port.records.add(port.clocks->at(late.at), record);
  }
}

void VectorsOutput::finish(Picoseconds end, ProgramVectors& programs,
                           const std::vector<VectorMemory>& memories) {
  if (!opened_) open();
  write_texts(end);
  std::string index;
  const auto describe = [&](const VectorPort& port, const VectorRecords& records, Picoseconds clock_ps) {
    index += (index.empty() ? "\n" : ",\n") + description_of(port, records.count(), clock_ps);
  };
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    Port& port = ports_[i];
    if (!port.wanted) continue;
    look(port, end + 1);
    const bool strobed = descriptions_[i].kind == PortRecordKind::kStrobed;
    if (strobed) emit_before(port, end);
    port.records.finish(strobed ? port.clocks->from(end) : INT64_MAX, sink_);
    describe(descriptions_[i], port.records, port.clocks->period_ps());
  }
  if (wants("instructions")) {
    VectorPort port;
    const VectorRecords records = programs.write(port, options_.text, sink_);
    describe(port, records, options_.clock_ps);
  }
  std::string banks;
  for (const VectorMemory& memory : memories)
    banks +=
        fmt::format("{}{{\"name\":\"{}\",\"bytes\":{}{}}}", banks.empty() ? "\n" : ",\n", memory.name,
                    memory.bytes, memory.file.empty() ? "" : fmt::format(",\"after\":\"{}\"", memory.file));
  pass_on(sink_, "ports.json",
          fmt::format(
              "{{\"version\":2,\"clock_ps\":{},\"clock\":\"a record of clock t holds between the edges at t "
              "x clock_ps and (t + 1) x clock_ps\",\"ports\":[{}\n],\"memories\":[{}\n]}}\n",
              options_.clock_ps, index, banks));
}

std::vector<std::string> VectorsOutput::unmatched_patterns() const {
  std::vector<std::string> unmatched;
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    if (!matched_[i]) unmatched.push_back(options_.patterns[i]);
  }
  return unmatched;
}

}  // namespace tilebeat
