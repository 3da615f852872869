// TORCH_LIBRARY and its relatives: registration of operators and kernels.
#pragma once

#include "ATen/Operators.h"
#include "c10/util/Exception.h"
#include "taeda/dispatch/library.h"

namespace torch {
using Library = ::taeda::dispatch::Library;
using CppFunction = ::taeda::dispatch::CppFunction;
namespace jit {
using Stack = ::taeda::dispatch::Stack;
}
}  // namespace torch

#define TORCH_LIBRARY(ns, m) TAEDA_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TAEDA_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) TAEDA_LIBRARY_IMPL(ns, key, m)
#define TORCH_FN(f) &f
#define TORCH_BOX(f) ::taeda::dispatch::CppFunction(f)
#define TORCH_SELECTIVE_NAME(name) name
#define TORCH_SELECTIVE_SCHEMA(schema) schema
