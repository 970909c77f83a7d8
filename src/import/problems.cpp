#include "import/problems.h"

#include "base/inputs_read.h"
#include "base/types.h"
#include "import/imported.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::size_t kLongestName = 200;

}  // namespace

void Problems::add(const std::string& node, const std::string& reason) {
  auto found =
      std::find_if(found_.begin(), found_.end(), [&](const auto& entry) { return entry.first == reason; });
  if (found == found_.end()) found = found_.insert(found_.end(), {reason, {}});
  found->second.push_back(one_line(node.substr(0, kLongestName)));
  ++nodes_;
}

void Problems::add(const GraphNode& node, const std::string& reason) {
  add(node.name, fmt::format("{}: {}", node.op, reason));
}

bool Problems::collect(const GraphNode& node, const std::function<bool()>& made) {
  try {
    return made();
  } catch (const Unsupported& reason) {
    add(node, reason.what());
  } catch (const std::out_of_range&) {
    add(node, "its operands do not fit each other");
  } catch (const std::bad_optional_access&) {
    add(node, "it lacks an operand or its output");
  }
  return false;
}

void Problems::refuse(const std::string& path) const {
  std::vector<std::string> lines;
  for (const auto& [reason, nodes] : found_)
    lines.push_back(fmt::format("{} {}: {} ({})", nodes.size(), nodes.size() == 1 ? "node" : "nodes",
                                one_line(reason), fmt::join(nodes, ", ")));
  throw ImportError(fmt::format("{}: {} of its parts cannot be imported, for {} {}:", path, nodes_,
                                lines.size(), lines.size() == 1 ? "reason" : "reasons"),
                    lines);
}

namespace {

constexpr std::size_t kMapAxes = 4;

}  // namespace

Extents map_shape(const Extents& shape) {
  if (shape.size() >= kMapAxes) return shape;
  Extents map(kMapAxes, 1);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) map[map_axis(axis, shape.size())] = shape[axis];
  return map;
}

std::size_t map_axis(std::size_t axis, std::size_t rank) {
  if (rank >= kMapAxes || (axis == 0 && rank > 1)) return axis;
  return axis + kMapAxes - rank;
}

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& problem) {
  throw UserError(one_line(fmt::format("{}: {}", path, problem)));
}

}  // namespace

std::vector<std::uint8_t> read_model_bytes(const std::string& path, std::uint64_t offset,
                                           std::uint64_t count) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) fail(path, "is a directory, a model file is needed");
  // A pipe would wait for its writer, a device might never end.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fail(path, "is not a regular file");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) fail(path, "is not a regular file");
  if (offset > size) fail(path, fmt::format("has {} bytes, byte {} is wanted", size, offset));
  const std::uint64_t left = size - offset, wanted = count == 0 ? left : count;
  if (wanted > left)
    fail(path, fmt::format("has {} bytes behind byte {}, {} are wanted", left, offset, wanted));
  if (wanted > kMaxModelBytes) fail(path, fmt::format("is larger than {} bytes", kMaxModelBytes));
  note_input(path);
  std::vector<std::uint8_t> bytes(wanted);
  stream.seekg(static_cast<std::streamoff>(offset));
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(wanted));
  if (stream.gcount() != static_cast<std::streamsize>(wanted))
    fail(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  return bytes;
}

Extents held_shape(const Extents& shape, const Extents& axes) {
  Extents made;
  for (const std::int64_t axis : axes) made.push_back(nth(shape, axis));
  return map_shape(made);
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace tilebeat
