#include "tilebeat/base/error.h"
#include "plan_builder.h"
namespace tilebeat {
void begin_chip(PlanBuilder&) {}
void plan_chip_layer(PlanBuilder&, const Layer&) { throw UserError("not yet"); }
}
