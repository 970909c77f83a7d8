#pragma once

#include "tilebeat/import/graph.h"

namespace tilebeat {

/// Throws UserError unless every tensor is made once, before it is read, and all inputs and outputs of the
/// model are tensors that a node makes or the model is given: a file with a cycle fails here.
void check_order(const ModelGraph& graph);

}  // namespace tilebeat
