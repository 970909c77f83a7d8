#pragma once

#include "workload/operators/operator.h"
#include "workload/tensor_source.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilebeat {

// A workload file as written (SPEC UI-6), before tensors are loaded and names resolved. Every field is
// declared once, in `describe`.

/// A copy of a layer of the steps.
struct OfStep {
  Place place;   ///< of the layer in `steps`
  int step = 1;  ///< from 1 on
};

/// A layer as written. Its fields besides the common ones depend on the operator.
struct LayerSpec {
  std::string name;
  std::string scene = "main";
  std::vector<std::string> inputs;
  std::optional<Arithmetic> arithmetic;
  const Operator* op = nullptr;  ///< once it is read
  std::unique_ptr<OperatorForm> form;
  std::optional<OfStep> of_step;  ///< none: the layer is an entry of `layers`
};

void describe(Fields& v, LayerSpec& s);

/// The value of a layer: its fields are those of its operator, with one schema for every set of fields.
struct LayerValue {
  LayerSpec& value;
  void read(const Json& json, const Place& place);
  OrderedJson write() const;
  OrderedJson schema() const;
};

struct InputSpec {
  std::string name;
  TensorInfo info;
  std::vector<int> file_axes;
  SourceSpec source;
};

struct FloatReferenceSpec {
  std::string layer;
  std::optional<std::string> file;
  double scale = 1;
};

/// What a layer is expected to come to.
struct ExpectedSpec {
  std::optional<std::string> file;
  std::optional<std::int64_t> cycles;
  double tolerance_percent = 0;
};

/// What the whole run is expected to take.
struct ExpectedTotalSpec {
  std::int64_t cycles = 0;
  double tolerance_percent = 0;
};

/// The greatest magnitude of what a number of the steps consists of.
constexpr std::int64_t kMostOfNumber = std::int64_t{1} << 31;

/// A number that changes from step to step.
struct StepNumberSpec {
  std::int64_t from = 0, by = 0;
};

/// A tensor that a step takes over from the one before.
struct CarriedSpec {
  std::string from;  ///< what the first step reads: a workload input or a layer before the steps
  std::string next;  ///< what the others read: this layer of the step before
};

/// Layers that are computed again and again, over tensors that may grow (SPEC AT-3).
struct StepsSpec {
  int count = 1;
  std::map<std::string, StepNumberSpec> numbers;
  std::map<std::string, CarriedSpec> carried;
  std::vector<Json> layers;  ///< as written
  std::vector<std::string> outputs;
};

struct WorkloadSpec {
  std::string name = "workload";
  Arithmetic arithmetic = Arithmetic::kExact;
  std::vector<InputSpec> inputs;
  std::vector<LayerSpec> layers;
  std::optional<StepsSpec> steps;  ///< its layers are among `layers` once the file is read
  std::optional<std::vector<std::string>> outputs;
  std::map<std::string, ExpectedSpec> expected;
  std::optional<ExpectedTotalSpec> expected_total;
  std::vector<FloatReferenceSpec> float_references;
};

void describe(Fields& v, InputSpec& s);
void describe(Fields& v, FloatReferenceSpec& s);
void describe(Fields& v, ExpectedSpec& s);
void describe(Fields& v, ExpectedTotalSpec& s);
void describe(Fields& v, StepNumberSpec& s);
void describe(Fields& v, CarriedSpec& s);
void describe(Fields& v, StepsSpec& s);
void describe(Fields& v, WorkloadSpec& s);

/// Reads and checks the file by itself. Throws UserError.
WorkloadSpec read_workload_file(const std::string& path);

}  // namespace tilebeat
