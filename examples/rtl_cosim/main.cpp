// A user's Verilog inside the simulated switch array: in each clock it gets what the simulator's switch and
// parameter buffer hand on, and what it computes is compared with what the simulator's PE array has.
//     rtl_cosim HW.json LAYER.json
// Exit status 1: they differ; the first difference is printed with its clock.
#include "Vuser_array.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <tilebeat/tilebeat.h>

namespace {

constexpr int kRows = 4, kColumns = 4, kWordBytes = 4;

// A field of a port of the session.
struct Field {
  std::int64_t port = -1, field = -1;
};

[[noreturn]] void give_up(const tilebeat_session* session) {
  std::fprintf(stderr, "%s\n", tilebeat_session_error(session));
  std::exit(2);
}

Field find(const tilebeat_session* session, const std::string& port, const std::string& field) {
  Field found;
  found.port = tilebeat_port_named(session, port.c_str());
  found.field = tilebeat_field_named(session, found.port, field.c_str());
  if (found.field >= 0) return found;
  std::fprintf(stderr, "there is no %s, %s\n", port.c_str(), field.c_str());
  std::exit(2);
}

// The value of a field of at most 32 bits; `valid` says whether it has one.
std::uint32_t get(tilebeat_session* session, Field of, bool& valid) {
  std::uint32_t value = 0;
  int is_valid = 0;
  if (tilebeat_get(session, of.port, of.field, &value, sizeof value, &is_valid) != TILEBEAT_OK)
    give_up(session);
  valid = is_valid != 0;
  return value;
}

bool expect(tilebeat_session* session, Field of, std::uint32_t value) {
  const tilebeat_status status = tilebeat_expect(session, of.port, of.field, &value);
  if (status == TILEBEAT_FAILED) std::printf("%s\n", tilebeat_session_error(session));
  if (status > TILEBEAT_FAILED) give_up(session);
  return status == TILEBEAT_OK;
}

// The ports around the array.
struct Ports {
  explicit Ports(const tilebeat_session* session) {
    const auto number = [](int i) { return std::to_string(i); };
    for (int r = 0; r < kRows; ++r)
      lanes[r] = find(session, "soc.engine.switch.sw" + number(r), "sw" + number(r));
    for (int c = 0; c < kColumns; ++c)
      words[c] = find(session, "soc.engine.parameters.w" + number(c), "w" + number(c));
    beat = find(session, "soc.engine.switch.registers", "beat");
    // Of every element its sum and its accumulator, row by row.
    for (int pe = 0; pe < kRows * kColumns; ++pe) {
      sums[pe] = {tilebeat_port_named(session, "soc.engine.pe"), 2 * pe};
      accumulators[pe] = {sums[pe].port, 2 * pe + 1};
    }
  }
  std::array<Field, kRows> lanes;
  std::array<Field, kColumns> words;
  Field beat;
  std::array<Field, kRows * kColumns> sums, accumulators;
};

// What the switch hands on in this clock. Lanes without a pixel have the zero point, which is 0.
void drive(tilebeat_session* session, const Ports& ports, Vuser_array& array) {
  bool valid = false, loads = false;
  for (int r = 0; r < kRows; ++r) array.x[r] = get(session, ports.lanes[r], valid);
  for (int c = 0; c < kColumns; ++c) {
    array.w[c] = get(session, ports.words[c], valid);
    loads |= valid;
  }
  array.load = loads;
  array.first = get(session, ports.beat, valid) == 0;
  get(session, ports.sums[0], valid);
  array.mac = valid;
}

bool compare(tilebeat_session* session, const Ports& ports, const Vuser_array& array) {
  for (int pe = 0; pe < kRows * kColumns; ++pe) {
    if (!expect(session, ports.sums[pe], array.sum[pe])) return false;
    if (!expect(session, ports.accumulators[pe], array.accumulator[pe])) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  static_assert(kWordBytes == sizeof(std::uint32_t), "a word of the array's operands is a lane's");
  if (argc != 3) return 2;
  const std::array options{"--vectors-ports", "soc.engine.*"};
  tilebeat_job job{};
  job.size = sizeof job;
  job.hardware = argv[1], job.workload = argv[2];
  job.options = options.data(), job.option_count = options.size();
  tilebeat_session* session = nullptr;
  if (tilebeat_open(&job, 1000, &session) != TILEBEAT_OK) give_up(session);
  const Ports ports(session);
  Vuser_array array;
  long compared = 0;
  bool equal = true;
  while (equal) {
    if (tilebeat_step(session, 1) != TILEBEAT_OK) give_up(session);
    if (tilebeat_is_over(session) != 0) break;
    drive(session, ports, array);
    array.clk = 0, array.eval();
    if (array.mac != 0) equal = compare(session, ports, array), ++compared;
    array.clk = 1, array.eval();
  }
  if (equal)
    std::printf("equal: %lld clocks, %ld of them with products\n",
                static_cast<long long>(tilebeat_clock(session)), compared);
  tilebeat_close(session);
  return equal && compared > 0 ? 0 : 1;
}
