// Vectors of a run of the product (`tilebeat run --vectors`), as they lie in a folder, and what makes ports
// of them.
#pragma once

#include "ports.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bench {

// A file of vectors.
struct File {
  Port port;
  std::vector<std::string> signals, values;
};

// The files of a folder, by the names of their ports.
class Folder {
 public:
  explicit Folder(const std::string& path);
  bool has(const std::string& name) const { return files_.count(name) != 0; }
  // Throws std::runtime_error where there is no such port.
  const File& at(const std::string& name) const;
  const std::map<std::string, File>& files() const { return files_; }

 private:
  std::string path_;
  std::map<std::string, File> files_;
};

// A port that is made from ports of the vectors, with a record for each of theirs, ordered by clock and
// number.
class Merged {
 public:
  Merged(Ports& ports, const std::string& name, std::vector<Field> fields);
  Merged(const Merged&) = delete;
  Merged& operator=(const Merged&) = delete;
  // Takes all records of a file; `number` comes first where it is not negative, then the named fields.
  void take(const File& file, int number, const std::vector<std::string>& fields);
  ~Merged();

 private:
  struct Record {
    std::uint64_t clock;
    int number;
    std::vector<std::uint8_t> bytes;
  };
  Port& to_;
  std::vector<Record> records_;
};

// The value of a register in every clock.
class Register {
 public:
  Register(const File& file, const std::string& signal);
  // Clocks rise from call to call.
  std::uint64_t at(std::uint64_t clock);

 private:
  const File& file_;
  std::uint64_t number_ = 0, value_ = 0;
  std::size_t next_ = 0;
};

// Ports "state.UNIT" of the units of an engine in the core `scope`, with the code of the unit's state in each
// clock in which it has one. Behind all other ports.
void read_states(const Folder& folder, const std::string& scope, const std::string& engine,
                 const std::vector<std::string>& units, const std::map<std::string, int>& codes,
                 Ports& ports);

// The last clock in which any port has a record.
std::uint64_t last_clock(const Ports& ports);

// When instructions of a processor began and ended, in program order.
struct Executed {
  std::string text;
  std::int64_t begin = -1, end = -1;
};
// Of every processor of the vectors, by its name.
std::map<std::string, std::vector<Executed>> read_programs(const std::string& path);

}  // namespace bench
