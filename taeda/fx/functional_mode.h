// Functionalization as a mode: it stands below autograd and above a tracer.
//
// Note [Functional mode]: the tensors of the program are fake. Autograd, views and version counters
// see them as they would see the program's own, and the mode keeps a value for each: another fake
// tensor, which no operator writes to and which the tracer knows. An operator runs on the values; a
// view or a change of geometry also on the program's fake tensors, so that memory is shared where
// the program shares it. A write under no_grad, through detach() or through .data thus changes
// values and leaves histories alone, as in eager.
#pragma once

#include <functional>
#include <unordered_map>

#include "taeda/dispatch/modes.h"
#include "taeda/fx/fake.h"
#include "taeda/fx/functional_calls.h"

namespace taeda::fx {

class TAEDA_API FunctionalMode final : public dispatch::Mode, private FunctionalCalls {
 public:
  // `fake_mode` makes the program's tensors; it lies below this mode and a tracer.
  explicit FunctionalMode(IntrusivePtr<FakeMode> fake_mode)
      : FunctionalCalls(false), fake_mode_(std::move(fake_mode)) {}

  // From now on `tensor`, of the program, has this value.
  void add(const Tensor& tensor, Tensor value);
  // The present value; where it is older than the last write, operators run to look at it.
  Tensor value(const Tensor& tensor) { return value_of(tensor); }
  // Whether memory of the tensor was written to since it was added.
  bool is_written(const Tensor& tensor);
  // How often it was.
  uint64_t num_writes(const Tensor& tensor) { return find(tensor)->root->generation; }
  // The same for tensors that share memory.
  const Aliased* memory_of(const Tensor& tensor) { return find(tensor)->root.get(); }
  // Whether the tensor looks at memory of another one, and the present value of that one.
  bool is_view(const Tensor& tensor) { return find(tensor)->is_view; }
  Tensor whole(const Tensor& tensor) { return find(tensor)->root->value; }

  bool is_running = false;  // the program is: what was before it is none of its calls

  // Runs instead of the operator where it gives true, on tensors of the program.
  std::function<bool(dispatch::Operator&, dispatch::Stack&)> decompose;

  // Called on the arguments of control flow before it runs: its regions must not write.
  std::function<void(dispatch::Operator&, dispatch::Stack&)> rewrite_regions;

  void run(dispatch::Operator& op, dispatch::Stack& stack) override;
  // Of a mode before autograd: declines composites that must come apart.
  bool offer_early(dispatch::Operator& op, dispatch::Stack& stack) override;

 protected:
  FunctionalState* find(const Tensor& t) override;
  Tensor make(IntrusivePtr<FunctionalState> state, const Tensor* seen) override;
  void replace(const Tensor& t, IntrusivePtr<FunctionalState> state) override;
  void take_memory(dispatch::Operator& op, Stack program) override { run_fake(op, program); }
  bool is_alone(const Tensor& t, const FunctionalState& state) override;
  std::vector<Tensor> looks(dispatch::Operator& op, const Stack& program, const Stack& values,
                            size_t position) override;
  SymInt start_of(const Tensor& t, const FunctionalState& state) override;
  Tensor look_in_place(dispatch::Operator& op, dispatch::Operator& functional, const Stack& program,
                       const Stack& values) override;
  // Histories are told apart above: nothing below knows detach() from its argument. The program's
  // own alias() stays.
  bool leaves_out_identity(const dispatch::Operator& op) const override;

 private:
  struct Known {
    WeakPtr<TensorImpl> key;
    const StorageImpl* memory = nullptr;
    IntrusivePtr<FunctionalState> state;
  };
  struct KnownMemory {
    WeakPtr<StorageImpl> key;
    IntrusivePtr<FunctionalState> state;  // of the first tensor that was seen there
    SymInt offset;                        // that of this tensor
  };

  void note(const Tensor& t, IntrusivePtr<FunctionalState> state);
  IntrusivePtr<FunctionalState> state_by_memory(const Tensor& t, const KnownMemory& memory);
  Tensor make_like(const Tensor& value);
  void run_fake(dispatch::Operator& op, dispatch::Stack& stack);

  IntrusivePtr<FakeMode> fake_mode_;
  std::unordered_map<const TensorImpl*, Known> tensors_;
  std::unordered_map<const StorageImpl*, KnownMemory> memories_;
};

}  // namespace taeda::fx
