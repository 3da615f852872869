// The node of a compiled program in autograd's graph: what is kept between forward and backward.
#pragma once

#include "taeda/aot/compiled_function.h"

namespace taeda::aot {

// The tensor with these strides: itself, or a copy.
Tensor laid_out(const Tensor& t, const SymIntVec& strides);

// An input that no gradient is made of: what it looks like is enough to run the program again. A
// leaf is alive with its history anyway.
class Unread {
 public:
  Unread(size_t input, const Value& value);
  size_t input() const { return input_; }
  Value value() const;

 private:
  size_t input_;
  Value number_or_leaf_;
  SymIntVec sizes_, strides_;
  DType dtype_ = DType::Float;
  Device device_;
};

// The history of a compiled program's results.
class CompiledNode final : public autograd::CustomNode {
 public:
  CompiledNode(std::shared_ptr<CompiledFunction> function, std::vector<bool> is_tensor)
      : CustomNode(std::move(is_tensor)), function_(std::move(function)) {}

  const char* name() const override { return "CompiledFunctionBackward"; }
  // Hooks of parameters run as in eager.
  Span<uint32_t> edge_ranks() const override { return function_->edge_ranks(); }
  bool is_inner(uint32_t output) const override { return function_->is_inner(output); }
  void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) override;
  void apply_and_show(Span<Tensor> grads, std::vector<Tensor>& grad_inputs, Span<uint32_t> asked,
                      autograd::ShowInner show) override;
  void release_saved() override;

  // After record_outputs. Inputs that are not saved anyway are kept for gradients of gradients.
  // `others`: by input, what stands for those of them that no gradient is made of.
  void keep(std::vector<Value> to_save, std::vector<Value> primals, std::vector<Unread> others,
            std::vector<Tensor> written, Span<Tensor> outputs, RandomStates random);

  // After the writes of the epilogue. What is saved holds: it lies apart from them, or they wrote
  // what is there. But views of one base, and what was detached from it, count writes together.
  void accept_writes();

 protected:
  void release_resources() override;

 private:
  enum class Place : uint8_t { Here, Saved, More };
  struct Kept {
    Value value;
    Place place;
    size_t number;
  };
  Value unpack(const Kept& k);
  std::vector<Value> unpack_saved(Span<Tensor> grads);
  std::vector<Value> unpack_inputs();
  Value with_history_of_input(const Value& copy, size_t input) const;
  std::vector<Tensor> run_twice(const std::vector<Tensor>& grads, Span<uint32_t> asked,
                                autograd::ShowInner show);

  std::shared_ptr<CompiledFunction> function_;
  std::vector<Kept> saved_values_, primals_;
  std::vector<Unread> others_;
  RandomStates random_;
  std::vector<autograd::SavedTensor> more_;
  std::vector<Tensor> written_;     // by the backward
  std::vector<SymIntVec> strides_;  // in which the backward takes gradients of outputs
};

}  // namespace taeda::aot
