// Attention: which form it takes, the form made of other operators, and the rules of the form in
// one pass.
#include "taeda/ops/attention/declarations.h"

#include <atomic>
#include <iterator>
#include <limits>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/attention/forms.h"
#include "taeda/ops/attention/functions.h"
#include "taeda/ops/attention/operators.h"
#include "taeda/ops/attention/scores.h"
#include "taeda/ops/cpp_name.h"
#include "taeda/ops/dropout/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::attention {
namespace {

constexpr const char* kFormNames[] = {"math", "flash", "mem_efficient", "cudnn", "overrideable"};
// A bit per form.
std::atomic<uint32_t> enabled{(1u << std::size(kFormNames)) - 1};

uint32_t bit_of(Form form) { return 1u << static_cast<int64_t>(form); }

}  // namespace

bool is_enabled(Form form) { return (enabled_forms() & bit_of(form)) != 0; }

uint32_t enabled_forms() { return enabled.load(std::memory_order_relaxed); }

void set_enabled_forms(uint32_t forms) { enabled.store(forms, std::memory_order_relaxed); }

void set_enabled(Form form, bool value) {
  if (value)
    enabled.fetch_or(bit_of(form), std::memory_order_relaxed);
  else
    enabled.fetch_and(~bit_of(form), std::memory_order_relaxed);
}

const char* name_of(Form form) { return kFormNames[static_cast<int64_t>(form)]; }

}  // namespace taeda::attention

namespace taeda::impl {
namespace {

using attention::Form;

void check_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor& attn_mask) {
  TAEDA_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype(),
              "Expected query, key, and value to have the same dtype, but got query.dtype: ",
              cpp_name(query.dtype()), " key.dtype: ", cpp_name(key.dtype()),
              " and value.dtype: ", cpp_name(value.dtype()), " instead.");
  TAEDA_CHECK(query.device() == key.device() && query.device() == value.device(),
              "Expected query, key, and value to have the same device type, but got "
              "query.device: ",
              query.device(), " key.device: ", key.device(), " and value.device: ", value.device(),
              " instead.");
  TAEDA_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
              "Expected query, key, and value to all be  at least 2 dimensional, but got "
              "query.dim: ",
              query.dim(), " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  TAEDA_CHECK(!attn_mask.defined() || attn_mask.dtype() == DType::Bool ||
                  attn_mask.dtype() == DType::Float || attn_mask.dtype() == query.dtype(),
              "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
              "attn_mask.dtype: ",
              cpp_name(attn_mask.defined() ? attn_mask.dtype() : query.dtype()),
              " and  query.dtype: ", cpp_name(query.dtype()), " instead.");
}

// Whether the device has attention in one pass. Meta tensors show the operators that any device
// would run; fake ones those of the device that they stand for.
bool has_one_pass_kernel(const Tensor& query) {
  const DeviceType type = query.device().type;
  return type != DeviceType::Meta &&
         dispatch::has_kernel(ops::_scaled_dot_product_flash_attention_for_cpu,
                              slot_of(Key::Dense, type));
}

bool is_one_or(const SymInt& size, const SymInt& target) {
  return size == target || size == SymInt(1);
}

bool can_mask_one_pass(const Tensor& query, const Tensor& key, const Tensor& mask) {
  if (!mask.defined()) return true;
  // A mask whose derivative is asked for, backward or forward, has it from the other form.
  if (mask.requires_grad() || mask.impl()->has_tangent()) return false;
  if (mask.dim() != 2 && mask.dim() != 4) return false;
  return is_one_or(mask.sym_size(-2), query.sym_size(2)) &&
         is_one_or(mask.sym_size(-1), key.sym_size(2)) &&
         (mask.dim() == 2 || (is_one_or(mask.sym_size(0), query.sym_size(0)) &&
                              is_one_or(mask.sym_size(1), query.sym_size(1))));
}

bool has_matching_heads(const Tensor& query, const Tensor& key, const Tensor& value,
                        bool enable_gqa) {
  const SymInt heads = query.sym_size(1), shared = key.sym_size(1);
  if (query.sym_size(0) != key.sym_size(0) || query.sym_size(0) != value.sym_size(0) ||
      shared != value.sym_size(1))
    return false;
  return enable_gqa ? heads % shared == SymInt(0) : heads == shared;
}

