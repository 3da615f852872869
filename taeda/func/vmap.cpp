// The batch of a call of vmap: its dimensions checked with PyTorch's phrases.
#include "taeda/func/vmap.h"

#include "taeda/ops/functions.h"

namespace taeda::func {

std::string Dims::text() const {
  if (!is_list_) return dim_ ? std::to_string(*dim_) : "None";
  std::string inside;
  for (const Dims& d : parts_) inside += (inside.empty() ? "" : ", ") + d.text();
  return "(" + inside + (parts_.size() == 1 ? ",)" : ")");
}

namespace func_detail {
namespace {

std::string call_text(const Dims& in_dims) {
  return str("vmap(f, in_dims=", in_dims.text(), ", ...)(<inputs>)");
}

Dims::Dim checked_dim(const Tensor& t, Dims::Dim dim, const Dims& in_dims) {
  if (!dim) return dim;
  const int64_t rank = t.dim();
  TAEDA_CHECK_VALUE(-rank <= *dim && *dim < rank, call_text(in_dims), ": Got in_dim=", *dim,
                    " for some input, but that input is a Tensor of dimensionality ", rank,
                    " so expected in_dim to satisfy -", rank, " <= in_dim < ", rank, ".");
  return *dim < 0 ? *dim + rank : *dim;
}

SymInt batch_size(const std::vector<Tensor>& tensors, const std::vector<Dims::Dim>& dims) {
  SymIntVec sizes;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (dims[i]) sizes.push_back(tensors[i].sym_size(*dims[i]));
  TAEDA_CHECK_VALUE(!sizes.empty(), "vmap: Expected at least one Tensor to vmap over");
  for (const SymInt& s : sizes)
    TAEDA_CHECK_VALUE(s == sizes[0],
                      "vmap: Expected all tensors to have the same size in the mapped dimension, "
                      "got sizes ",
                      SymIntList(sizes), " for the mapped dimension");
  return sizes[0];
}

}  // namespace

Batch::Batch(std::vector<Tensor> given, std::vector<Dims::Dim> wanted, bool fits,
             const Dims& in_dims, size_t num_args, const std::string& form)
    : tensors(std::move(given)), dims(std::move(wanted)) {
  TAEDA_CHECK_VALUE(num_args > 0,
                    "vmap(f)(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
                    "trying to vmap over a function with no inputs. The latter is unsupported.");
  TAEDA_CHECK_VALUE(fits, call_text(in_dims),
                    ": in_dims is not compatible with the structure of `inputs`. in_dims has "
                    "structure ",
                    in_dims.text(), " but inputs has structure ", form, ".");
  for (size_t i = 0; i < tensors.size(); ++i) dims[i] = checked_dim(tensors[i], dims[i], in_dims);
  size = batch_size(tensors, dims);
}

Batch Batch::part(int64_t start, int64_t count) const {
  Batch part;
  part.dims = dims;
  part.size = count;
  for (size_t i = 0; i < tensors.size(); ++i)
    part.tensors.push_back(dims[i] ? tensors[i].narrow(*dims[i], start, count) : tensors[i]);
  return part;
}

void check_chunk_size(std::optional<int64_t> chunk_size) {
  TAEDA_CHECK_VALUE(!chunk_size || *chunk_size > 0,
                    "vmap: chunk_size should be None or greater than 0. (got ",
                    chunk_size.value_or(0), ")");
}

void fail_out_dims(const Dims& out_dims, const std::string& form) {
  fail(ErrorKind::Value, "vmap(f, ..., out_dims=", out_dims.text(),
       ")(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has "
       "structure ",
       out_dims.text(), " but outputs has structure ", form, ".");
}

Tensor join(const std::vector<Tensor>& pieces, Dims::Dim dim) {
  return dim ? taeda::cat(pieces, *dim) : pieces[0];
}

}  // namespace func_detail
}  // namespace taeda::func
