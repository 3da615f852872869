// Attention with several heads from Python: the function of the C++ layers, and its parts.
#include "python/src/multi_head_attention.h"

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/wrap.h"
#include "python/src/args/args.h"
#include "taeda/nn/functional/attention.h"
#include "taeda/nn/functional/attention_masks.h"
#include "taeda/nn/functional/attention_projection.h"

namespace taeda::python {

namespace {

namespace attention = nn::functional::attention;
using attention::Three;

constexpr Param required(const char* name, ParamType type) { return {name, type}; }
constexpr Param or_none(const char* name, ParamType type) { return {name, type, true}; }
constexpr Param optional(const char* name, ParamType type) {
  return {name, type, true, false, true};
}

// An undefined tensor stands for None.
Tensor tensor_or_none(Args& args, int i) { return args.opt_tensor(i).value_or(Tensor()); }

// Any object is a flag, as in Python.
bool is_true(const Args& args, int i) {
  const int truth = PyObject_IsTrue(args.object(i));
  if (truth < 0) throw_python_error();
  return truth != 0;
}

PyObject* wrap_three(const Three& parts) {
  return wrap(std::make_tuple(parts[0], parts[1], parts[2]));
}

// clang-format off
// The parameters of the signature below, in its order.
enum Position {
  kQuery, kKey, kValue, kEmbedDim, kNumHeads, kInWeight, kInBias, kBiasK, kBiasV, kAddZeroAttn,
  kDropout, kOutWeight, kOutBias, kTraining, kPadding, kNeedWeights, kMask, kIsSeparate, kQWeight,
  kKWeight, kVWeight, kStaticK, kStaticV, kIsMean, kIsCausal, kCount
};

const Param forward_params[kCount] = {
    required("query", ParamType::Tensor),
    required("key", ParamType::Tensor),
    required("value", ParamType::Tensor),
    required("embed_dim_to_check", ParamType::Int),
    required("num_heads", ParamType::Int),
    or_none("in_proj_weight", ParamType::Tensor),
    or_none("in_proj_bias", ParamType::Tensor),
    or_none("bias_k", ParamType::Tensor),
    or_none("bias_v", ParamType::Tensor),
    required("add_zero_attn", ParamType::PyObject),
    required("dropout_p", ParamType::Float),
    required("out_proj_weight", ParamType::Tensor),
    or_none("out_proj_bias", ParamType::Tensor),
    required("training", ParamType::PyObject),
    or_none("key_padding_mask", ParamType::Tensor),
    required("need_weights", ParamType::PyObject),
    or_none("attn_mask", ParamType::Tensor),
    required("use_separate_proj_weight", ParamType::PyObject),
    or_none("q_proj_weight", ParamType::Tensor),
    or_none("k_proj_weight", ParamType::Tensor),
    or_none("v_proj_weight", ParamType::Tensor),
    or_none("static_k", ParamType::Tensor),
    or_none("static_v", ParamType::Tensor),
    required("average_attn_weights", ParamType::PyObject),
    required("is_causal", ParamType::PyObject)};
// clang-format on
const Signature forward_signature[] = {
    {"(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, "
     "Tensor in_proj_weight, Tensor in_proj_bias, Tensor bias_k, Tensor bias_v, "
     "bool add_zero_attn, float dropout_p, Tensor out_proj_weight, Tensor out_proj_bias, "
     "bool training, Tensor key_padding_mask, bool need_weights, Tensor attn_mask, "
     "bool use_separate_proj_weight, Tensor q_proj_weight, Tensor k_proj_weight, "
     "Tensor v_proj_weight, Tensor static_k, Tensor static_v, bool average_attn_weights, "
     "bool is_causal)",
     forward_params, kCount}};

nn::functional::MultiheadAttentionForwardFuncOptions read_options(Args& args) {
  const auto tensor = [&](Position i) { return tensor_or_none(args, i); };
  return nn::functional::MultiheadAttentionForwardFuncOptions(
             args.integer(kEmbedDim), args.integer(kNumHeads), tensor(kInWeight), tensor(kInBias),
             tensor(kBiasK), tensor(kBiasV), is_true(args, kAddZeroAttn), args.number(kDropout),
             tensor(kOutWeight), tensor(kOutBias))
      .training(is_true(args, kTraining))
      .key_padding_mask(tensor(kPadding))
      .need_weights(is_true(args, kNeedWeights))
      .attn_mask(tensor(kMask))
      .use_separate_proj_weight(is_true(args, kIsSeparate))
      .q_proj_weight(tensor(kQWeight))
      .k_proj_weight(tensor(kKWeight))
      .v_proj_weight(tensor(kVWeight))
      .static_k(tensor(kStaticK))
      .static_v(tensor(kStaticV))
      .average_attn_weights(is_true(args, kIsMean))
      .is_causal(is_true(args, kIsCausal));
}

PyObject* forward(PyObject* module, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse_function("_multi_head_attention_forward", forward_signature, 1, module, argv, nargs,
                     kwnames, args) < 0)
    return args.overridden();
  return guarded([&] {
    const Tensor &query = args.tensor(kQuery), &key = args.tensor(kKey),
                 &value = args.tensor(kValue);
    const auto options = read_options(args);
    return wrap([&] {
      const GilRelease gil(is_large(query));
      return nn::functional::multi_head_attention_forward(query, key, value, options);
    }());
  });
}

const Param shape_params[] = {
    required("query", ParamType::Tensor),    required("key", ParamType::Tensor),
    required("value", ParamType::Tensor),    or_none("key_padding_mask", ParamType::Tensor),
    or_none("attn_mask", ParamType::Tensor), required("num_heads", ParamType::Int)};
const Signature shape_signature[] = {
    {"(Tensor query, Tensor key, Tensor value, Tensor key_padding_mask, Tensor attn_mask, "
     "int num_heads)",
     shape_params, 6}};

PyObject* shape_check(PyObject* module, PyObject* const* argv, Py_ssize_t nargs,
                      PyObject* kwnames) {
  Args args;
  if (parse_function("_mha_shape_check", shape_signature, 1, module, argv, nargs, kwnames, args) <
      0)
    return args.overridden();
  return guarded([&] {
    return wrap(attention::check_shapes(args.tensor(0), args.tensor(1), args.tensor(2),
                                        tensor_or_none(args, 3), tensor_or_none(args, 4),
                                        args.integer(5)));
  });
}

const Param mask_params[] = {
    or_none("mask", ParamType::Tensor),        required("mask_name", ParamType::Str),
    or_none("other_type", ParamType::DType),   required("other_name", ParamType::Str),
    required("target_type", ParamType::DType), optional("check_other", ParamType::Bool)};
const Signature mask_signature[] = {
    {"(Tensor mask, str mask_name, torch.dtype other_type, str other_name, "
     "torch.dtype target_type, bool check_other = True)",
     mask_params, 6}};

PyObject* canonical_mask(PyObject* module, PyObject* const* argv, Py_ssize_t nargs,
                         PyObject* kwnames) {
  Args args;
  if (parse_function("_canonical_mask", mask_signature, 1, module, argv, nargs, kwnames, args) < 0)
    return args.overridden();
  return guarded([&] {
    const std::optional<DType> other = args.boolean(5, true) ? args.opt_dtype(2) : std::nullopt;
    return wrap(attention::canonical_mask(tensor_or_none(args, 0), args.string(1), other,
                                          args.string(3), args.dtype(4)));
  });
}

const Param packed_params[] = {required("q", ParamType::Tensor), required("k", ParamType::Tensor),
                               required("v", ParamType::Tensor), required("w", ParamType::Tensor),
                               optional("b", ParamType::Tensor)};
const Signature packed_signature[] = {
    {"(Tensor q, Tensor k, Tensor v, Tensor w, Tensor b = None)", packed_params, 5}};

PyObject* in_projection_packed(PyObject* module, PyObject* const* argv, Py_ssize_t nargs,
                               PyObject* kwnames) {
  Args args;
  if (parse_function("_in_projection_packed", packed_signature, 1, module, argv, nargs, kwnames,
                     args) < 0)
    return args.overridden();
  return guarded([&] {
    return wrap_three(attention::in_projection_packed(
        {args.tensor(0), args.tensor(1), args.tensor(2)}, args.tensor(3), tensor_or_none(args, 4)));
  });
}

const Param separate_params[] = {
    required("q", ParamType::Tensor),   required("k", ParamType::Tensor),
    required("v", ParamType::Tensor),   required("w_q", ParamType::Tensor),
    required("w_k", ParamType::Tensor), required("w_v", ParamType::Tensor),
    optional("b_q", ParamType::Tensor), optional("b_k", ParamType::Tensor),
    optional("b_v", ParamType::Tensor)};
const Signature separate_signature[] = {
    {"(Tensor q, Tensor k, Tensor v, Tensor w_q, Tensor w_k, Tensor w_v, Tensor b_q = None, "
     "Tensor b_k = None, Tensor b_v = None)",
     separate_params, 9}};

PyObject* in_projection(PyObject* module, PyObject* const* argv, Py_ssize_t nargs,
                        PyObject* kwnames) {
  Args args;
  if (parse_function("_in_projection", separate_signature, 1, module, argv, nargs, kwnames, args) <
      0)
    return args.overridden();
  return guarded([&] {
    const auto three = [&](int at) -> Three {
      return {tensor_or_none(args, at), tensor_or_none(args, at + 1), tensor_or_none(args, at + 2)};
    };
    return wrap_three(attention::in_projection(three(0), three(3), three(6)));
  });
}

constexpr int kKeywords = METH_FASTCALL | METH_KEYWORDS;

}  // namespace

PyMethodDef multi_head_attention_table[] = {
    {"_multi_head_attention_forward", as_function(forward), kKeywords,
     "The output of attention of several heads, and its weights or None."},
    {"_mha_shape_check", as_function(shape_check), kKeywords,
     "Whether there is a batch; AssertionError where the numbers of dimensions do not fit."},
    {"_canonical_mask", as_function(canonical_mask), kKeywords,
     "A mask as numbers that are added to scores: a boolean one is minus infinity where True."},
    {"_in_projection_packed", as_function(in_projection_packed), kKeywords,
     "Query, key and value by the three parts of one matrix; shared inputs in one product."},
    {"_in_projection", as_function(in_projection), kKeywords,
     "Query, key and value by a matrix each."},
    {}};

}  // namespace taeda::python