// What the form in one pass needs and does not get; null where it has all.
const char* missing_for_one_pass(const Tensor& query, const Tensor& key, const Tensor& value,
                                 const Tensor& mask, double dropout_p, bool enable_gqa) {
  const DType dtype = query.dtype();
  if (dropout_p > 0) return "no dropout";
  if (query.dim() != 4 || key.dim() != 4 || value.dim() != 4)
    return "query, key and value of 4 dimensions";
  if (query.sym_numel() == SymInt(0) || key.sym_numel() == SymInt(0)) return "elements";
  if (key.dtype() != dtype || value.dtype() != dtype || !is_floating(dtype) || is_float8(dtype))
    return "query, key and value of one floating dtype of 16 bits or more";
  const SymInt width = query.sym_size(3);
  if (!has_matching_heads(query, key, value, enable_gqa))
    return "query, key and value of one batch size and matching numbers of heads";
  if (!can_mask_one_pass(query, key, mask))
    return "a mask without gradient that expands to queries and keys";
  if (width != key.sym_size(3) || width != value.sym_size(3))
    return "query, key and value of one last size";
  if (query.sym_strides()[3] != SymInt(1) || key.sym_strides()[3] != SymInt(1) ||
      value.sym_strides()[3] != SymInt(1))
    return "query, key and value of stride 1 in the last dimension";
  return nullptr;
}

// The form that the inputs and the switches allow. Only a device that has the form in one pass has
// a choice.
Form chosen_form(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 double dropout_p, bool enable_gqa) {
  if (!has_one_pass_kernel(query)) return Form::Composed;
  const bool may_compose = attention::is_enabled(Form::Composed);
  const bool may_run_in_one_pass = attention::is_enabled(Form::OnePass);
  TAEDA_CHECK(may_compose || may_run_in_one_pass,
              "No viable backend for scaled_dot_product_attention was found. This is likely due to "
              "turning off both the math kernel and the fused kernels.");
  if (!may_run_in_one_pass) return Form::Composed;
  const char* const missing = missing_for_one_pass(query, key, value, mask, dropout_p, enable_gqa);
  TAEDA_CHECK(!missing || may_compose,
              "No available kernel.  Aborting execution. The flash kernel needs ", missing,
              ", and the math kernel is turned off.");
  return missing ? Form::Composed : Form::OnePass;
}

// Zeros for a call without elements, which still depend on all inputs.
Tensor empty_attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  SymIntVec sizes(query.sym_sizes());
  sizes.back() = value.sym_size(-1);
  const Tensor sums = query.sum().add(key.sum()).add(value.sum());
  return query.new_zeros(SymIntList(sizes)).add(sums.mul(Scalar(0)));
}

void check_one_pass(const Tensor& query, const Tensor& key, const Tensor& value, double dropout_p,
                    const Tensor& mask) {
  constexpr const char* kOp = "scaled_dot_product_attention_flash_attention: ";
  const DType dtype = query.dtype();
  TAEDA_CHECK(is_floating(dtype) && !is_float8(dtype), kOp,
              "Expected data type in FP32, FP64, BF16, FP16, but got ", dtype, " instead.");
  TAEDA_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4, kOp,
              "Accept only 4 dims inputs shape of {B, H, T, K}");
  TAEDA_CHECK(dropout_p == 0, kOp, "Currently do not support dropout > 0");
  TAEDA_CHECK(query.sym_size(3) == value.sym_size(3) && key.sym_size(3) == value.sym_size(3), kOp,
              "Q/K/V should have the same head size");
  TAEDA_CHECK(!mask.defined() || mask.dtype() == DType::Float || mask.dtype() == dtype, kOp,
              "Attention mask is the same data type as query");
  TAEDA_CHECK(!mask.defined() || mask.dim() == 2 || mask.dim() == 4, kOp,
              "Attention mask dim in {2, 4}");
  TAEDA_CHECK(key.dtype() == dtype && value.dtype() == dtype, kOp,
              "expected query, key and value of one dtype, got ", dtype, ", ", key.dtype(), " and ",
              value.dtype());
  TAEDA_CHECK(query.sym_size(0) == key.sym_size(0) && key.sym_size(0) == value.sym_size(0) &&
                  key.sym_size(1) == value.sym_size(1) && key.sym_size(2) == value.sym_size(2) &&
                  key.sym_size(1) != SymInt(0) && query.sym_size(1) % key.sym_size(1) == SymInt(0),
              kOp, "batches, heads or lengths do not match: got query ", query.sym_sizes(),
              ", key ", key.sym_sizes(), " and value ", value.sym_sizes());
  TAEDA_CHECK(can_mask_one_pass(query, key, mask.defined() ? mask.detach() : mask), kOp,
              "the mask cannot be expanded to queries and keys, got ",
              mask.defined() ? mask.sym_sizes() : SymIntList());
}

// A result of (batch, heads, length, width) whose heads lie side by side.
OutSpec heads_side_by_side(const Tensor& like) {
  OutSpec spec(like.sym_sizes(), like.dtype(), like.device());
  const SymInt &heads = spec.sizes[1], &length = spec.sizes[2], &width = spec.sizes[3];
  spec.strides = {length * heads * width, width, heads * width, SymInt(1)};
  return spec;
}

}  // namespace

