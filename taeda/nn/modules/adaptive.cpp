// A softmax over many classes, most of which are rare.
#include "taeda/nn/modules/adaptive.h"

#include <cmath>

#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/functions.h"

namespace taeda::nn {

AdaptiveLogSoftmaxWithLossImpl::AdaptiveLogSoftmaxWithLossImpl(
    AdaptiveLogSoftmaxWithLossOptions given)
    : options(std::move(given)) {
  AdaptiveLogSoftmaxWithLossImpl::reset();
}

void AdaptiveLogSoftmaxWithLossImpl::reset() {
  cutoffs = options.cutoffs();
  TAEDA_CHECK(!cutoffs.empty(), "cutoffs should be a sequence of length larger than 0");
  bool is_right = cutoffs.front() > 0 && cutoffs.back() <= options.n_classes() - 1;
  for (size_t i = 1; i < cutoffs.size(); ++i) is_right = is_right && cutoffs[i - 1] < cutoffs[i];
  TAEDA_CHECK(is_right,
              "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
              "order, where each value is between 1 and n_classes-1");
  shortlist_size = cutoffs[0];
  n_clusters = static_cast<int64_t>(cutoffs.size());
  head_size = shortlist_size + n_clusters;
  cutoffs.push_back(options.n_classes());
  const int64_t in = options.in_features();
  head = register_module("head", Linear(LinearOptions(in, head_size).bias(options.head_bias())));
  ModuleList clusters;
  for (int64_t i = 0; i < n_clusters; ++i) {
    const auto hidden = static_cast<int64_t>(
        std::floor(static_cast<double>(in) / std::pow(options.div_value(), i + 1)));
    const int64_t classes = cutoffs[static_cast<size_t>(i) + 1] - cutoffs[static_cast<size_t>(i)];
    clusters->push_back(Sequential(Linear(LinearOptions(in, hidden).bias(false)),
                                   Linear(LinearOptions(hidden, classes).bias(false))));
  }
  tail = register_module("tail", clusters);
}

void AdaptiveLogSoftmaxWithLossImpl::reset_parameters() {
  head->reset_parameters();
  for (size_t i = 0; i < tail->size(); ++i) {
    auto& pair = tail->at<SequentialImpl>(i);
    pair.at<LinearImpl>(0).reset_parameters();
    pair.at<LinearImpl>(1).reset_parameters();
  }
}

// Logarithms of probabilities within a cluster.
Tensor AdaptiveLogSoftmaxWithLossImpl::cluster(size_t i, const Tensor& input) {
  return taeda::log_softmax(tail->at<SequentialImpl>(i).forward(input), 1);
}

ASMoutput AdaptiveLogSoftmaxWithLossImpl::forward(const Tensor& input_, const Tensor& target_) {
  const int64_t rank = target_.dim();
  TAEDA_CHECK(rank <= 1, "0D or 1D target tensor expected, multi-target not supported");
  TAEDA_CHECK(input_.dim() == rank + 1, rank, "D target tensor expects ", rank + 1,
              "D input tensors, but found inputs with size ", input_.sizes());
  const bool is_batched = rank == 1;
  const Tensor input = is_batched ? input_ : input_.unsqueeze(0);
  const Tensor target = is_batched ? target_ : target_.unsqueeze(0);
  TAEDA_CHECK(input.size(0) == target.size(0),
              "Input and target should have the same size in the batch dimension.");
  Tensor output =
      taeda::zeros({SymInt(target.size(0))}, input.dtype(), std::nullopt, input.device());
  // The column of the head: a frequent class's own, or that of its cluster.
  Tensor columns = taeda::zeros_like(target);
  int64_t used = 0;
  for (size_t i = 0; i < cutoffs.size(); ++i) {
    const int64_t start = i == 0 ? 0 : cutoffs[i - 1];
    const Tensor is_here = target.ge(start).logical_and(target.lt(cutoffs[i]));
    const Tensor rows = is_here.nonzero().squeeze(1);
    if (rows.numel() == 0) continue;
    used += rows.numel();
    const Tensor within = target.index_select(0, rows) - start;
    if (i == 0) {
      columns.index_copy_(0, rows, within);
      continue;
    }
    const Tensor scores = cluster(i - 1, input.index_select(0, rows));
    columns.index_fill_(0, rows, shortlist_size + static_cast<int64_t>(i) - 1);
    output = output.index_copy(0, rows, scores.gather(1, within.unsqueeze(1)).squeeze(1));
  }
  TAEDA_CHECK(used == target.size(0), "Target values should be in [0, ", options.n_classes() - 1,
              "], but values in range [", target.min().item<int64_t>(), ", ",
              target.max().item<int64_t>(), "] were found. ");
  const Tensor first = taeda::log_softmax(head(input), 1);
  output = output + first.gather(1, columns.unsqueeze(1)).squeeze(1);
  const double loss = output.neg().mean().item().to_double();
  return {is_batched ? output : output.squeeze(0), loss};
}

Tensor AdaptiveLogSoftmaxWithLossImpl::full_log_prob(const Tensor& input,
                                                     const Tensor& head_output) {
  const Tensor first = taeda::log_softmax(head_output, 1);
  std::vector<Tensor> parts{first.narrow(1, 0, shortlist_size)};
  for (int64_t i = 0; i < n_clusters; ++i) {
    parts.push_back(cluster(static_cast<size_t>(i), input) +
                    first.narrow(1, shortlist_size + i, 1));
  }
  return taeda::cat(parts, 1);
}

Tensor AdaptiveLogSoftmaxWithLossImpl::log_prob(const Tensor& input) {
  return full_log_prob(input, head(input));
}

Tensor AdaptiveLogSoftmaxWithLossImpl::predict(const Tensor& input) {
  const Tensor scores = head(input);
  const Tensor output = scores.argmax(1);
  const Tensor rare = output.ge(shortlist_size).nonzero().squeeze(1);
  if (rare.numel() == 0) return output;
  const Tensor full = full_log_prob(input.index_select(0, rare), scores.index_select(0, rare));
  return output.index_copy(0, rare, full.argmax(1));
}

}  // namespace taeda::nn
