#include "workload/weights.h"

#include "base/types.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace tilebeat {
namespace {

constexpr int kHalf = 15;  // bits of a code
constexpr std::size_t kHalfBits = 4;

std::int64_t elements_of(const Weights::Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

// Calls `take(first weight, end, zero point in bits 4 to 7, scale)` for all groups in their order.
template <class Take>
void each_group(const FourBits& form, const PackedCodes& packed, const Take& take) {
  const std::int64_t kernels = elements_of(packed.shape) / packed.k;
  const std::int64_t group = form.group > 0 ? form.group : packed.k;
  std::size_t number = 0;
  for (std::int64_t kernel = 0; kernel < kernels; ++kernel) {
    for (std::int64_t begin = 0; begin < packed.k; begin += group, ++number) {
      const std::int64_t first = kernel * packed.k + begin;
      take(to_size(first), to_size(first + std::min(group, packed.k - begin)),
           static_cast<std::uint8_t>(packed.zero_points[number] << kHalfBits), packed.scales[number]);
    }
  }
}

std::uint8_t code_of(const PackedCodes& packed, std::size_t weight) {
  return static_cast<std::uint8_t>(packed.halves[weight / 2] >> (weight % 2 == 0 ? 0 : kHalfBits) & kHalf);
}

Tensor int8_of(const FourBits& form, const PackedCodes& packed) {
  const DecodedWeights& decoded = decoded_weights(form.shift, form.is_signed);
  Tensor made{packed.shape, DType::kInt8, {}};
  made.bytes.resize(to_size(elements_of(packed.shape)));
  each_group(form, packed, [&](std::size_t weight, std::size_t end, std::uint8_t zero, std::uint8_t scale) {
    const std::uint8_t* const of_code = &decoded[to_size(scale << 8 | zero)];
    for (; weight % 2 == 0 && weight + 1 < end; weight += 2) {
      const std::uint8_t two = packed.halves[weight / 2];
      made.bytes[weight] = of_code[two & kHalf], made.bytes[weight + 1] = of_code[two >> kHalfBits];
    }
    for (; weight < end; ++weight) made.bytes[weight] = of_code[code_of(packed, weight)];
  });
  return made;
}

WeightCodes codes_of(const FourBits& form, const PackedCodes& packed) {
  Tensor bytes{packed.shape, DType::kUint8, {}};
  bytes.bytes.resize(to_size(elements_of(packed.shape)));
  WeightCodes made{bytes, bytes};
  each_group(form, packed, [&](std::size_t weight, std::size_t end, std::uint8_t zero, std::uint8_t scale) {
    for (; weight < end; ++weight) {
      made.codes.bytes[weight] = static_cast<std::uint8_t>(code_of(packed, weight) | zero);
      made.scales.bytes[weight] = scale;
    }
  });
  return made;
}

std::vector<std::int64_t> sizes_of_kernels(const Tensor& weights, std::int64_t per_kernel,
                                           std::int32_t zero_point) {
  constexpr std::int64_t kBlock = 4096;  // 32-bit sums inside: a large network has 10^8 weights
  std::vector<std::int64_t> sizes;
  for (std::int64_t kernel = 0; kernel < ssize(weights.bytes); kernel += per_kernel) {
    std::int64_t sum = 0;
    for (std::int64_t begin = kernel; begin < kernel + per_kernel; begin += kBlock) {
      const std::int64_t end = std::min(begin + kBlock, kernel + per_kernel);
      std::int32_t block = 0;
      for (std::int64_t i = begin; i < end; ++i)
        block += std::abs(static_cast<std::int8_t>(weights.bytes[to_size(i)]) - zero_point);
      sum += block;
    }
    sizes.push_back(sum);
  }
  return sizes;
}

}  // namespace

std::int8_t decoded_weight(std::uint8_t code, std::uint8_t scale, int shift, bool is_signed) {
  const auto value = [is_signed](int bits) { return is_signed && bits >= 8 ? bits - 16 : bits; };
  const int difference = value(code & kHalf) - value(code >> kHalfBits);
  const int rounding = shift > 0 ? 1 << (shift - 1) : 0;
  return static_cast<std::int8_t>(std::clamp((difference * scale + rounding) >> shift, -128, 127));
}

const DecodedWeights& decoded_weights(int shift, bool is_signed) {
  static std::mutex mutex;
  static std::map<std::pair<int, bool>, DecodedWeights> made;
  const std::lock_guard lock(mutex);
  const auto [known, added] = made.try_emplace({shift, is_signed});
  for (std::size_t i = 0; added && i < known->second.size(); ++i) {
    const auto code = static_cast<std::uint8_t>(i), scale = static_cast<std::uint8_t>(i >> 8);
    known->second[i] = static_cast<std::uint8_t>(decoded_weight(code, scale, shift, is_signed));
  }
  return known->second;
}

// It has int8 weights, or codes, or a map and the weights with codes that it is applied to.
struct Weights::Stored {
  Shape shape;
  std::string name;
  std::optional<FourBits> form = {};
  std::shared_ptr<const Tensor> weights = {};
  PackedCodes packed = {};
  Weights whole = {};
  Map map = {};

