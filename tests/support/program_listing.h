#pragma once

// What `tilebeat plan --disassemble` prints, as a file for `tilebeat run --program`.

#include "config/hardware_config.h"
#include "planner/program/planner.h"
#include "program/plan.h"
#include "workload/npy.h"

#include <sstream>
#include <string>

#include <fmt/format.h>

namespace tilebeat::testing {

/// The programs of a listing, with the data and the outputs of the plan. Every second segment is a file in
/// `folder`, the others are written out.
inline std::string program_of_listing(const std::string& listing, const std::string& config,
                                      const std::string& workload, const std::string& folder) {
  const HardwareConfig hardware = load_hardware(config);
  const Plan plan = make_plan(load_workload(workload), hardware);
  std::string text = "# from a listing\n";
  bool as_file = false;
  for (const MemorySegment& segment : plan.image) {
    if (segment.what.rfind("program ", 0) == 0) continue;  // that is what the listing has
    if (as_file) {
      const std::string name = fmt::format("data_{:x}.npy", segment.address);
      write_npy(folder + "/" + name,
                {{static_cast<std::int64_t>(segment.bytes.size())}, DType::kUint8, segment.bytes});
      text += fmt::format(".data {:#x} {}\n", segment.address, name);
    } else {
      text += fmt::format(".bytes {:#x}", segment.address);
      for (const std::uint8_t byte : segment.bytes) text += fmt::format(" {:02x}", byte);
      text += "\n";
    }
    as_file = !as_file;
  }
  const auto tensor = [&](const std::string& name, const Placement& place) {
    text += fmt::format(".tensor {} {:#x} {}", name, place.address, dtype_name(place.info.dtype));
    for (const std::int64_t extent : place.info.shape) text += fmt::format(" {}", extent);
    text += "\n";
  };
  for (const std::string& name : plan.outputs) tensor(name, plan.tensors.at(name));
  // program LABEL of PROCESSOR at ADDRESS: ..., then a line an instruction.
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("program ", 0) == 0) {
      const std::size_t begin = line.find(" of ") + 4;
      text += ".program " + line.substr(begin, line.find(" at ") - begin) + "\n";
    } else if (line.rfind("  0x", 0) == 0) {
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace tilebeat::testing
