// Model files with bytes changed: a message, or a workload, and nothing else (SPEC RN_1). The fuzz targets do
// the same for longer. TILEBEAT_MUTATIONS sets how many cases there are.
#include "tilebeat/base/error.h"
#include "tilebeat/import/imported.h"

#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "fuzz_target.h"
#include "tilebeat_command.h"

namespace tilebeat::testing {
namespace {

struct Seed {
  const char* file;
  ModelFormat format;
};

constexpr std::array<Seed, 10> kSeeds{{{"ort/qconv_grp_s8.onnx", ModelFormat::kOnnx},
                                       {"ort/qgap_2.onnx", ModelFormat::kOnnx},
                                       {"ort/qlinearadd_int8_0.onnx", ModelFormat::kOnnx},
                                       {"ort/qsoftmax_0.onnx", ModelFormat::kOnnx},
                                       {"ort/qavgpool_2.onnx", ModelFormat::kOnnx},
                                       {"ort/dynquant_0.onnx", ModelFormat::kOnnx},
                                       {"qdq_cnn/model.onnx", ModelFormat::kOnnx},
                                       {"qdq_cnn/float.onnx", ModelFormat::kOnnx},
                                       {"stress/fc.tflite", ModelFormat::kTflite},
                                       {"kws/model.tflite", ModelFormat::kTflite}}};

/// A few bytes changed; lengths, offsets and names are as likely as weights because most of them stand at the
/// ends.
std::string mutated(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t count) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(1, count));
  };
  const auto place = [&] {
    const std::size_t window = std::min<std::size_t>(bytes.size(), 2048);
    return random() % 3 == 0   ? below(bytes.size())
           : random() % 2 == 0 ? below(window)
                               : bytes.size() - 1 - below(window);
  };
  for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = place();
    switch (random() % 6) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes[at] = random() % 2 == 0 ? '\x7f' : '\xff';
        break;
      case 3:
        bytes.resize(at);
        break;
      case 4:
        bytes.insert(at, bytes.substr(place(), below(64)));
        break;
      default:
        bytes.erase(at, below(16));
    }
  }
  return bytes;
}

TEST(ModelMutations, RN_1_a_changed_file_is_refused_or_imported) {
  const char* wish = std::getenv("TILEBEAT_MUTATIONS");
  const int cases = wish != nullptr ? std::atoi(wish) : 1500;
  std::mt19937_64 random(20);
  std::vector<std::string> seeds;
  for (const Seed& seed : kSeeds)
    seeds.push_back(read_bytes(source_path(std::string("tests/data/models/") + seed.file)));
  int refused = 0;
  for (int i = 0; i < cases; ++i) {
    const std::size_t seed = static_cast<std::size_t>(i) % kSeeds.size();
    const std::string bytes = mutated(seeds[seed], random);
    const fuzz::MemoryFile file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    try {
      import_model(file.path(), kSeeds[seed].format, {});
    } catch (const UserError& error) {
      ++refused;
      ASSERT_STRNE(error.what(), "") << kSeeds[seed].file << ", case " << i;
    }
  }
  EXPECT_GT(refused, cases / 4) << "changes are noticed";
  EXPECT_LT(refused, cases) << "some change nothing that matters";
}

TEST(ModelMutations, RN_1_a_changed_file_leaves_nothing_behind) {
  std::mt19937_64 random(30);
  const CommandFolder folder;
  for (int i = 0; i < 24; ++i) {
    const std::string model = i % 2 == 0 ? "model.onnx" : "model.tflite";
    const std::string source = i % 2 == 0 ? "ort/qconv_grp_s8.onnx" : "kws/model.tflite";
    folder.write(model, mutated(read_bytes(source_path("tests/data/models/" + source)), random));
    const CommandResult result = folder.run({"import", model, "--out", "net"});
    if (result.status == 0) {
      std::filesystem::remove_all(folder.path("net"));
      continue;
    }
    EXPECT_EQ(result.status, 2) << i << ": " << result.err;
    EXPECT_NE(result.err, "");
    EXPECT_FALSE(std::filesystem::exists(folder.path("net"))) << i;
  }
}

}  // namespace
}  // namespace tilebeat::testing