int64_t _fused_sdp_choice(const Tensor& query, const Tensor& key, const Tensor& value,
                          const Tensor& attn_mask, double dropout_p, bool, std::optional<double>,
                          bool enable_gqa) {
  return static_cast<int64_t>(chosen_form(query, key, value, attn_mask, dropout_p, enable_gqa));
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  check_attention(query, key, value, attn_mask);
  if (value.sym_numel() == SymInt(0) || query.sym_size(-2) == SymInt(0))
    return empty_attention(query, key, value);
  const Tensor mask = attention::additive_mask(attn_mask, query.dtype());
  if (chosen_form(query, key, value, attn_mask, dropout_p, enable_gqa) == Form::OnePass)
    return std::get<0>(taeda::_scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout_p, is_causal, mask, scale));
  return std::get<0>(taeda::_scaled_dot_product_attention_math(
      query, key, value, mask, dropout_p, is_causal, Tensor(), scale, enable_gqa));
}

std::tuple<Tensor, Tensor> _scaled_dot_product_attention_math(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask,
    double dropout_p, bool is_causal, const Tensor& dropout_mask, std::optional<double> scale,
    bool enable_gqa) {
  TAEDA_CHECK(!is_causal || !attn_mask.defined(),
              "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
              "is_causal=True");
  const DType dtype = query.dtype();
  const DType wide = is_reduced_float(dtype) ? DType::Float : dtype;
  // Both operands get the root of the scale, which keeps their product in range.
  const bool is_negative = scale && *scale < 0;
  const Scalar factor = attention::scale_of(query, scale);
  const Scalar root = (is_negative ? -factor : factor).root();
  const Tensor q = query.to(wide).mul(is_negative ? -root : root);
  Tensor k = key.to(wide), v = value.to(wide);
  if (enable_gqa) attention::repeat_heads(q, k, v);
  Tensor weights = q.matmul(k.transpose(-2, -1).mul(root));
  if (is_causal)
    weights = weights.add(attention::additive_mask(
        attention::causal_mask(query.sym_size(-2), key.sym_size(-2), query.device()), wide));
  else if (attn_mask.defined())
    weights = weights.add(attention::additive_mask(attn_mask, wide));
  // What a mask of a wider type promotes is rounded back, as PyTorch's addition in place does.
  // Integers became floats by the scale, and meet the integers of the values below.
  if (is_floating(wide) || is_complex(wide)) weights = weights.to(wide);
  weights = taeda::_safe_softmax(weights, -1);
  if (dropout_p > 0 && dropout_mask.defined()) {
    weights = weights.masked_fill(dropout_mask.logical_not(), Scalar(0.0));
    v = v.mul(Scalar(1 / (1 - dropout_p)));
  } else if (dropout_p > 0) {
    weights = taeda::dropout(weights, dropout_p, true);
  }
  return {weights.matmul(v).to(dtype), weights.to(dtype)};
}

Tensor _safe_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  const Tensor out = taeda::softmax(self, dim, dtype);
  const Scalar lowest(-std::numeric_limits<double>::infinity());
  const Tensor is_unseen = self.eq(lowest).all(dim, /*keepdim=*/true);
  return out.masked_fill(is_unseen, Scalar(0.0));
}

std::array<OutSpec, 2> _scaled_dot_product_flash_attention_for_cpu_spec(
    const Tensor& query, const Tensor& key, const Tensor& value, double dropout_p, bool,
    const Tensor& attn_mask, std::optional<double>) {
  check_one_pass(query, key, value, dropout_p, attn_mask);
  OutSpec output(query.sym_sizes(), query.dtype(), query.device());
  output.strides = strides_like(query, MemoryFormat::Preserve);
  const DType wide = is_reduced_float(query.dtype()) ? DType::Float : query.dtype();
  const SymInt heads = query.sym_size(1), length = query.sym_size(2);
  OutSpec logsumexp(SymIntList({query.sym_size(0), heads, length}), wide, query.device());
  logsumexp.strides = {heads * length, SymInt(1), heads};
  return {output, logsumexp};
}

std::array<OutSpec, 3> _scaled_dot_product_flash_attention_for_cpu_backward_spec(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& out, const Tensor& logsumexp, double dropout_p, bool, const Tensor& attn_mask,
    std::optional<double>) {
  check_one_pass(query, key, value, dropout_p, attn_mask);
  const SymInt queries = query.sym_size(0) * query.sym_size(1) * query.sym_size(2);
  TAEDA_CHECK(grad_out.sym_sizes() == query.sym_sizes() && out.sym_sizes() == query.sym_sizes() &&
                  logsumexp.sym_numel() == queries,
              "scaled_dot_product_attention_flash_attention_backward: expected a gradient and a "
              "result of ",
              query.sym_sizes(), " and ", queries, " sums, got ", grad_out.sym_sizes(), ", ",
              out.sym_sizes(), " and ", logsumexp.sym_sizes());
  const DType wide = is_reduced_float(query.dtype()) ? DType::Float : query.dtype();
  TAEDA_CHECK(logsumexp.dtype() == wide, "expected scalar type ", wide, " but found ",
              logsumexp.dtype());
  return {heads_side_by_side(query), heads_side_by_side(key), heads_side_by_side(value)};
}

}  // namespace taeda::impl
