// torch::headeronly: the core's types by the names of PyTorch's header-only part.
#pragma once

#include "ATen/core_names.h"
#include "c10/util/Exception.h"

namespace torch::headeronly {
using namespace ::c10;
using IntHeaderOnlyArrayRef = ::taeda::IntList;
template <class T>
using HeaderOnlyArrayRef = ::taeda::Span<T>;
template <class T, size_t N, template <class> class Traits = ::taeda::DefaultPtrTraits,
          class Index = int64_t>
using HeaderOnlyTensorAccessor = ::taeda::TensorAccessor<T, N, Traits, Index>;
}  // namespace torch::headeronly
