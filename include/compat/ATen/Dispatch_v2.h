// AT_DISPATCH_V2: a block compiled for each dtype of a list.
//
//   AT_DISPATCH_V2(x.scalar_type(), "scaled", AT_WRAP([&] {
//     scalar_t* p = x.data_ptr<scalar_t>();
//   }), AT_EXPAND(AT_ALL_TYPES), at::kHalf, at::kBool);
//
// AT_WRAP keeps the commas of the block, AT_EXPAND puts a list in its place.
#pragma once

#include "ATen/Dispatch.h"

#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(X) X

// ---- lists of dtypes ----
#define AT_FLOATING_TYPES ::c10::kDouble, ::c10::kFloat
#define AT_INTEGRAL_TYPES ::c10::kByte, ::c10::kChar, ::c10::kInt, ::c10::kLong, ::c10::kShort
#define AT_COMPLEX_TYPES ::c10::kComplexDouble, ::c10::kComplexFloat
#define AT_ALL_TYPES AT_INTEGRAL_TYPES, AT_FLOATING_TYPES
#define AT_ALL_TYPES_AND_COMPLEX AT_ALL_TYPES, AT_COMPLEX_TYPES
#define AT_FLOATING_AND_COMPLEX_TYPES AT_FLOATING_TYPES, AT_COMPLEX_TYPES

// A macro does not expand inside itself: each item leaves the name of the next step behind, and
// TAEDA_RESCAN_ reads the text again as often as a list has items (85 at most).
#define TAEDA_RESCAN_(...) TAEDA_RESCAN_3_(TAEDA_RESCAN_3_(TAEDA_RESCAN_3_(__VA_ARGS__)))
#define TAEDA_RESCAN_3_(...) TAEDA_RESCAN_2_(TAEDA_RESCAN_2_(TAEDA_RESCAN_2_(__VA_ARGS__)))
#define TAEDA_RESCAN_2_(...) TAEDA_RESCAN_1_(TAEDA_RESCAN_1_(TAEDA_RESCAN_1_(__VA_ARGS__)))
#define TAEDA_RESCAN_1_(...) __VA_ARGS__
#define TAEDA_NO_PARENTHESES_ ()
#define TAEDA_DISPATCH_NEXT_() TAEDA_DISPATCH_CASES_
#define TAEDA_DISPATCH_CASES_(body, type, ...) \
  AT_DISPATCH_CASE(type, body)                 \
  __VA_OPT__(TAEDA_DISPATCH_NEXT_ TAEDA_NO_PARENTHESES_(body, __VA_ARGS__))

#define AT_DISPATCH_V2(TYPE, NAME, BODY, ...) \
  AT_DISPATCH_SWITCH(TYPE, NAME, TAEDA_RESCAN_(TAEDA_DISPATCH_CASES_((BODY), __VA_ARGS__)))
