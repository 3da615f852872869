// Writes the fields of a kernel one behind the other.
#include "taeda/kernel/ir/identity.h"

#include <type_traits>

namespace taeda::kernel {
namespace {

class IdentityWriter {
 public:
  std::string write(const Kernel& kernel) {
    list(kernel.params, [&](const Expr* param) { add(param); });
    list(kernel.buffers, [&](const Buffer& buffer) { write(buffer); });
    add(kernel.values.size());
    for (int i = 0; i < kernel.values.size(); ++i) write(kernel.values.node(i));
    list(kernel.values.indirects(), [&](const Indirect& indirect) {
      add(indirect.symbol, indirect.value, indirect.extent, indirect.wraps);
    });
    write(kernel.steps);
    return std::move(bytes_);
  }

 private:
  template <class... Fields>
  void add(const Fields&... fields) {
    static_assert((std::is_scalar_v<Fields> && ...), "other fields have padding");
    (bytes_.append(reinterpret_cast<const char*>(&fields), sizeof fields), ...);
  }
  template <class T, class F>
  void list(const std::vector<T>& all, F&& f) {
    add(all.size());
    for (const T& one : all) f(one);
  }

  void write(const Buffer& buffer) {
    add(buffer.name.size());
    bytes_ += buffer.name;
    add(buffer.dtype, buffer.numel, buffer.space, buffer.alignment, buffer.alias_class);
  }
  void write(const Node& node) {
    add(node.op, node.type, node.args[0], node.args[1], node.args[2]);
    add(node.index, node.bits[0], node.bits[1], node.at);
  }

  void write(const std::vector<Step>& steps) {
    list(steps, [&](const Step& step) {
      add(step.index());
      std::visit([&](const auto& one) { write(one); }, step);
    });
  }
  void write(const Store& store) {
    add(store.buffer, store.at, store.value, store.mask, store.mode);
  }
  void write(const Reduce& reduce) {
    add(reduce.body, reduce.first_state, reduce.part);
    list(reduce.axes, [&](const Expr* axis) { add(axis); });
    list(reduce.values, [&](NodeId value) { add(value); });
  }
  void write(const Scan& scan) {
    add(scan.body, scan.axis, scan.first_state);
    list(scan.values, [&](NodeId value) { add(value); });
  }
  void write(const Check& check) { add(check.symbol); }
  void write(const Barrier&) {}
  void write(const Loop& loop) {
    list(loop.axes, [&](const Axis& axis) { add(axis.var, axis.extent, axis.role, axis.binding); });
    write(loop.steps);
  }

  std::string bytes_;
};

}  // namespace

std::string identity_of(const Kernel& kernel) { return IdentityWriter().write(kernel); }

}  // namespace taeda::kernel
