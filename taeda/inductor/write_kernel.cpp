// Loops over the axes of a group.
#include "taeda/inductor/write_kernel.h"

#include <algorithm>
#include <map>

#include "taeda/base/str.h"
#include "taeda/inductor/domain.h"
#include "taeda/inductor/emit.h"
#include "taeda/inductor/merge_quotients.h"
#include "taeda/inductor/units.h"
#include "taeda/kernel/reduce_tree.h"

namespace taeda::inductor {

using kernel::Axis;
using kernel::Loop;
using kernel::NodeId;
using kernel::Role;
using kernel::Sym;

namespace {

// Strides of a dense tensor count a size as at least 1. Where a size is 0 there is no element to
// find, so indices count the size itself, and axes behind each other are one.
const Expr* index_stride(symbolic::ExprPool& pool, const Geometry& g, size_t d) {
  symbolic::Replacements sizes;
  for (const Expr* size : g.sizes)
    if (size->range.lo < 1) sizes[pool.make(symbolic::ExprOp::Max, size, pool.integer(1))] = size;
  return sizes.empty() ? g.strides[d] : symbolic::substitute(pool, g.strides[d], sizes);
}

}  // namespace

const Expr* element_index(symbolic::ExprPool& pool, const Geometry& g, const Place& place) {
  TAEDA_INTERNAL_CHECK(place.size() == g.sizes.size(), "a place of ", place.size(),
                       " dimensions in memory of ", g.sizes.size());
  const Expr* at = g.offset;
  for (size_t d = 0; d < place.size(); ++d)
    at = pool.add(at, pool.mul(index_stride(pool, g, d), place[d]));
  return merged_quotients(pool, at);
}

namespace {

class KernelWriter final : public InliningEmitter {
 public:
  KernelWriter(const Program& program, const Group& group, const std::string& name)
      : program_(program), group_(group) {
    made_.kernel.name = name;
    made_.kernel.pool = program.pool;
  }

  GroupKernel write() {
    add_params();
    if (program_.units[group_.units[0].unit].kind == Unit::Kind::Scatter) {
      write_scatter(group_.units[0]);
      kernel::verify(made_.kernel);
      return std::move(made_);
    }
    Loop outer{axes_of(false, Role::Kept), {}};
    int last = 0;
    for (const GroupUnit& member : group_.units) last = std::max(last, member.pass);
    if (program_.units[group_.units[0].unit].kind == Unit::Kind::Scan)
      write_scan(outer.steps);
    else
      for (int pass = 0; pass <= last; ++pass) write_pass(pass, outer.steps);
    made_.kernel.steps.push_back(std::move(outer));
    return std::move(made_);
  }

  // ---- Emitter ----
  symbolic::ExprPool& pool() override { return *program_.pool; }
  kernel::ExprGraph& graph() override { return made_.kernel.values; }
  Sym result(const Reduction& reduction, int which, const Place& kept) override {
    const auto found = states_.find(reduction.id);
    if (found != states_.end()) return found->second.at(static_cast<size_t>(which));
    const int memory = program_.result_memory[reduction.id].at(static_cast<size_t>(which));
    const Place sizes = reduction.kept(reduction.sizes);
    const Expr* at = pool().integer(0);
    for (size_t d = 0; d < kept.size(); ++d) at = pool().add(pool().mul(at, sizes[d]), kept[d]);
    return Sym::from_id(made_.kernel.load(buffer_of(memory), at));
  }
  Sym number(int index, kernel::Type type) override {
    return Sym::from_id(graph().uniform(index, type));
  }

 protected:
  std::optional<Sym> stored(const Definition& definition, const Place& place) override {
    const Geometry& g = program_.geometry[definition.id];
    if (definition.value && program_.unit_of_definition[definition.id] < 0) return std::nullopt;
    const int buffer = buffer_of(g.memory, definition.dtype);
    if (mask() < 0) return Sym::from_id(made_.kernel.load(buffer, element_index(pool(), g, place)));
    const Sym zero = constant(Scalar(0), kernel::compute_type(definition.dtype));
    return Sym::from_id(
        made_.kernel.load(buffer, element_index(pool(), g, place), mask(), zero.id));
  }

