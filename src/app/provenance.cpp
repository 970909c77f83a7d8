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
namespace {

std::optional<std::string> sha256_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(fmt::format("{}: {}", path, std::strerror(errno)));
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  std::array<char, 65536> block{};
  while (file.read(block.data(), block.size()), file.gcount() > 0)
    EVP_DigestUpdate(context.get(), block.data(), to_size(file.gcount()));
  if (file.bad()) throw UserError(fmt::format("{}: {}", path, std::strerror(errno)));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

// The options that results follow from, each with its key.
template <class Command, class Visit>
void visit_options(Command& command, const Visit& visit) {
  visit("config", command.config), visit("layer", command.layer), visit("program", command.program);
  visit("mapping", command.mapping), visit("tables", command.tables), visit("check", command.check);
  visit("inputs", command.inputs), visit("faults", command.faults);
}

}  // namespace

InputHashes hashes_of(const std::vector<std::string>& files, InputHashes known) {
  for (const std::string& file : files) {
    if (known.count(file) == 0) known[file] = sha256_of(file);
  }
  return known;
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
