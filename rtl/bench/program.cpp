#include "program.h"

#include "vectors.h"

#include <fstream>
#include <stdexcept>

namespace bench {

Settings::Settings(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  for (std::string name, value; file >> name >> value;) values_[name] = value;
}

std::vector<Instruction> read_program(const std::string& folder, const std::string& processor) {
  const auto programs = read_programs(folder + "/vectors");
  const auto found = programs.find(processor);
  if (found == programs.end()) throw std::runtime_error("the vectors have no processor " + processor);
  const std::vector<Executed>& executed = found->second;
  std::vector<Instruction> program(executed.size());
  std::ifstream bytes(folder + "/program.image", std::ios::binary);
  for (std::size_t i = 0; i < program.size(); i++) {
    if (!bytes.read(reinterpret_cast<char*>(program[i].bytes), 64))
      throw std::runtime_error("program.image is too short");
    program[i].begin = executed[i].begin;
    program[i].end = executed[i].end;
    program[i].text = executed[i].text;
  }
  return program;
}

}  // namespace bench
