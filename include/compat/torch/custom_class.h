// Classes of one's own: torch::class_ and torch::CustomClassHolder.
#pragma once

#include "ATen/core_names.h"
#include "taeda/dispatch/custom_class.h"
#include "taeda/dispatch/library.h"

namespace torch {
using CustomClassHolder = ::taeda::dispatch::CustomClassHolder;
using ::taeda::dispatch::init;
template <class T>
using class_ = ::taeda::dispatch::ClassBuilder<T>;
}  // namespace torch
