// at::Tag: properties of operators, by name: m.def("...", {at::Tag::pt2_compliant_tag}).
#pragma once

#include "taeda/dispatch/library.h"

namespace at {

struct Tag : ::taeda::dispatch::TagName {
  static const Tag core, data_dependent_output, dynamic_output_shape, flexible_layout, inplace_view,
      needs_exact_strides, needs_fixed_stride_order, nondeterministic_seeded, pointwise,
      pt2_compliant_tag;
};

#define TAEDA_TAG(name)            \
  inline constexpr Tag Tag::name { \
    {                              \
      #name                        \
    }                              \
  }
TAEDA_TAG(core);
TAEDA_TAG(data_dependent_output);
TAEDA_TAG(dynamic_output_shape);
TAEDA_TAG(flexible_layout);
TAEDA_TAG(inplace_view);
TAEDA_TAG(needs_exact_strides);
TAEDA_TAG(needs_fixed_stride_order);
TAEDA_TAG(nondeterministic_seeded);
TAEDA_TAG(pointwise);
TAEDA_TAG(pt2_compliant_tag);
#undef TAEDA_TAG

}  // namespace at
