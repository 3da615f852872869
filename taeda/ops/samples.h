// Sample calls of operators: small calls that the records give, for tests, golden values and the
// check of a device.
//
// A sample is a text in the form of the call's arguments, `t(2,3), 1, keepdim=true`; Note [Sample
// texts] says what may stand there. The same text gives the same arguments everywhere: numbers come
// from the counter-based generator, keyed by the operator and the text.
#pragma once

#include <optional>
#include <string_view>

#include "taeda/base/span.h"
#include "taeda/dispatch/operator.h"

namespace taeda {

struct OperatorSamples {
  const char* op;      // "add.Tensor"
  const char* accept;  // dtype classes of `t`: b(ool), i(nteger), f(loat), c(omplex)
  Span<const char*> texts;

  TAEDA_API bool takes(DType dtype) const;
};

// Of every record that has samples, in record order.
TAEDA_API Span<OperatorSamples> operator_samples();

// The arguments of a sample call in schema order, with tensors of `dtype` on the CPU. Nothing where
// the dtype cannot hold a number of the text. RuntimeError that names the operator and the column
// for a text that is none of its calls.
TAEDA_API std::optional<dispatch::Stack> read_sample(const dispatch::Operator& op,
                                                     std::string_view text, DType dtype);

}  // namespace taeda
