#pragma once

#include "client/process.h"
#include "client/workplace.h"
#include "tilebeat/tilebeat.h"

#include <map>
#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): of C's interface
struct tilebeat_result {
  tilebeat_status status = TILEBEAT_BROKEN;
  std::string text, error, error_path;
  std::map<std::string, std::string> documents;
  std::vector<tilebeat::KeptTensor> tensors;
  std::vector<tilebeat_tensor> shown;  // of tensors
};

namespace tilebeat {

/// The name of the command.
inline constexpr const char* kProgram = "tilebeat";

/// The command's lines of errors, without its name in front.
std::string errors_of(const std::string& lines);
/// The JSON path of an error's first line; empty: it has none.
std::string path_in(const std::string& errors);
/// Notes how the command ended, of which `program` is the file.
void set_end(const ProcessEnd& end, const std::string& program, tilebeat_result& result);
/// Takes documents and tensors out of the folder of a command that has ended.
void take_files(const Workplace& place, tilebeat_result& result);
/// Makes what tilebeat_tensor_at hands out.
void show_tensors(tilebeat_result& result);

}  // namespace tilebeat
