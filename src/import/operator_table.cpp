#include "import/operator_table.h"

#include "import/evaluate.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <tflite_generated.h>

namespace tilebeat {
namespace {

/// All operators of ONNX's own domain and those of com.microsoft that are read.
constexpr std::string_view kOnnxNames =
    "Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BatchNormalization "
    "Bernoulli "
    "BitShift "
    "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike Ceil Celu CenterCropPad Clip "
    "Col2Im "
    "Compress Concat ConcatFromSequence Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh "
    "CumSum DFT "
    "DeformConv DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp "
    "Expand "
    "EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool "
    "GlobalMaxPool "
    "Greater GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish "
    "Hardmax "
    "Identity If ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less "
    "LessOrEqual "
    "Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean "
    "MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial Neg NegativeLogLikelihoodLoss "
    "NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement OptionalHasElement Or PRelu Pad Pow "
    "QLinearConv "
    "QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform "
    "RandomUniformLike "
    "Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
    "ReduceProd "
    "ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding "
    "Round STFT Scan "
    "Scatter "
    "ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert "
    "SequenceLength SequenceMap Shape Shrink Sigmoid Sign SimplifiedLayerNormalization Sin Sinh Size Slice "
    "Softmax "
    "SoftmaxCrossEntropyLoss Softplus "
    "Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze StringConcat StringNormalizer StringSplit Sub "
    "Sum Tan "
    "Tanh TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze Upsample Where Xor "
    "com.microsoft.GroupQueryAttention com.microsoft.MatMulNBits com.microsoft.QGemm "
    "com.microsoft.QLinearAdd com.microsoft.QLinearAveragePool "
    "com.microsoft.QLinearConcat "
    "com.microsoft.QLinearGlobalAveragePool com.microsoft.QLinearLeakyRelu com.microsoft.QLinearMul "
    "com.microsoft.QLinearSigmoid com.microsoft.QLinearSoftmax com.microsoft.RotaryEmbedding "
    "com.microsoft.SimplifiedLayerNormalization com.microsoft.SkipLayerNormalization "
    "com.microsoft.SkipSimplifiedLayerNormalization";

struct Refusal {
  std::string_view part;  ///< of the name
  std::string_view why;
};
constexpr std::array<Refusal, 45> kRefusals{{{"Loop", "control flow that depends on data"},
                                             {"Scan", "control flow that depends on data"},
                                             {"WHILE", "control flow that depends on data"},
                                             {"IF", "control flow that depends on data"},
                                             {"CALL", "control flow that depends on data"},
                                             {"Sequence", "sequences of tensors"},
                                             {"Optional", "optional tensors"},
                                             {"Random", "random numbers"},
                                             {"RANDOM", "random numbers"},
                                             {"Bernoulli", "random numbers"},
                                             {"Multinomial", "random numbers"},
                                             {"MULTINOMIAL", "random numbers"},
                                             {"String", "strings"},
                                             {"Regex", "strings"},
                                             {"TfIdf", "strings"},
                                             {"HASHTABLE", "tables of strings"},
                                             {"SKIP_GRAM", "strings"},
                                             {"ImageDecoder", "encoded images"},
                                             {"training", "training"},
                                             {"Momentum", "training"},
                                             {"Unique", "shapes that depend on data"},
                                             {"UNIQUE", "shapes that depend on data"},
                                             {"NonMaxSuppression", "shapes that depend on data"},
                                             {"NON_MAX_SUPPRESSION", "shapes that depend on data"},
                                             {"WHERE", "shapes that depend on data"},
                                             {"TopK", "sorting"},
                                             {"TOPK", "sorting"},
                                             {"Bit", "whole numbers without a scale"},
                                             {"BIT", "whole numbers without a scale"},
                                             {"SHIFT", "whole numbers without a scale"},
                                             {"DFT", "signal processing"},
                                             {"STFT", "signal processing"},
                                             {"FFT", "signal processing"},
                                             {"Mel", "signal processing"},
                                             {"Window", "signal processing"},
                                             {"3D", "maps of three spatial axes"},
                                             {"GridSample", "samples at computed places"},
                                             {"RoiAlign", "samples at computed places"},
                                             {"RoiPool", "samples at computed places"},
                                             {"DeformConv", "samples at computed places"},
                                             {"VARIABLE", "state that is kept from run to run"},
                                             {"VAR_HANDLE", "state that is kept from run to run"},
                                             {"LSTM", "state that is kept from run to run"},
                                             {"RNN", "state that is kept from run to run"},
                                             {"STABLEHLO", "operators of StableHLO"}}};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    found.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

std::string promise_text(std::optional<Promise> promise) {
  if (!promise) return "no";
  switch (*promise) {
    case Promise::kRule:
      return "the runtime's bytes";
    case Promise::kMoves:
      return "nothing is rounded";
    case Promise::kByClass:
      return "by class";
    case Promise::kInexact:
      return "inexact, named";
  }
  return "";
}

/// Rows with the same cells, with their operators behind them.
using Rows = std::map<std::vector<std::string>, std::vector<std::string>>;

std::string table_of(const std::string& name, const std::vector<std::string>& heads, const Rows& rows) {
  std::string text = fmt::format("{}\n\n| {} | operators |\n|{}\n", name, fmt::join(heads, " | "), [&] {
    std::string line;
    for (std::size_t i = 0; i <= heads.size(); ++i) line += " --- |";
    return line;
  }());
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    text += fmt::format("| {} | {} |\n", fmt::join(row->first, " | "), fmt::join(row->second, ", "));
  return text + "\n";
}

}  // namespace

std::string_view why_refused(const std::string& op) {
  for (const Refusal& refusal : kRefusals) {
    const bool whole = refusal.part == "IF" || refusal.part == "CALL";
    if (whole ? op == refusal.part : op.find(refusal.part) != std::string::npos) return refusal.why;
  }
  return "no layers compute it";
}

std::string not_built(const std::string& op) {
  if (is_rewritten(op) || has_float_form(op))
    return "has no quantised form here; a float32 part of a network is quantised by --calibrate X.npy";
  return fmt::format("is no operator that is built: {}", why_refused(op));
}

std::string operator_tables() {
  Rows onnx, tflite, not_onnx, not_tflite;
  for (const std::string& op : words(kOnnxNames)) {
    const auto promise = onnx_promise(op);
    const bool quantised_alone =
        op.find("QLinear") != std::string::npos || op.find("Integer") != std::string::npos ||
        op.find("QGemm") != std::string::npos || op.find("Quantize") != std::string::npos;
    const bool real = is_rewritten(op) || (promise && !quantised_alone);
    const bool folds = evaluates(op) || op == "Constant" || op == "If";
    const bool border = op == "QuantizeLinear" || op == "DequantizeLinear";
    const std::string host = runs_on_host(op) || border ? "yes" : "no";
    if (promise || real || folds) {
      onnx[{promise_text(promise), real ? "yes" : "no", host, folds ? "folded" : "no"}].push_back(op);
    } else {
      not_onnx[{std::string(why_refused(op))}].push_back(op);
    }
  }
  for (const tflite::Builtin code : tflite::EnumValuesBuiltin()) {
    const std::string op = tflite::EnumNameBuiltin(code);
    const auto promise = tflite_promise(op);
    const bool real = has_float_form(op);
    if (promise || real) {
      tflite[{promise_text(promise), real ? "yes" : "no"}].push_back(op);
    } else if (op.find("PLACEHOLDER") == std::string::npos && op != "DELEGATE" && op != "CUSTOM") {
      not_tflite[{std::string(why_refused(op))}].push_back(op);
    }
  }
  return table_of("ONNX operators",
                  {"between quantised tensors", "float32, with `--calibrate`",
                   "on host, with `--float-on-host`", "of constants"},
                  onnx) +
         table_of("ONNX refusals", {"why"}, not_onnx) +
         table_of("TensorFlow Lite operators", {"int8 and uint8", "float32, with `--calibrate`"}, tflite) +
         table_of("TensorFlow Lite refusals", {"why"}, not_tflite);
}

}  // namespace tilebeat
