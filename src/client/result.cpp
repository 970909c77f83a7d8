#include "client/result.h"

#include <cstring>

namespace tilebeat {

// What begins with a slash behind "FILE: ". What follows an option is the name of a file.
std::string path_in(const std::string& errors) {
  const std::string error = errors.substr(0, errors.find('\n'));
  const std::size_t begin = error.find(": /");
  if (begin == std::string::npos || error.rfind("--", 0) == 0) return "";
  return error.substr(begin + 2, error.find_first_of(": ", begin + 2) - begin - 2);
}

static void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string errors_of(const std::string& lines) {
  std::string errors = "\n" + lines;
  replace_all(errors, std::string("\n") + kProgram + ": ", "\n");
  errors.erase(0, 1);
  while (!errors.empty() && errors.back() == '\n') errors.pop_back();
  return errors;
}

void set_end(const ProcessEnd& end, const std::string& program, tilebeat_result& result) {
  result.text = end.out;
  switch (end.how) {
    case ProcessEnd::How::kExited:
      result.status =
          end.status <= TILEBEAT_INVALID ? static_cast<tilebeat_status>(end.status) : TILEBEAT_BROKEN;
      break;
    case ProcessEnd::How::kCancelled:
      result.status = TILEBEAT_CANCELLED;
      break;
    case ProcessEnd::How::kSignalled:
    case ProcessEnd::How::kNotStarted:
    case ProcessEnd::How::kLost:
      result.status = TILEBEAT_BROKEN;
      break;
  }
  if (result.status == TILEBEAT_OK) return;
  result.error = errors_of(end.err);
  result.error_path = path_in(result.error);
  if (end.how == ProcessEnd::How::kNotStarted)
    result.error = program + ": cannot be started: " + std::strerror(end.status);
  else if (end.how == ProcessEnd::How::kLost)
    result.error = program + ": nobody knows how it ended: " + std::strerror(end.status);
  else if (end.how == ProcessEnd::How::kSignalled)
    result.error = program + ": ended by signal " + std::to_string(end.status);
  else if (result.status == TILEBEAT_CANCELLED)
    result.error = "cancelled";
}

void show_tensors(tilebeat_result& result) {
  for (const KeptTensor& tensor : result.tensors)
    result.shown.push_back({tensor.name.c_str(), tensor.type.c_str(), tensor.shape.size(),
                            tensor.shape.data(), tensor.bytes.data(), tensor.bytes.size()});
}

void take_files(const Workplace& place, tilebeat_result& result) {
  result.documents = documents_of(place.path("out"));
  // The last line of a run says where its files are.
  if (const std::size_t end = result.text.find("\nWrote out/"); end != std::string::npos)
    result.text.erase(end);
  result.tensors = tensors_of(place.path("out/outputs"));
  // Nothing of the simulated hardware failed, the command itself did.
  if (result.status == TILEBEAT_FAILED && result.documents.empty()) result.status = TILEBEAT_BROKEN;
}

}  // namespace tilebeat
