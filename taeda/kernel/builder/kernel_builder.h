// KernelBuilder: writes a kernel as nested loops over a few named axes.
//
//   KernelBuilder k("softmax", Type::F32);
//   int i = k.axis(rows), j = k.axis(columns);
//   int x = k.operand(DType::Float, {columns, one}), y = k.operand(DType::Float, {columns, one});
//   Sym value = k.load(x);
//   k.loop({i}, [&] {
//     Sym largest = k.reduce("max", {j}, {value})[0];
//     Sym sum = k.reduce("sum", {j}, {exp(value - largest)})[0];
//     k.loop({j}, [&] { k.store(y, exp(value - largest) / sum); });
//   });
//   Kernel kernel = k.finish();
//
// A value is written once and computed in each loop that uses it. While the builder lives, Sym
// arithmetic of its thread belongs to its kernel.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "taeda/base/export.h"
#include "taeda/base/function_ref.h"
#include "taeda/kernel/ir/kernel.h"
#include "taeda/kernel/values.h"

namespace taeda::kernel {

// Where an operand is accessed, if not at the running place.
struct Coordinates {
  std::map<int, const Expr*> along = {};  // places along some axes
  const Expr* plus = nullptr;             // elements to add
};

class TAEDA_API KernelBuilder {
 public:
  // `type` is that of constants which stand alone.
  KernelBuilder(std::string name, Type type);

  ExprPool& pool() { return *kernel_.pool; }
  ExprGraph& graph() { return kernel_.values; }
  const Expr* integer(int64_t value) { return pool().integer(value); }

  // ---- what the kernel is given ----
  const Expr* param(const std::string& name) { return kernel_.add_param(name); }
  // An axis; one whose extent is the constant 1 has no loop.
  int axis(const Expr* extent);
  // A buffer with its stride along each axis made so far; its start is a multiple of `alignment`
  // bytes, of its item size where that is 0.
  int operand(DType dtype, std::vector<const Expr*> strides, int alignment = 0);
  // One number per call, in slot `number`.
  Sym uniform(int number, Type type) { return Sym::from_id(graph().uniform(number, type)); }

  const Expr* extent(int axis) const { return axes_[axis].extent; }
  const Expr* var(int axis) const { return axes_[axis].var; }
  DType dtype(int operand) const { return kernel_.buffers[operand].dtype; }

  // ---- values ----
  // An element in its compute type; `at` replaces the running place along some axes.
  Sym load(int operand, const Coordinates& at = {});
  Sym index(const Expr* at, Type type = Type::I64) { return Sym::from_id(graph().index(at, type)); }
  // A symbol for an index that is read from memory; values outside of the extent are errors.
  const Expr* indirect(Sym value, const Expr* extent, bool wraps);
  // The traced nodes of another graph with leaves of this kernel.
  NodeId inlined(const ExprGraph& from, NodeId root, FunctionRef<NodeId(const Node&)> leaf) {
    return kernel::inlined(graph(), from, root, leaf);
  }

  // ---- steps ----
  void loop(const std::vector<int>& axes, FunctionRef<void()> steps);
  // The results of a reduction over axes, for use after it.
  std::vector<Sym> reduce(const std::string& body, const std::vector<int>& axes,
                          const std::vector<Sym>& values);
  // Runs `steps` along an axis with the running results of a scan.
  void scan(const std::string& body, int axis, const std::vector<Sym>& values,
            FunctionRef<void(const std::vector<Sym>&)> steps);
  // Converts the value to what the buffer holds.
  void store(int operand, Sym value, const Coordinates& at = {}, StoreMode mode = StoreMode::Write);
  void store_if(SymMask mask, int operand, Sym value, const Coordinates& at = {},
                StoreMode mode = StoreMode::Write);
  void check(const Expr* symbol);
  void barrier();

  // The kernel, verified. The builder is empty after it.
  Kernel finish();

  Type type_of(Sym value) { return graph().node(value.id).type; }
  // A value in another compute type.
  Sym cast(Sym value, Type type) { return Sym::from_id(graph().cast(value.id, type)); }
  SymMask as_mask(Sym value) { return SymMask::from_id(graph().cast(value.id, Type::Mask)); }
  // The value as a dtype would hold it, still in its compute type: rounded or wrapped.
  Sym narrowed(Sym value, DType dtype) { return kernel::narrowed(graph(), value, dtype); }

 private:
  struct AxisInfo {
    const Expr *var, *extent;
  };
  std::vector<Axis> loop_axes(const std::vector<int>& axes, Role role);
  const Expr* place(int operand, const Coordinates& at);
  void add(Step step) { open_.back()->push_back(std::move(step)); }

  Kernel kernel_;
  BuilderScope scope_;
  std::vector<AxisInfo> axes_;
  std::vector<std::vector<const Expr*>> strides_;  // by operand
  std::vector<std::vector<Step>*> open_;
  int num_states_ = 0, num_symbols_ = 0;
};

}  // namespace taeda::kernel
