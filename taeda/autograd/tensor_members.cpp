// The members of Tensor that are autograd's.
#include "taeda/autograd/engine.h"
#include "taeda/autograd/variable.h"

namespace taeda {

bool Tensor::requires_grad() const { return autograd::requires_grad(*this); }

const Tensor& Tensor::set_requires_grad(bool value) const {
  autograd::set_requires_grad(*this, value);
  return *this;
}

bool Tensor::is_leaf() const { return autograd::is_leaf(*this); }

Tensor Tensor::grad() const { return autograd::grad(*this); }

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
                      std::optional<TensorList> inputs) const {
  autograd::run_backward({*this}, {gradient}, retain_graph.value_or(create_graph), create_graph,
                         inputs.value_or(TensorList()), /*allow_unused=*/inputs.has_value());
}

IntrusivePtr<autograd::Node> Tensor::grad_fn() const { return autograd::grad_fn(*this); }
int64_t Tensor::output_nr() const { return autograd::output_nr(*this); }
void Tensor::retain_grad() const { autograd::retain_grad(*this); }
bool Tensor::retains_grad() const { return autograd::retains_grad(*this); }
Tensor& Tensor::mutable_grad() const { return autograd::meta_of(*this).grad; }
Tensor Tensor::variable_data() const { return autograd::detached(*this); }
Tensor& Tensor::detach_() const {
  autograd::detach_inplace(*this);
  return const_cast<Tensor&>(*this);
}
void Tensor::set_data(const Tensor& source) const { autograd::set_data(*this, source); }

uint64_t Tensor::add_hook(std::function<Tensor(const Tensor&)> hook) const {
  return autograd::register_hook(*this, std::move(hook));
}
bool Tensor::remove_hook(uint64_t id) const { return autograd::remove_hook(*this, id); }

Tensor track_if_asked(Tensor t, const TensorOptions& options) {
  if (options.requires_grad()) autograd::set_requires_grad(t, true);
  return t;
}

}  // namespace taeda
