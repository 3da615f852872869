// How a compiler of graphs is reached by those who make graphs.
#pragma once

#include <functional>
#include <vector>

#include "taeda/fx/interpreter.h"

namespace taeda::fx {

// Runs what was compiled: one value per placeholder in, the leaves of the output out.
using CompiledFn = std::function<std::vector<Value>(const std::vector<Value>& inputs)>;
// Takes a closed, functional graph whose nodes carry fake values.
using CompilerFn = std::function<CompiledFn(const Graph& graph, AttributeReader attributes)>;

}  // namespace taeda::fx