 private:
  void add_params() {
    // Parameters are the symbols of sizes, in the order of the program.
    made_.kernel.params.assign(program_.symbols.begin(), program_.symbols.end());
  }

  std::vector<Axis> axes_of(bool is_row, Role role) { return axes_of(group_.axes, is_row, role); }
  std::vector<Axis> axes_of(const std::vector<DomainAxis>& all, bool is_row, Role role) {
    std::vector<Axis> axes;
    for (const DomainAxis& axis : all)
      if (axis.is_row == is_row) axes.push_back({axis.var, extent_of_axis(axis), role});
    // A loop has an axis.
    if (axes.empty()) {
      const Expr* one = made_.kernel.axis(str("one", num_ones_++));
      axes.push_back({one, pool().integer(1), role});
    }
    return axes;
  }

  // The last piece of a row is as long as what is left of it.
  const Expr* extent_of_axis(const DomainAxis& axis) {
    const GroupUnit& first = group_.units[0];
    const Reduction* reduction = program_.units[first.unit].reduction;
    if (!axis.is_row || !reduction || !reduction->cut_length) return axis.extent;
    const Expr* whole = reduction->sizes.back();
    const Expr* before =
        pool().mul(pool().integer(kernel::kReduceChunk), first.at[first.at.size() - 2]);
    return pool().make(symbolic::ExprOp::Min, whole,
                       pool().subtract(reduction->cut_length, before));
  }

  int buffer_of(int memory) {
    TAEDA_INTERNAL_CHECK(memory >= 0, "a value that another kernel reads has no memory");
    return buffer_of(memory, program_.memories[memory].dtype);
  }
  // A view may see its memory as elements of another dtype: it has a buffer of its own.
  int buffer_of(int memory, DType dtype) {
    TAEDA_INTERNAL_CHECK(memory >= 0, "a value that another kernel reads has no memory");
    for (size_t i = 0; i < made_.memories.size(); ++i)
      if (made_.memories[i] == memory && made_.kernel.buffers[i].dtype == dtype)
        return static_cast<int>(i);
    made_.memories.push_back(memory);
    const Memory& m = program_.memories[memory];
    const Expr* numel = m.numel;
    if (m.dtype != dtype)
      numel = pool().floor_div(pool().mul(numel, pool().integer(item_size(m.dtype))),
                               pool().integer(item_size(dtype)));
    return made_.kernel.add_buffer({str("b", made_.memories.size() - 1), dtype, numel});
  }

  // Values per row first, then one loop over the row.
  void write_pass(int pass, std::vector<kernel::Step>& steps) {
    std::vector<kernel::Step> inner;
    std::vector<kernel::Step>& whole = group_.has_rows ? inner : steps;
    bool reduces = false;
    for (const GroupUnit& member : group_.units) {
      if (member.pass != pass) continue;
      const Unit& unit = program_.units[member.unit];
      if (unit.kind == Unit::Kind::Pointwise)
        write_store(*unit.definition, member.at, member.is_per_row ? steps : whole);
      else
        reduces = true;
    }
    std::vector<Axis> axes;
    if (group_.has_rows) axes = axes_of(true, reduces ? Role::Reduced : Role::Kept);
    std::vector<const GroupUnit*> reductions;
    for (const GroupUnit& member : group_.units)
      if (member.pass == pass && program_.units[member.unit].kind == Unit::Kind::Reduction) {
        write_reduce(*program_.units[member.unit].reduction, member.at, axes, inner);
        reductions.push_back(&member);
      }
    if (!inner.empty()) steps.push_back(Loop{std::move(axes), std::move(inner)});
    for (const GroupUnit* member : reductions)
      write_results(*program_.units[member->unit].reduction, member->at, steps);
  }

