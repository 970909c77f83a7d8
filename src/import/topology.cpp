#include "import/topology.h"

#include "import/emitter.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace tilebeat {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::int64_t kMostExtent = 1 << 20, kMostTaps = 65'535;
constexpr std::array<const char*, 8> kOfConvolution{"IFMAP height", "IFMAP width", "filter height",
                                                    "filter width", "channels",    "number of filters",
                                                    "stride",       "stride width"};
constexpr std::array<const char*, 4> kOfProduct{"M", "N", "K", "batch"};
constexpr std::size_t kConvolutionSizes = 7, kProductSizes = 3;  // those that have to be there

// A line of the file: the layer's name, and what stands behind it.
struct Row {
  std::string path, line;  // where it stands
  std::string name;
  std::vector<std::string> entries;

  // Refuses entry `index` of `names`; column 1 is the layer's name.
  [[noreturn]] void refuse(std::size_t index, const char* name_of_entry, const std::string& allowed) const {
    throw UserError(fmt::format("{}: {}, column {} ({}): {} is not allowed, allowed is {}", path, line,
                                index + 2, name_of_entry, shown(entries[index]), allowed));
  }
  std::int64_t number(std::size_t index, const char* name_of_entry, std::int64_t most) const {
    const std::string& text = entries[index];
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most)
      refuse(index, name_of_entry, fmt::format("a whole number from 1 to {}", most));
    return value;
  }
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// The layers; a first line without numbers is a heading, empty entries at the ends of lines are dropped.
std::vector<Row> rows_of(const std::string& text, const std::string& path) {
  std::vector<Row> rows;
  std::istringstream lines(text.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0
                               ? text.substr(kByteOrderMark.size())
                               : text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    Row row{path, fmt::format("line {}", number), "", {}};
    std::istringstream entries(line);
    for (std::string entry; std::getline(entries, entry, ',');) row.entries.push_back(trimmed(entry));
    while (!row.entries.empty() && row.entries.back().empty()) row.entries.pop_back();
    if (row.entries.empty()) continue;
    row.name = row.entries.front();
    row.entries.erase(row.entries.begin());
    const bool is_heading = number == 1 && (row.entries.empty() || !is_number(row.entries.front()));
    if (!is_heading) rows.push_back(std::move(row));
  }
  if (rows.empty()) throw UserError(path + ": has no layers");
  return rows;
}

// Takes a sparsity such as 1:1 from the end. Weights are dense here.
void take_sparsity(Row& row) {
  if (row.entries.empty() || row.entries.back().find(':') == std::string::npos) return;
  const std::string& sparsity = row.entries.back();
  const std::size_t colon = sparsity.find(':');
  if (trimmed(sparsity.substr(0, colon)) != trimmed(sparsity.substr(colon + 1)))
    row.refuse(row.entries.size() - 1, "sparsity", "1:1: all weights are there");
  row.entries.pop_back();
}

class Topology {
 public:
  explicit Topology(Arithmetic arithmetic) : builder_(arithmetic) {}

  void add(const Row& row) {
    const std::size_t sizes = row.entries.size();
    builder_.set_source(fmt::format("{}, layer {}", row.line, shown(row.name)));
    if (sizes == kProductSizes || sizes == kOfProduct.size())
      add_product(row);
    else if (sizes == kConvolutionSizes || sizes == kOfConvolution.size())
      add_convolution(row);
    else
      throw UserError(fmt::format(
          "{}: {}: {} sizes are behind the layer's name, 7 or 8 of a convolution or 3 or 4 of a product are "
          "expected",
          row.path, row.line, sizes));
  }
  ImportedNetwork take(const std::string& name) const {
    ImportedNetwork network;
    network.files = builder_.files(name);
    network.nodes = network.layers = builder_.layers();
    network.layer_sources = builder_.sources();
    return network;
  }

 private:
  void add_convolution(const Row& row) {
    const auto size = [&](std::size_t index, std::int64_t most) {
      return row.number(index, kOfConvolution.at(index), most);
    };
    const std::int64_t height = size(0, kMostExtent), width = size(1, kMostExtent);
    const std::int64_t taps_down = size(2, kMostTaps), taps_across = size(3, kMostTaps);
    if (taps_down > height)
      row.refuse(2, kOfConvolution[2], fmt::format("up to the map's height, {}", height));
    if (taps_across > width)
      row.refuse(3, kOfConvolution[3], fmt::format("up to the map's width, {}", width));
    const std::int64_t channels = size(4, kMostExtent), filters = size(5, kMostExtent);
    const std::int64_t down = size(6, kMostTaps);
    const std::int64_t across = row.entries.size() > kConvolutionSizes ? size(7, kMostTaps) : down;
    // SCALE-Sim takes a layer with DP in its name for one layer of one channel after the other.
    const bool depthwise = row.name.find("DP") != std::string::npos;
    const std::int64_t kernels = depthwise ? channels * filters : filters;
    if (kernels > kMostExtent) row.refuse(5, kOfConvolution[5], fmt::format("up to {} in all", kMostExtent));
    add_layer(row, "conv2d", {1, height, width, channels},
              taps_down * taps_across * (depthwise ? 1 : channels),
              {{"out_channels", kernels},
               {"kernel", {taps_down, taps_across}},
               {"stride", {down, across}},
               {"groups", depthwise ? channels : 1}});
  }

  // M x K times K x N, `batch` of them.
  void add_product(const Row& row) {
    const auto size = [&](std::size_t index) { return row.number(index, kOfProduct.at(index), kMostExtent); };
    const std::int64_t rows = size(0), columns = size(1), sum = size(2);
    Extents shape{rows, sum};
    FieldsJson fields{{"out_features", columns}};
    if (row.entries.size() > kProductSizes) {
      shape.insert(shape.begin(), size(3));
      fields["weights_axes"] = {shape.front()};
    }
    add_layer(row, "matmul", shape, sum, std::move(fields));
  }

  // `products`: that make one result; by their number the results spread over the range of int8.
  void add_layer(const Row& row, const char* op, const Extents& shape, std::int64_t products,
                 FieldsJson fields) {
    constexpr std::int64_t kMostElements = std::int64_t{1} << 31;
    const std::int64_t elements =
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    if (elements > kMostElements)
      throw UserError(fmt::format("{}: {}: the layer reads {} elements, allowed is at most {}", row.path,
                                  row.line, elements, kMostElements));
    const std::string input = builder_.add_input("in_" + row.name, shape, ElementType::kInt8, 0, random());
    fields["weights"] = random();
    constexpr double kSpread = 1.0 / 128;
    fields["requant"] = {{"scale", kSpread / std::sqrt(static_cast<double>(products))}};
    builder_.add_output(builder_.add_layer(row.name, op, {input}, fields));
  }

  FieldsJson random() { return {{"random", {{"seed", ++seed_}}}}; }

  WorkloadBuilder builder_;
  int seed_ = 0;
};

}  // namespace

ImportedNetwork import_topology(const std::string& text, const std::string& path,
                                const ImportOptions& options) {
  if (!options.calibration.empty() || options.float_on_host)
    throw UserError(fmt::format(
        "{}: a topology has no values: --calibrate and --float-on-host are for networks of float32", path));
  Topology topology(options.arithmetic.value_or(Arithmetic::kExact));
  for (Row& row : rows_of(text, path)) {
    take_sparsity(row);
    topology.add(row);
  }
  return topology.take(workload_name(std::filesystem::path(path).stem().string()));
}

}  // namespace tilebeat
