#pragma once

#include "schema/fields.h"
#include "workload/workload.h"

#include <map>
#include <string>
#include <vector>

namespace tilebeat {

// Kinds of values that only workload files have; see schema/values.h for what a kind of value is.

/// "none", "relu", {"clamp": [low, high]} or a function of the real value: {"sigmoid": {"output_scale":
/// 256}}.
struct ActivationValue {
  Activation& value;
  void read(const Json& json, const Place& place);
  OrderedJson write() const;
  OrderedJson schema() const;
};

/// "none" or "relu".
struct ReluValue {
  bool& value;
  void read(const Json& json, const Place& place);
  OrderedJson write() const { return value ? "relu" : "none"; }
  OrderedJson schema() const { return {{"enum", {"none", "relu"}}}; }
};

/// A number, or a list of one a channel.
struct PerChannelValue {
  std::vector<double>& value;
  Bounds bounds;
  void read(const Json& json, const Place& place);
  OrderedJson write() const;
  OrderedJson schema() const;
};

/// An object of file names by layer name.
struct FilesByLayerValue {
  std::map<std::string, std::string>& value;
  void read(const Json& json, const Place& place);
  OrderedJson write() const { return value; }
  OrderedJson schema() const;
};

}  // namespace tilebeat
