#pragma once

#include "config/engine_config.h"
#include "schema/fields.h"
#include "schema/place.h"

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace tilebeat {

// ---- rules between fields of a hardware file ----

/// Refuses `value` at `place` unless `good`; `allowed` says which values are allowed.
template <class T>
void need(bool good, const Place& place, const T& value, const std::string& allowed) {
  if (!good) place.refuse(nlohmann::ordered_json(value).dump(), allowed);
}

inline void need_power_of_two(std::int64_t value, const Place& place) {
  need((value & (value - 1)) == 0, place, value, "a power of two");
}

/// Bytes of a sum on its way to post-processing.
inline constexpr int kSumBytes = 4;

// EngineConfigOf<T> uses these functions, which an engine declares beside its struct T (found by
// argument-dependent lookup):
//   template <class V> void describe(V&, T&)                                      its fields
//   void check_engine(const T&, const HardwareConfig&, const Place& root)         its rules
//   std::int64_t peak_macs_per_clock(const T&)
//   std::int64_t results_per_clock(const T&)
//   FaultSpace fault_space(const T&, const HardwareConfig&)
//   DecoderSize kernel_decoders(const T&, const HardwareConfig&)   where it reads packed kernels
//   FaultSpace pe_space(const T&)                            where upsets of PE registers are modelled
//   std::int64_t buffer_bytes(const T&)                      where it has buffers of its own
//   std::shared_ptr<CompiledAhead> compiled_ahead(T&)        where it compiles something

template <class T>
std::unique_ptr<EngineConfig> EngineConfigOf<T>::clone() const {
  return std::make_unique<EngineConfigOf>(*this);
}

template <class T>
void EngineConfigOf<T>::read(const nlohmann::json& json, const Place& place) {
  ObjectValue<T>{value}.read(json, place);
}

template <class T>
nlohmann::ordered_json EngineConfigOf<T>::write() const {
  T copy = value;
  return ObjectValue<T>{copy}.write();
}

template <class T>
nlohmann::ordered_json EngineConfigOf<T>::schema() const {
  T copy = value;
  return ObjectValue<T>{copy}.schema();
}

template <class T>
void EngineConfigOf<T>::check(const HardwareConfig& hardware, const Place& root) const {
  check_engine(value, hardware, root);
}

// The engine's functions of the same names are found by argument-dependent lookup.
template <class T>
std::int64_t peak_macs_of(const T& value) {
  return peak_macs_per_clock(value);
}
template <class T>
std::int64_t results_per_clock_of(const T& value) {
  return results_per_clock(value);
}
template <class T>
FaultSpace fault_space_of(const T& value, const HardwareConfig& hardware) {
  return fault_space(value, hardware);
}

// Default for engines that read no packed kernels.
template <class T>
DecoderSize kernel_decoders(const T&, const HardwareConfig&) {
  return {};
}
template <class T>
DecoderSize kernel_decoders_of(const T& value, const HardwareConfig& hardware) {
  return kernel_decoders(value, hardware);
}

// Default for engines whose registers cannot be upset.
template <class T>
FaultSpace pe_space(const T&) {
  return {};
}
template <class T>
FaultSpace pe_space_of(const T& value) {
  return pe_space(value);
}

// Default for engines that work only on the memories of their core.
template <class T>
std::int64_t buffer_bytes(const T&) {
  return 0;
}
template <class T>
std::int64_t buffer_bytes_of(const T& value) {
  return buffer_bytes(value);
}

// Default for engines that compile nothing ahead.
template <class T>
std::shared_ptr<CompiledAhead> compiled_ahead(T&) {
  return nullptr;
}
template <class T>
std::shared_ptr<CompiledAhead> compiled_ahead_of(T& value) {
  return compiled_ahead(value);
}

template <class T>
std::int64_t EngineConfigOf<T>::peak_macs_per_clock() const {
  return peak_macs_of(value);
}

template <class T>
std::int64_t EngineConfigOf<T>::results_per_clock() const {
  return results_per_clock_of(value);
}

template <class T>
DecoderSize EngineConfigOf<T>::kernel_decoders(const HardwareConfig& hardware) const {
  return kernel_decoders_of(value, hardware);
}

template <class T>
FaultSpace EngineConfigOf<T>::fault_space(const HardwareConfig& hardware) const {
  return fault_space_of(value, hardware);
}

template <class T>
FaultSpace EngineConfigOf<T>::pe_space() const {
  return pe_space_of(value);
}

template <class T>
std::int64_t EngineConfigOf<T>::buffer_bytes() const {
  return buffer_bytes_of(value);
}

template <class T>
std::shared_ptr<CompiledAhead> EngineConfigOf<T>::compiled_ahead() {
  return compiled_ahead_of(value);
}

template <class T>
std::unique_ptr<EngineConfig> make_engine_config() {
  return std::make_unique<EngineConfigOf<T>>();
}

}  // namespace tilebeat
