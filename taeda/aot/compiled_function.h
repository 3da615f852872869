// A program that was traced, differentiated and compiled, with a place in autograd's graph.
#pragma once

#include <memory>

#include "taeda/aot/partition.h"
#include "taeda/fx/compiler.h"

namespace taeda::aot {

using fx::Value;

struct AotOptions {
  fx::CompilerFn forward, backward;  // an inference graph is compiled by `forward`
  std::function<bool(dispatch::Operator&, dispatch::Stack&)> decompose;
  PartitionOptions partition;
};

class TAEDA_API CompiledFunction : public std::enable_shared_from_this<CompiledFunction> {
 public:
  // Takes values like the traced inputs. Results are tied to the inputs' histories.
  std::vector<Value> operator()(const std::vector<Value>& inputs);

  const fx::Retraced& traced() const { return traced_; }
  // Nothing where no input needs a gradient.
  const std::optional<Partition>& parts() const { return parts_; }
  // What the backward does with gradients of results: one per input, undefined where there is none.
  std::vector<Tensor> run_backward(const std::vector<Value>& saved,
                                   const std::vector<Tensor>& grads) const;

 private:
  friend TAEDA_API std::shared_ptr<CompiledFunction> compile(const fx::Graph& graph,
                                                             const std::vector<Value>& inputs,
                                                             const AotOptions& options,
                                                             fx::AttributeReader attributes);
  fx::Retraced traced_;
  std::optional<Partition> parts_;
  fx::CompiledFn forward_, backward_;
  size_t num_inputs_ = 0;
};

// Traces a closed graph on inputs like these; the joint graph is made where one of them requires a
// gradient and grad mode is on. Tensors that the graph reads by name are constants of the program.
TAEDA_API std::shared_ptr<CompiledFunction> compile(const fx::Graph& graph,
                                                    const std::vector<Value>& inputs,
                                                    const AotOptions& options,
                                                    fx::AttributeReader attributes);
TAEDA_API std::shared_ptr<CompiledFunction> compile(const fx::Graph& graph,
                                                    const std::vector<Value>& inputs,
                                                    const AotOptions& options);

}  // namespace taeda::aot
