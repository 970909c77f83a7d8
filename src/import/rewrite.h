#pragma once

#include "tilebeat/import/graph.h"

namespace tilebeat {

/// Makes initializers of nodes that are constants, so that what reads them finds them wherever they stand.
void fold_constant_nodes(ModelGraph& graph);

/// Says operators of a float network by those that layers are made of, before it is calibrated: sums and
/// means of more than two tensors, powers, absolute values, PRelu, bounds of one number, further reductions,
/// and transposed convolutions with groups or dilation as plain ones with zeros in their kernels.
void rewrite_operators(ModelGraph& graph);

}  // namespace tilebeat
