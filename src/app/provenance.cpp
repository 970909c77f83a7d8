#include "app/provenance.h"

#include "schema/values.h"
#include "tilebeat/error.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace tilebeat {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  /// In hexadecimal digits; ends the calculation.
  std::string end() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
    std::string text;
    for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

namespace {

std::optional<std::string> sha256_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(fmt::format("{}: {}", path, std::strerror(errno)));
  Sha256 hash;
  std::array<char, 65536> block{};
  while (file.read(block.data(), block.size()), file.gcount() > 0)
    hash.add({block.data(), to_size(file.gcount())});
  if (file.bad()) throw UserError(fmt::format("{}: {}", path, std::strerror(errno)));
  return hash.end();
}

// The digest's place in a report's text: behind the last such key.
constexpr std::string_view kDigestKey = "\"digest\": \"";
constexpr std::size_t kDigestSize = 64;

std::optional<std::size_t> place_of_digest(std::string_view text) {
  const std::size_t key = text.rfind(kDigestKey);
  if (key == std::string_view::npos || key + kDigestKey.size() + kDigestSize > text.size())
    return std::nullopt;
  return key + kDigestKey.size();
}

// The options that results follow from, each with its key.
template <class Command, class Visit>
void visit_options(Command& command, const Visit& visit) {
  visit("config", command.config), visit("layer", command.layer), visit("program", command.program);
  visit("uninitialised", command.uninitialised);
  visit("mapping", command.mapping), visit("tables", command.tables), visit("check", command.check);
  visit("extrapolate", command.extrapolate);
  visit("inputs", command.inputs), visit("faults", command.faults);
}

}  // namespace

InputHashes hashes_of(const std::vector<std::string>& files, InputHashes known) {
  for (const std::string& file : files) {
    if (known.count(file) == 0) known[file] = sha256_of(file);
  }
  return known;
}

OutputHashes hashes_of_outputs(const std::string& folder, const OrderedJson& report) {
  OutputHashes hashes;
  if (!report["provenance"].contains("outputs")) return hashes;
  for (const OrderedJson& output : report["provenance"]["outputs"]) {
    const auto name = output["name"].get<std::string>();
    hashes[name] = sha256_of(fmt::format("{}/outputs/{}.npy", folder, name)).value_or("");
  }
  return hashes;
}

OutputHashes recorded_outputs(const OrderedJson& report) {
  OutputHashes hashes;
  if (!report["provenance"].contains("outputs")) return hashes;
  for (const OrderedJson& output : report["provenance"]["outputs"])
    hashes[output["name"].get<std::string>()] = output["sha256"].get<std::string>();
  return hashes;
}

std::string sha256_of_bytes(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.end();
}

OrderedJson with_outputs(OrderedJson provenance, const OutputHashes& outputs) {
  OrderedJson& list = provenance["outputs"] = OrderedJson::array();
  for (const auto& [name, hash] : outputs) list.push_back({{"name", name}, {"sha256", hash}});
  provenance["digest"] = std::string(kDigestSize, '0');
  return provenance;
}

DigestedText::DigestedText(std::function<void(std::string_view)> sink)
    : sink_(std::move(sink)), hash_(std::make_unique<Sha256>()) {}
DigestedText::~DigestedText() = default;

void DigestedText::write(std::string_view text) {
  sink_(held_);
  hash_->add(text);
  held_ = text;
}

void DigestedText::end() {
  if (const auto place = place_of_digest(held_)) held_.replace(*place, kDigestSize, hash_->end());
  sink_(held_);
}

bool is_as_written(std::string text) {
  const auto place = place_of_digest(text);
  if (!place) return text.find("\"digest\"") == std::string::npos;
  const std::string digest = text.substr(*place, kDigestSize);
  text.replace(*place, kDigestSize, std::string(kDigestSize, '0'));
  return sha256_of_bytes(text) == digest;
}

OrderedJson provenance_json(const RunCommand& command, const InputHashes& inputs) {
  OrderedJson provenance{{"version", version_number()}, {"revision", source_revision()}};
  OrderedJson& options = provenance["run"] = OrderedJson::object();
  visit_options(command, [&options](const char* key, const auto& value) {
    if (!value.empty()) options[key] = value;
  });
  OrderedJson& files = provenance["inputs"] = OrderedJson::array();
  for (const auto& [file, hash] : inputs) {
    files.push_back({{"file", file}});
    if (hash) files.back()["sha256"] = *hash;
  }
  return provenance;
}

RunCommand recorded_command(const OrderedJson& report, const std::string& file) {
  if (!report.contains("provenance"))
    throw UserError(fmt::format("{}: has no /provenance, which says how to repeat the run", file));
  RunCommand command;
  const OrderedJson& options = report["provenance"]["run"];
  visit_options(command, [&options](const char* key, auto& value) {
    if (options.contains(key)) options[key].get_to(value);
  });
  return command;
}

InputHashes recorded_inputs(const OrderedJson& report) {
  InputHashes hashes;
  for (const OrderedJson& input : report["provenance"]["inputs"]) {
    std::optional<std::string>& hash = hashes[input["file"].get<std::string>()];
    if (input.contains("sha256")) hash = input["sha256"].get<std::string>();
  }
  return hashes;
}

}  // namespace tilebeat
