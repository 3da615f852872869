// Control flow on fake tensors, and tensors like the operands of regions.
#pragma once

#include "taeda/fx/control_flow/operators.h"

namespace taeda::fx {

Values cond_shapes(const Stack& args);
Values while_shapes(const Stack& args);
Values while_stacked_shapes(const Stack& args);
Values scan_shapes(const Stack& args);
Values map_shapes(const Stack& args);
Values associative_scan_shapes(const Stack& args);

std::vector<Values> cond_examples(const Stack& args);
std::vector<Values> while_examples(const Stack& args);
std::vector<Values> scan_examples(const Stack& args);
std::vector<Values> map_examples(const Stack& args);
std::vector<Values> associative_scan_examples(const Stack& args);

}  // namespace taeda::fx