  // One loop along the dimension, which stores all that the group computes.
  void write_scan(std::vector<kernel::Step>& steps) {
    const GroupUnit& first = group_.units[0];
    const Reduction& reduction = *program_.units[first.unit].reduction;
    Loop along{axes_of(true, Role::Scanned), {}};
    std::vector<Sym> values;
    {
      const kernel::BuilderScope scope(graph(), kernel::Type::F32);
      values = reduction.values(*this, first.at);
    }
    kernel::Scan scan{kernel::find_reduce_body(reduction.body, type_of(values.at(0))),
                      along.axes.at(0).var,
                      {},
                      num_states_};
    for (Sym value : values) scan.values.push_back(value.id);
    add_states(reduction, scan.body->result_types);
    along.steps.push_back(std::move(scan));
    for (const GroupUnit& member : group_.units)
      write_store(*program_.units[member.unit].definition, member.at, along.steps);
    steps.push_back(std::move(along));
  }

  // A loop over the elements, then one over the updates.
  void write_scatter(const GroupUnit& member) {
    const Definition& definition = *program_.units[member.unit].definition;
    Loop elements{axes_of(false, Role::Kept), {}};
    write_store(definition, member.at, elements.steps);
    made_.kernel.steps.push_back(std::move(elements));
    made_.kernel.steps.emplace_back(kernel::Barrier{});
    int next = static_cast<int>(group_.axes.size());
    const Fit fitted = first_fit(pool(), definition.scatter->sizes, 0, next);
    Loop updates{axes_of(fitted.axes, false, Role::Kept), {}};
    const kernel::BuilderScope scope(graph(), kernel::compute_type(definition.dtype));
    const kernel::Scatter::Update update = definition.scatter->update(*this, fitted.at);
    const Geometry& g = program_.geometry[definition.id];
    updates.steps.push_back(kernel::Store{buffer_of(g.memory), element_index(pool(), g, update.at),
                                          update.value.id, -1, kernel::StoreMode::Add});
    made_.kernel.steps.push_back(std::move(updates));
  }

  void add_states(const Reduction& reduction, const std::vector<kernel::Type>& types) {
    for (kernel::Type type : types)
      states_[reduction.id].push_back(Sym::from_id(graph().state(num_states_++, type)));
  }

  void write_store(const Definition& definition, const Place& at,
                   std::vector<kernel::Step>& steps) {
    const Sym value = compute(definition, at);
    const Geometry& g = program_.geometry[definition.id];
    if (g.memory >= 0)
      steps.push_back(kernel::Store{buffer_of(g.memory), element_index(pool(), g, at), value.id});
  }

  void write_reduce(const Reduction& reduction, const Place& at, const std::vector<Axis>& axes,
                    std::vector<kernel::Step>& steps) {
    std::vector<Sym> values;
    {
      const kernel::BuilderScope scope(graph(), kernel::Type::F32);
      values = reduction.values(*this, at);
    }
    kernel::Reduce reduce{
        kernel::find_reduce_body(reduction.body, type_of(values.at(0))), {}, {}, num_states_};
    for (const Axis& axis : axes) reduce.axes.push_back(axis.var);
    for (Sym value : values) reduce.values.push_back(value.id);
    reduce.part = reduction.part;
    add_states(reduction, reduce.body->result_types);
    steps.push_back(std::move(reduce));
  }

  // Results that other kernels read.
  void write_results(const Reduction& reduction, const Place& at,
                     std::vector<kernel::Step>& steps) {
    const std::vector<int>& memories = program_.result_memory[reduction.id];
    const Place kept = reduction.kept(at), sizes = reduction.kept(reduction.sizes);
    const Expr* to = pool().integer(0);
    for (size_t d = 0; d < kept.size(); ++d) to = pool().add(pool().mul(to, sizes[d]), kept[d]);
    for (size_t i = 0; i < memories.size(); ++i)
      if (memories[i] >= 0)
        steps.push_back(kernel::Store{buffer_of(memories[i]), to, states_[reduction.id][i].id});
  }

  const Program& program_;
  const Group& group_;
  GroupKernel made_;
  std::map<int, std::vector<Sym>> states_;
  int num_states_ = 0, num_ones_ = 0;
};

}  // namespace

GroupKernel write_kernel(const Program& program, const Group& group, const std::string& name) {
  return KernelWriter(program, group, name).write();
}

}  // namespace taeda::inductor
