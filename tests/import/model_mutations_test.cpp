// Model files with bytes changed: a message, or a workload, and nothing else (SPEC RN_1). The fuzz targets do
// the same for longer. TILEBEAT_MUTATIONS sets how many cases there are.
#include "../fuzz/fuzz_target.h"
#include "import/imported.h"
#include "mutated_bytes.h"
#include "tilebeat/error.h"

#include <cstdlib>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

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

TEST(ModelMutations, RN_1_a_changed_file_is_refused_or_imported) {
  const char* wish = std::getenv("TILEBEAT_MUTATIONS");
  const int cases = wish != nullptr ? std::atoi(wish) : 1500;
  std::mt19937_64 random(20);
  std::vector<std::string> seeds;
  for (const Seed& seed : kSeeds) {
    std::ifstream stream(std::string(TILEBEAT_SOURCE_DIR "/tests/data/models/") + seed.file,
                         std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    ASSERT_NE(seeds.back(), "") << seed.file;
  }
  int refused = 0;
  for (int i = 0; i < cases; ++i) {
    const std::size_t seed = static_cast<std::size_t>(i) % kSeeds.size();
    const std::string bytes = mutated(seeds[seed], random);
    const fuzz::MemoryFile file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ImportOptions options;
    if (i % 4 == 3)
      options.calibration[""] =
          make_constant(ElementType::kFloat32, {1, 3, 32, 32}, std::vector<double>(3 * 32 * 32, 0.5));
    try {
      import_model(file.path(), kSeeds[seed].format, options);
    } catch (const UserError& error) {
      ++refused;
      ASSERT_STRNE(error.what(), "") << kSeeds[seed].file << ", case " << i;
    }
  }
  EXPECT_GT(refused, cases / 4) << "changes are noticed";
  EXPECT_LT(refused, cases) << "some change nothing that matters";
}

}  // namespace
}  // namespace tilebeat::testing
