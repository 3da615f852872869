// vmap: a function of one example becomes a function of a batch of them.
//
//   auto rows = vmap([](const Tensor& row) { return row.sum(); })(matrix);
//   auto each = vmap(grad(loss), {std::nullopt, 0, 0})(weights, x, y);  // one gradient per example
//
// Operators run once for all examples, by their batching rules. `in_dims` names the dimension of
// each argument to map over, counted from the end where negative, `out_dims` where the batch goes
// in each result (dims.h). `randomness` says what random operators do: Error, Same draw for all, or
// Different draws. With `chunk_size` the batch runs in pieces of that size. Nothing may depend on
// the values of a batch. ValueError with PyTorch's phrase for dimensions that do not fit.
#pragma once

#include "taeda/core/generator.h"
#include "taeda/func/dims.h"
#include "taeda/func/level_scope.h"

namespace taeda::func {
namespace func_detail {

// The arguments' tensors and where the batch stands in each, counted from the front.
struct TAEDA_API Batch {
  std::vector<Tensor> tensors;
  std::vector<Dims::Dim> dims;
  SymInt size;

  // `fits`: the dimensions fit the form of the arguments.
  Batch(std::vector<Tensor> tensors, std::vector<Dims::Dim> dims, bool fits, const Dims& in_dims,
        size_t num_args, const std::string& form);
  Batch part(int64_t start, int64_t count) const;

 private:
  Batch() = default;
};

TAEDA_API void check_chunk_size(std::optional<int64_t> chunk_size);
[[noreturn]] TAEDA_API void fail_out_dims(const Dims& out_dims, const std::string& form);
TAEDA_API Tensor join(const std::vector<Tensor>& pieces, Dims::Dim dim);

// The dimension of each tensor of a result; a list of one serves a tensor alone.
template <class Result>
std::vector<Dims::Dim> dims_of_result(const Result& result, const Dims& out_dims) {
  std::vector<Dims::Dim> dims;
  const bool is_wrapped = is_tensor<Result> && out_dims.is_list() && out_dims.parts().size() == 1;
  if (!append_dims(result, is_wrapped ? out_dims.parts()[0] : out_dims, dims))
    fail_out_dims(out_dims, form_text(result));
  return dims;
}

template <class F, class Arguments>
auto run_vmap(const F& f, const Arguments& args, const Batch& batch, const Dims& out_dims,
              Randomness randomness) {
  const VmapScope level(batch.size, randomness);
  std::vector<Tensor> wrapped;
  for (size_t i = 0; i < batch.tensors.size(); ++i)
    wrapped.push_back(level.wrap(batch.tensors[i], batch.dims[i]));
  auto arguments = with_leaves(args, wrapped);
  auto result = std::apply(f, arguments);
  const std::vector<Dims::Dim> dims = dims_of_result(result, out_dims);
  size_t next = 0;
  return map_tree(std::move(result),
                  [&](const Tensor& t) { return level.unwrap(t, dims[next++]); });
}

template <class F, class Arguments>
auto run_in_chunks(const F& f, const Arguments& args, const Batch& batch, const Dims& out_dims,
                   Randomness randomness, int64_t chunk_size) {
  const int64_t size = batch.size.expect_int();
  // What all examples share is drawn again for each chunk, from where the first one started.
  const auto state = default_cpu_generator().get_state();
  const auto run = [&](int64_t start) {
    if (randomness == Randomness::Same) default_cpu_generator().set_state(state);
    return run_vmap(f, args, batch.part(start, std::min(chunk_size, size - start)), out_dims,
                    randomness);
  };
  auto first = run(0);
  std::vector<std::vector<Tensor>> columns;
  for (const Tensor& t : leaves_of(first)) columns.push_back({t});
  for (int64_t start = chunk_size; start < size; start += chunk_size) {
    const std::vector<Tensor> piece = leaves_of(run(start));
    for (size_t i = 0; i < columns.size(); ++i) columns[i].push_back(piece.at(i));
  }
  const std::vector<Dims::Dim> dims = dims_of_result(first, out_dims);
  std::vector<Tensor> joined;
  for (const std::vector<Tensor>& column : columns)
    joined.push_back(join(column, dims[joined.size()]));
  return with_leaves(std::move(first), joined);
}

}  // namespace func_detail

template <class F>
auto vmap(F f, Dims in_dims = 0, Dims out_dims = 0, Randomness randomness = Randomness::Error,
          std::optional<int64_t> chunk_size = std::nullopt) {
  func_detail::check_chunk_size(chunk_size);
  return [f = std::move(f), in_dims = std::move(in_dims), out_dims = std::move(out_dims),
          randomness, chunk_size](const auto&... args) {
    const std::tuple<std::decay_t<decltype(args)>...> all(args...);
    std::vector<Dims::Dim> dims;
    const bool fits = func_detail::append_dims(all, in_dims, dims);
    const func_detail::Batch batch(leaves_of(all), std::move(dims), fits, in_dims, sizeof...(args),
                                   form_text(all));
    if (chunk_size && SymInt(*chunk_size) < batch.size)
      return func_detail::run_in_chunks(f, all, batch, out_dims, randomness, *chunk_size);
    return func_detail::run_vmap(f, all, batch, out_dims, randomness);
  };
}

}  // namespace taeda::func
