// TORCH_MODULE and the holders of modules.
#pragma once

#include "taeda/nn/module_holder.h"
#include "torch/arg.h"
#include "torch/nn/modules/common.h"
#include "torch/types.h"

#define TORCH_MODULE(Name) TAEDA_MODULE(Name)
#define TORCH_MODULE_IMPL(Name, ImplType)                                \
  class Name : public ::taeda::nn::ModuleHolder<ImplType> { /* NOLINT */ \
   public:                                                               \
    using ::taeda::nn::ModuleHolder<ImplType>::ModuleHolder;             \
    using Impl = ImplType;                                               \
  }