  // These remember what somebody holds, and sizes that somebody has asked for.
  mutable std::mutex mutex = {};
  mutable std::weak_ptr<const Tensor> held_weights = {};
  mutable std::weak_ptr<const WeightCodes> held_codes = {};
  mutable std::map<std::pair<std::int64_t, std::int32_t>, std::vector<std::int64_t>> sizes = {};

  template <class T, class Make>
  std::shared_ptr<const T> held(std::weak_ptr<const T>& known, const Make& make) const {
    const std::lock_guard lock(mutex);
    if (auto there = known.lock()) return there;
    auto made = std::make_shared<const T>(make());
    known = made;
    return made;
  }
};

Weights::Weights(Tensor weights, std::string name) {
  auto made = std::make_shared<Stored>();
  made->shape = weights.shape, made->name = std::move(name);
  made->weights = std::make_shared<const Tensor>(std::move(weights));
  stored_ = std::move(made);
}

Weights::Weights(FourBits form, PackedCodes codes, std::string name) {
  auto made = std::make_shared<Stored>();
  made->shape = codes.shape, made->name = std::move(name), made->form = form, made->packed = std::move(codes);
  stored_ = std::move(made);
}

const Weights::Shape& Weights::shape() const {
  static const Shape none{0};
  return stored_ == nullptr ? none : stored_->shape;
}
std::int64_t Weights::elements() const {
  return elements_of(shape());
}
const std::string& Weights::name() const {
  static const std::string none;
  return stored_ == nullptr ? none : stored_->name;
}
const FourBits* Weights::four_bits() const {
  return stored_ == nullptr || !stored_->form ? nullptr : &*stored_->form;
}

std::shared_ptr<const Tensor> Weights::int8() const {
  if (stored_ == nullptr) return std::make_shared<const Tensor>();
  const Stored& of = *stored_;
  if (of.weights != nullptr) return of.weights;
  return of.held(of.held_weights,
                 [&] { return of.map ? of.map(*of.whole.int8()) : int8_of(*of.form, of.packed); });
}

std::shared_ptr<const WeightCodes> Weights::codes() const {
  if (four_bits() == nullptr) return nullptr;
  const Stored& of = *stored_;
  return of.held(of.held_codes, [&] {
    if (!of.map) return codes_of(*of.form, of.packed);
    const auto whole = of.whole.codes();
    return WeightCodes{of.map(whole->codes), of.map(whole->scales)};
  });
}

std::array<Tensor, 3> Weights::groups() const {
  constexpr std::size_t kNumbers = (1 << 24) - 1;
  const Stored& of = *stored_;
  if (of.map) {
    std::array<Tensor, 3> planes = of.whole.groups();
    for (Tensor& plane : planes) plane = of.map(plane);
    return planes;
  }
  std::array<Tensor, 3> made;
  for (Tensor& plane : made) plane = {shape(), DType::kUint8, std::vector<std::uint8_t>(to_size(elements()))};
  std::size_t group = 0;
  each_group(*of.form, of.packed, [&](std::size_t weight, std::size_t end, std::uint8_t, std::uint8_t) {
    const std::size_t number = 1 + group++ % kNumbers;
    for (std::size_t i = 0; i < made.size(); ++i) {
      std::vector<std::uint8_t>& bytes = made[i].bytes;
      std::fill(bytes.begin() + to_signed(weight), bytes.begin() + to_signed(end),
                static_cast<std::uint8_t>(number >> (8 * i)));
    }
  });
  return made;
}

const std::vector<std::int64_t>& Weights::kernel_sizes(std::int64_t per_kernel,
                                                       std::int32_t zero_point) const {
  static const std::vector<std::int64_t> none;
  if (stored_ == nullptr) return none;
  const std::pair question(per_kernel, zero_point);
  {
    const std::lock_guard lock(stored_->mutex);
    if (const auto known = stored_->sizes.find(question); known != stored_->sizes.end()) return known->second;
  }
  std::vector<std::int64_t> sizes = sizes_of_kernels(*int8(), per_kernel, zero_point);
  const std::lock_guard lock(stored_->mutex);
  return stored_->sizes.try_emplace(question, std::move(sizes)).first->second;
}

Weights Weights::mapped(Shape shape, const std::string& how, Map map) const {
  std::string made_name = name().empty() ? "" : name() + ", " + how;
  if (four_bits() == nullptr) return {map(*int8()), std::move(made_name)};
  auto made = std::make_shared<Stored>();
  made->shape = std::move(shape), made->name = std::move(made_name), made->form = stored_->form;
  made->whole = *this, made->map = std::move(map);
  Weights weights;
  weights.stored_ = std::move(made);
  return weights;
}

}  // namespace tilebeat
