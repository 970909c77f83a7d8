#pragma once

#include "tilebeat/import/graph.h"

#include <map>
#include <string>

#include <tflite_generated.h>

namespace tilebeat {

/// The options of an operator as attributes, by the names of the schema. Pairs are [height, width]; padding
/// and activations are their names.
std::map<std::string, AttributeValue> tflite_options(const tflite::Operator& source);

}  // namespace tilebeat
