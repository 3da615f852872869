// What a kernel is, as bytes that can be compared.
#pragma once

#include <string>

#include "taeda/kernel/ir/kernel.h"

namespace taeda::kernel {

// Equal for kernels of one pool that compute the same in the same way, whatever the kernels are
// called. Nothing is printed: expressions of one pool are equal where their addresses are. Kernels
// whose nodes were made in another order have other bytes.
TAEDA_API std::string identity_of(const Kernel& kernel);

}  // namespace taeda::kernel
