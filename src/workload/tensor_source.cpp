#include "tensor_source.h"

#include "tilebeat/base/error.h"
#include "tilebeat/workload/random.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "npy_header.h"

namespace tilebeat {
namespace {

Tensor make_random(const RandomSpec& random, const TensorWish& wish, const Place& place) {
  const DType dtype = wish.dtype.value_or(wish.random_dtype);
  const Range type{dtype_min(dtype), dtype_max(dtype)};
  const Range standard = wish.random.value_or(type);
  const std::int64_t min = random.min.value_or(standard.low);
  const std::int64_t max = random.max.value_or(standard.high);
  if (min < type.low || min > type.high) {
    place.key("min").refuse_value(
        min, fmt::format("{} to {}, the range of {}", type.low, type.high, dtype_name(dtype)));
  }
  if (max < min || max > type.high) {
    place.key("max").refuse_value(
        max, fmt::format("{} to {}, from min to the end of {}", min, type.high, dtype_name(dtype)));
  }
  return random_tensor(wish.shape, dtype, static_cast<std::uint64_t>(random.seed), min, max);
}

}  // namespace

bool same_but_ones(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  for (std::vector<std::int64_t>* shape : {&a, &b})
    shape->erase(std::remove(shape->begin(), shape->end(), 1), shape->end());
  return a == b;
}

std::string tensor_text(const std::vector<std::int64_t>& shape, DType dtype) {
  return fmt::format("shape {} of {}", shape_text(shape), dtype_name(dtype));
}

Tensor load_npy(const std::string& file, const Place& place) {
  try {
    return read_npy((std::filesystem::path(place.file()).parent_path() / file).string());
  } catch (const UserError& error) {
    place.fail(error.what());
  }
}

void check_shape(const std::vector<std::int64_t>& shape, const Place& place) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1 || extent > kMaxDimension) {
      place.refuse("shape " + shape_text(shape), fmt::format("1 to {} in every dimension", kMaxDimension));
    }
    elements *= extent;
    if (elements > kMaxElements) {
      place.refuse("shape " + shape_text(shape), fmt::format("at most {} elements", kMaxElements));
    }
  }
}

Tensor load_tensor(const SourceSpec& source, const TensorWish& wish, const Place& place) {
  check_shape(wish.shape, place);
  if (source.random) return make_random(*source.random, wish, place.key("random"));
  const Place here = place.key("file");
  Tensor tensor = load_npy(source.file.value(), here);
  const bool fits =
      wish.ones_may_differ ? same_but_ones(tensor.shape, wish.shape) : tensor.shape == wish.shape;
  if (!fits || (wish.dtype && tensor.dtype != *wish.dtype)) {
    here.refuse(fmt::format("{} with {}", shown(*source.file), tensor_text(tensor.shape, tensor.dtype)),
                tensor_text(wish.shape, wish.dtype.value_or(tensor.dtype)));
  }
  tensor.shape = wish.shape;
  return tensor;
}

}  // namespace tilebeat
