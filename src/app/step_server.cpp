#include "app/step_server.h"

#include "base/dtype.h"
#include "client/step_messages.h"
#include "tilebeat/error.h"
#include "workload/tensor.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

namespace tilebeat {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 32;  // of a message
constexpr Cycle kRunOutClocks = 20'000;

[[noreturn]] void nobody_asks() {
  throw UserError("the session that stepped through this run is over; nothing was written");
}

nlohmann::ordered_json tensors_json(const std::map<std::string, Placement>& tensors) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [name, place] : tensors)
    list.push_back({{"name", name},
                    {"type", dtype_name(place.info.dtype)},
                    {"shape", place.info.shape},
                    {"address", place.address},
                    {"bytes", place.info.size_bytes()}});
  return list;
}

}  // namespace

std::unique_ptr<StepServer> StepServer::of_environment() {
  const char* const named = std::getenv("TILEBEAT_STEP_FD");
  if (named == nullptr) return nullptr;
  char* end = nullptr;
  const long number = std::strtol(named, &end, 10);
  const bool open = end != named && *end == '\0' && number > STDERR_FILENO && number < (1 << 20) &&
                    fcntl(static_cast<int>(number), F_SETFD, FD_CLOEXEC) == 0;
  unsetenv("TILEBEAT_STEP_FD");
  if (!open) throw UserError("TILEBEAT_STEP_FD: is no open descriptor");
  return std::unique_ptr<StepServer>(new StepServer(static_cast<int>(number)));
}

StepServer::~StepServer() {
  ::close(socket_);
}

VectorSink StepServer::sink() {
  return [this](const std::string& file, std::vector<char>& buffer, std::size_t count) {
    const auto port = numbers_.find(file);
    if (port != numbers_.end() && count > 0 && !runs_out_)
      send(kStepRecords, port->second, {buffer.data(), count});
  };
}

void StepServer::send(char kind, std::uint64_t number, std::string_view bytes) {
  const StepMessage head{static_cast<std::uint64_t>(kind), number, bytes.size()};
  waiting_.append(reinterpret_cast<const char*>(&head), sizeof head).append(bytes);
  constexpr std::size_t kMuch = 1 << 18;
  if (kind != kStepRecords || waiting_.size() > kMuch) send_waiting();
}

void StepServer::send_waiting() {
  for (std::size_t sent = 0; sent < waiting_.size();) {
    const ssize_t count = ::send(socket_, waiting_.data() + sent, waiting_.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) nobody_asks();
    sent += to_size(count);
  }
  waiting_.clear();
}

void StepServer::read(void* to, std::size_t count) {
  for (std::size_t got = 0; got < count;) {
    const ssize_t more = ::recv(socket_, static_cast<char*>(to) + got, count - got, 0);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) nobody_asks();
    got += to_size(more);
  }
}

void StepServer::begin(VectorsOutput& vectors, Picoseconds clock_ps) {
  const std::string ports = "[" + vectors.describe_ports() + "]";
  if (const auto unmatched = vectors.unmatched_patterns(); !unmatched.empty())
    throw UserError(fmt::format("--vectors-ports {}: no port is called like that", unmatched.front()));
  for (const auto& port : nlohmann::json::parse(ports))
    numbers_.emplace(port.at("file").get<std::string>(), numbers_.size());
  send(kStepPorts, 0,
       fmt::format("{{\"clock_ps\":{},\"tensors\":{},\"ports\":{}}}", clock_ps, tensors_json(tensors_).dump(),
                   ports));
  begun_ = true;
}

Cycle StepServer::ask(const MemoryBetweenClocks& memory, VectorsOutput& vectors, Picoseconds clock_ps) {
  if (!begun_) begin(vectors, clock_ps);
  const Cycle now = now_ps() / clock_ps;
  vectors.pass_on_before(now_ps());
  if (runs_out_) return now + kRunOutClocks;
  send(kStepReached, to_unsigned(now), "");
  while (true) {
    StepMessage request;
    read(&request, sizeof request);
    if (request.bytes > kMostBytes) nobody_asks();
    std::string bytes(request.bytes, '\0');
    read(bytes.data(), bytes.size());
    const auto kind = static_cast<char>(request.kind);
    switch (kind) {
      case kStepGo:
        return std::max(now + 1, to_signed(request.number));
      case kStepRunOut:
        runs_out_ = true;
        return now + kRunOutClocks;
      case kStepRead:
      case kStepWrite:
        serve_memory(memory, kind, request.number, bytes);
        break;
      case kStepReadTensor:
        serve_tensor(memory, kind, bytes, "");
        break;
      case kStepWriteTensor:
        serve_tensor(memory, kind, bytes.substr(0, request.number),
                     std::string_view(bytes).substr(request.number));
        break;
      default:
        nobody_asks();
    }
  }
}

void StepServer::write(const MemoryBetweenClocks& memory, std::uint64_t address, std::string_view bytes) {
  memory.write(address, {bytes.begin(), bytes.end()});
  send(kStepBytes, 0, "");
}

void StepServer::serve_memory(const MemoryBetweenClocks& memory, char kind, std::uint64_t address,
                              std::string_view bytes) {
  std::uint64_t count = bytes.size();
  if (kind == kStepRead) std::memcpy(&count, bytes.data(), std::min(bytes.size(), sizeof count));
  const std::uint64_t size = memory_bytes_;
  if (address > size || count > size - address)
    return send(kStepRefused, 0,
                fmt::format("memory: {} bytes from {:#x} on: it has {} bytes", count, address, size));
  if (kind == kStepWrite) return write(memory, address, bytes);
  const std::vector<std::uint8_t> read = memory.read(address, to_signed(count));
  send(kStepBytes, 0, {reinterpret_cast<const char*>(read.data()), read.size()});
}

void StepServer::serve_tensor(const MemoryBetweenClocks& memory, char kind, const std::string& name,
                              std::string_view bytes) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return send(kStepRefused, 0, fmt::format("tensor '{}': there is none", name));
  const Placement& place = found->second;
  if (kind == kStepWriteTensor) {
    if (place.stored)
      return send(
          kStepRefused, 0,
          fmt::format("tensor '{}': does not lie in memory in the order of its shape, and cannot be written",
                      name));
    if (to_signed(bytes.size()) != place.size_bytes())
      return send(
          kStepRefused, 0,
          fmt::format("tensor '{}': has {} bytes, {} were given", name, place.size_bytes(), bytes.size()));
    return write(memory, place.address, bytes);
  }
  std::vector<std::uint8_t> read = memory.read(place.address, place.size_bytes());
  if (place.stored) read = bytes_as_nhwc(*place.stored, read);
  send(kStepBytes, 0, {reinterpret_cast<const char*>(read.data()), read.size()});
}

void StepServer::end(Cycle clocks) {
  if (begun_) send(kStepEnd, to_unsigned(clocks), "");
}

}  // namespace tilebeat
