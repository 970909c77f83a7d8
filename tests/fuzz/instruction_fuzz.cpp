// The binary form of instructions. What is decoded has the same bytes when it is encoded, and the same fields
// as text.
#include "fuzz_target.h"
#include "isa/instruction.h"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilebeat;
  InstructionBytes bytes{};
  std::copy_n(data, std::min(size, bytes.size()), bytes.begin());
  Instruction instruction;
  try {
    instruction = decode(bytes);
  } catch (const SimulationError&) {
    return 0;
  }
  fuzz::require(encode(instruction) == bytes);
  const std::string text = disassemble(instruction);
  fuzz::require(disassemble(assemble(text)) == text);
  return 0;
}
