// The text of a kernel, both ways: the form of the opening comment of kernel.h.
#pragma once

#include <string>
#include <string_view>

#include "taeda/base/export.h"
#include "taeda/kernel/ir/kernel.h"

namespace taeda::kernel {

// The same text for the same kernel: values are numbered in the order in which the steps need them.
TAEDA_API std::string dump(const Kernel& kernel);

// The kernel of a text. ValueError with the line for other texts; the result is not verified.
TAEDA_API Kernel parse_kernel(std::string_view text);

}  // namespace taeda::kernel
