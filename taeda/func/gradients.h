// Gradients of lists of tensors, on which grad and vjp are built.
#pragma once

#include "taeda/core/tensor.h"

namespace taeda::func::func_detail {

// One gradient for each input, zeros where nothing flows. Empty `cotangents` mean one, for outputs
// with one element.
TAEDA_API std::vector<Tensor> gradients(const std::vector<Tensor>& outputs,
                                        const std::vector<Tensor>& inputs,
                                        const std::vector<Tensor>& cotangents, bool keep_graph,
                                        bool create_graph);

// RuntimeError unless the result of a function that grad differentiates is one number.
TAEDA_API void check_scalar_output(const Tensor& output);
// RuntimeError for results of vjp's function that have no gradient, and for none at all.
TAEDA_API void check_vjp_outputs(const std::vector<Tensor>& outputs);
TAEDA_API void check_has_outputs(const char* api, bool has_outputs);
[[noreturn]] TAEDA_API void fail_cotangents(const std::string& cotangents,
                                            const std::string& outputs);
// RuntimeError unless there are tensors, as many tangents as primals.
TAEDA_API void check_jvp_inputs(bool is_same_form, const std::string& primals,
                                const std::string& tangents, size_t num_primals);
// The tangent, which a strict jvp needs.
TAEDA_API void check_strict(const Tensor& tangent);

}  // namespace taeda::func::func_detail
