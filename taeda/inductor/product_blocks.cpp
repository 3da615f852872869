// Finding groups that run inside of products, and their kernels.
#include "taeda/inductor/product_blocks.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "taeda/backends/cpu/convolution/plan_operator.h"
#include "taeda/inductor/domain.h"
#include "taeda/inductor/merge_quotients.h"
#include "taeda/inductor/units.h"
#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::inductor {

const cpu::ProductOperator* product_of(const Program& program, const Call& call) {
  const cpu::ProductOperator* product = cpu::find_product(*call.op);
  if (!product) product = cpu::find_convolution(*call.op);
  if (!product) return nullptr;
  // Conjugates and negatives are resolved by the operator itself.
  const auto is_plain = [&](int value) {
    const Tensor& fake = program.values[value].fake;
    return !fake.is_conj() && !fake.is_neg() && !is_float8(fake.dtype());
  };
  for (const CallArgument& a : call.arguments)
    if (a.tensor >= 0 && !is_plain(a.tensor)) return nullptr;
  return is_plain(call.results.at(0)) ? product : nullptr;
}

namespace {

class Attacher {
 public:
  Attacher(const Program& program, std::vector<Group>& groups)
      : program_(program),
        groups_(groups),
        readers_(program.units.size()),
        group_of_(program.units.size(), -1) {
    for (const TensorValue& value : program.values)
      if (value.definition) values_[value.definition->id] = &value;
    for (size_t g = 0; g < groups.size(); ++g)
      for (const GroupUnit& member : groups[g].units) {
        note_reads(program.units[member.unit], g);
        group_of_[member.unit] = static_cast<int>(g);
      }
    for (const Program::Result& result : program.results)
      if (result.value >= 0) results_.insert(unit_of(result.value));
  }

  void run() {
    std::vector<size_t> hosts(groups_.size());  // by group of a product: the one it runs with
    for (size_t c = 0; c < groups_.size(); ++c) {
      hosts[c] = c;
      const int unit = groups_[c].units[0].unit;
      if (!product_at(c) || readers_[unit].empty()) continue;
      // Groups before the first reader do not need the product, so it may run with it.
      const size_t reader = readers_[unit].front();
      if (attach(unit, groups_[reader])) hosts[c] = reader;
    }
    std::vector<bool> is_gone(groups_.size());
    for (size_t c = 0; c < groups_.size(); ++c) {
      if (is_gone[c] || !product_at(c)) continue;
      take_operands(*program_.units[groups_[c].units[0].unit].call, c, groups_[hosts[c]], is_gone);
      is_gone[c] = hosts[c] != c;
    }
    size_t c = 0;
    std::erase_if(groups_, [&](const Group&) { return is_gone[c++]; });
  }

 private:
  // The unit that computes the memory of a value; -1 for what is there from the start.
  int unit_of(int value) const {
    const TensorValue& root = program_.values[program_.values[value].root];
    return program_.unit_of_definition[root.definition->id];
  }

  bool product_at(size_t g) const {
    const Call* call = program_.units[groups_[g].units[0].unit].call;
    return call && product_of(program_, *call);
  }

  void note_reads(const Unit& unit, size_t g) {
    const auto note = [&](int from) {
      if (from >= 0 && (readers_[from].empty() || readers_[from].back() != g))
        readers_[from].push_back(g);
    };
    for (const Read& read : unit.reads)
      if (read.definition) note(program_.unit_of_definition[read.definition->id]);
    const auto note_arguments = [&](auto& self, const std::vector<CallArgument>& all) -> void {
      for (const CallArgument& argument : all) {
        if (argument.tensor >= 0) note(unit_of(argument.tensor));
        self(self, argument.list);
      }
    };
    if (unit.call) note_arguments(note_arguments, unit.call->arguments);
  }

  bool attach(int product, Group& group) {
    if (group.product >= 0 || group.has_rows) return false;
    for (const DomainAxis& axis : group.axes)
      if (axis.extent->is_constant(0)) return false;
    for (const GroupUnit& member : group.units)
      if (program_.units[member.unit].kind != Unit::Kind::Pointwise) return false;
    const TensorValue& result = program_.values[program_.units[product].call->results[0]];
    int next = 0;
    const std::optional<Fit> fitted =
        fit(*program_.pool, group.axes, result.geometry.sizes, 0, false, next);
    if (!fitted || !fitted->replaced.empty()) return false;
    const Expr* own = element_index(*program_.pool, result.geometry, fitted->at);
    for (const GroupUnit& member : group.units)
      if (!reads_in_place(program_.units[member.unit], member, product, own)) return false;
    const Sides sides = sides_of(product);
    if (!is_gainful(product, sides, group, fitted->at)) return false;
    group.product = product;
    group.element = own;
    group.product_at = fitted->at;
    group.is_only_reader = readers_[product].size() == 1 && results_.count(product) == 0;
    group.are_channels_columns = sides.is_innermost;
    for (size_t d = 0; d < fitted->at.size(); ++d)
      if (sides.is_column(d, fitted->at.size()))
        for (const Expr* symbol : symbolic::symbols_of(fitted->at[d]))
          group.columns.push_back(symbol);
    return true;
  }

  // Which dimensions of a product belong to the columns of its blocks.
  struct Sides {
    bool has_channels, is_innermost;  // of a convolution
    bool is_column(size_t d, size_t rank) const {
      if (!has_channels) return d + 1 == rank;
      return is_innermost ? d == 1 : d >= 2;
    }
  };
  Sides sides_of(int product) const {
    const Call& call = *program_.units[product].call;
    const Place& strides = program_.values[call.results[0]].geometry.strides;
    const bool has_channels = product_of(program_, call)->has_channels;
    return {has_channels,
            has_channels && strides[1]->is_constant(1) && !strides.back()->is_constant(1)};
  }

  // Whether work on the blocks of a convolution takes no longer than a pass over memory. It would
  // where other memory of the result's size is read in short rows of planes, where an index along
  // the columns is a quotient or has gaps (channels innermost on one side alone, which passes of
  // their own transpose by tiles), and behind depthwise ones with channels innermost, which have
  // no blocks.
  bool is_gainful(int product, const Sides& sides, const Group& group, const Place& at) const {
    if (!sides.has_channels) return true;
    if (sides.is_innermost && is_depthwise(*program_.units[product].call)) return false;
    symbolic::ExprPool& pool = *program_.pool;
    std::vector<DomainAxis> columns;
    for (const DomainAxis& axis : group.axes)
      for (size_t d = 0; d < at.size(); ++d)
        if (sides.is_column(d, at.size()) && mentions(at[d], axis.var)) columns.push_back(axis);
    const auto moves_as_one = [&](const Definition& definition, const Place& place) {
      const auto value = values_.find(definition.id);
      const Expr* index = pool.integer(0);
      if (value != values_.end())
        index = element_index(pool, value->second->geometry, place);
      else
        for (size_t d = 0; d < place.size(); ++d)
          index = pool.add(pool.mul(index, definition.sizes[d]), place[d]);
      for (size_t i = 0; i + 1 < columns.size(); ++i) {
        const Expr* far = kernel::stride_of(pool, index, columns[i].var);
        const Expr* near = kernel::stride_of(pool, index, columns[i + 1].var);
        if (!far || !near || far != pool.mul(near, columns[i + 1].extent)) return false;
      }
      if (columns.empty()) return true;
      const Expr* step = kernel::stride_of(pool, index, columns.back().var);
      return step && (step->is_constant(0) || step->is_constant(1));
    };
    for (const GroupUnit& member : group.units) {
      const Unit& unit = program_.units[member.unit];
      symbolic::Replacements to_axes;
      for (size_t d = 0; d < member.at.size(); ++d) to_axes[own_variable(pool, d)] = member.at[d];
      if (!moves_as_one(*unit.definition, member.at)) return false;
      for (const Read& read : unit.reads) {
        if (!read.definition) return false;  // of a reduction, whose results lie by its own rules
        Place place;
        for (const Expr* e : read.place) place.push_back(symbolic::substitute(pool, e, to_axes));
        if (!moves_as_one(*read.definition, place)) return false;
        const int from = program_.unit_of_definition[read.definition->id];
        const bool is_own = from == product || is_member(group, from);
        if (!sides.is_innermost && !is_own && moves_with(place, columns)) return false;
      }
    }
    return true;
  }
  bool is_depthwise(const Call& call) const {
    const CallArgument& groups = call.arguments.at(8);
    const bool is_one =
        groups.number ? groups.number->is_constant(1) : groups.constant.to_int() == 1;
    return !is_one &&
           program_.values[call.arguments.at(1).tensor].geometry.sizes[1]->is_constant(1);
  }
  static bool is_member(const Group& group, int unit) {
    return std::any_of(group.units.begin(), group.units.end(),
                       [&](const GroupUnit& member) { return member.unit == unit; });
  }
  static bool moves_with(const Place& place, const std::vector<DomainAxis>& axes) {
    for (const Expr* e : place)
      for (const DomainAxis& axis : axes)
        if (mentions(e, axis.var)) return true;
    return false;
  }
  static bool mentions(const Expr* e, const Expr* symbol) {
    const auto symbols = symbolic::symbols_of(e);
    return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
  }

  // Moves groups that compute operands of the call `c` to its host.
  void take_operands(const Call& call, size_t c, Group& host, std::vector<bool>& is_gone) {
    const cpu::ProductOperator& product = *product_of(program_, call);
    if (!product.may_be_filled) return;
    for (const int argument : {product.second - 1, product.second}) {
      const int value = call.arguments.at(argument).tensor;
      const int unit = unit_of(value);
      if (unit < 0 || group_of_[unit] < 0 || !is_read_once(call, value, unit, c)) continue;
      const auto from = static_cast<size_t>(group_of_[unit]);
      Group& group = groups_[from];
      if (group.units.size() != 1 || group.product >= 0 || !program_.units[unit].is_cheap) continue;
      if (program_.units[unit].kind != Unit::Kind::Pointwise || !lies_dense(value, group)) continue;
      group.argument = argument;
      host.operands.push_back(std::move(group));
      is_gone[from] = true;
      group_of_[unit] = -1;
    }
  }
  // Whether one argument of the call is all that reads the unit.
  bool is_read_once(const Call& call, int value, int unit, size_t c) const {
    if (readers_[unit].size() != 1 || readers_[unit][0] != c || results_.count(unit)) return false;
    const int root = program_.values[value].root;
    return std::count_if(call.arguments.begin(), call.arguments.end(), [&](const CallArgument& a) {
             return a.tensor >= 0 && program_.values[a.tensor].root == root;
           }) == 1;
  }
  enum class Lie : uint8_t { ByRows, ByColumns, Otherwise };
  // How the matrices of the last two dimensions lie, one behind the other without gaps.
  Lie lie_of(const Geometry& g) const {
    symbolic::ExprPool& pool = *program_.pool;
    Place place;
    const Expr* before = pool.integer(0);
    for (size_t d = 0; d < g.sizes.size(); ++d) {
      place.push_back(own_variable(pool, d));
      if (d + 2 < g.sizes.size()) before = pool.add(pool.mul(before, g.sizes[d]), place[d]);
    }
    const size_t last = g.sizes.size() - 1;
    const Expr *rows = g.sizes[last - 1], *cols = g.sizes[last];
    before = pool.mul(before, pool.mul(rows, cols));
    const Expr* at = element_index(pool, g, place);
    const auto is_at = [&](const Expr* e) { return at == pool.add(before, e); };
    if (is_at(pool.add(pool.mul(cols, place[last - 1]), place[last]))) return Lie::ByRows;
    if (is_at(pool.add(pool.mul(rows, place[last]), place[last - 1]))) return Lie::ByColumns;
    return Lie::Otherwise;
  }
  // Whether the operand has matrices without gaps, the root's or their transposes. Says how they
  // lie.
  bool lies_dense(int value, Group& group) const {
    const Geometry& seen = program_.values[value].geometry;
    const Geometry& root = program_.values[program_.values[value].root].geometry;
    for (const DomainAxis& axis : group.axes)
      if (axis.extent->is_constant(0)) return false;
    if (seen.sizes.size() < 2 || root.sizes.size() < 2) return false;
    const Lie lie = lie_of(seen), own = lie_of(root);
    if (lie == Lie::Otherwise || own == Lie::Otherwise) return false;
    const Expr *rows = seen.sizes[seen.sizes.size() - 2], *cols = seen.sizes.back();
    const Expr *own_rows = root.sizes[root.sizes.size() - 2], *own_cols = root.sizes.back();
    if (lie != own) std::swap(own_rows, own_cols);
    if (rows != own_rows || cols != own_cols || batch_of(seen) != batch_of(root)) return false;
    group.is_by_columns = lie == Lie::ByColumns;
    const Place& at = group.units[0].at;
    for (const Expr* symbol : symbolic::symbols_of(at[at.size() - (lie == own ? 1 : 2)]))
      group.columns.push_back(symbol);
    return true;
  }
  // The number of matrices.
  const Expr* batch_of(const Geometry& g) const {
    const Expr* batch = program_.pool->integer(1);
    for (size_t d = 0; d + 2 < g.sizes.size(); ++d) batch = program_.pool->mul(batch, g.sizes[d]);
    return batch;
  }

  // Whether each element is read where the group computes the element of the same place.
  bool reads_in_place(const Unit& unit, const GroupUnit& member, int product, const Expr* own) {
    symbolic::ExprPool& pool = *program_.pool;
    symbolic::Replacements to_axes;
    for (size_t d = 0; d < member.at.size(); ++d) to_axes[own_variable(pool, d)] = member.at[d];
    for (const Read& read : unit.reads) {
      if (!read.definition || program_.unit_of_definition[read.definition->id] != product) continue;
      const TensorValue& seen = *values_.at(read.definition->id);
      if (seen.fake.dtype() != program_.values[seen.root].fake.dtype()) return false;
      Place at;
      for (const Expr* e : read.place) at.push_back(symbolic::substitute(pool, e, to_axes));
      if (element_index(pool, seen.geometry, at) != own) return false;
    }
    return true;
  }

  const Program& program_;
  std::vector<Group>& groups_;
  std::unordered_map<int, const TensorValue*> values_;  // by definition
  std::vector<std::vector<size_t>> readers_;            // by unit: groups, the first one first
  std::vector<int> group_of_;                           // by unit
  std::unordered_set<int> results_;                     // units
};

}  // namespace

void attach_to_products(const Program& program, std::vector<Group>& groups) {
  Attacher(program, groups).run();
}

void share_result_memory(Program& program, std::vector<Group>& groups) {
  std::unordered_map<int, std::vector<TensorValue*>> by_root;
  for (TensorValue& value : program.values) by_root[value.root].push_back(&value);
  for (Group& group : groups) {
    if (group.product < 0 || !group.is_only_reader) continue;
    const int result = program.units[group.product].call->results[0];
    const DType dtype = program.values[result].fake.dtype();
    for (const GroupUnit& member : group.units) {
      const Geometry& g = program.geometry[program.units[member.unit].definition->id];
      if (g.memory < 0 || program.memories[g.memory].dtype != dtype) continue;
      if (element_index(*program.pool, g, member.at) != group.element) continue;
      group.is_in_place = true;
      const int memory = g.memory;
      for (TensorValue* value : by_root[result]) {
        value->geometry.memory = memory;
        if (!value->definition->value) program.geometry[value->definition->id].memory = memory;
      }
      break;
    }
  }
}

std::vector<const Expr*> block_symbols(symbolic::ExprPool& pool) {
  constexpr int64_t kMax = symbolic::IntRange::kMax;
  std::vector<const Expr*> made;
  for (const char* name : {"block_row", "block_rows", "block_col", "block_cols"})
    made.push_back(pool.symbol(name, SymKind::Int, {0, kMax}, {}));
  return made;
}

GroupKernel write_block_kernel(const Group& group, GroupKernel made) {
  kernel::Kernel& kernel = made.kernel;
  symbolic::ExprPool& pool = *kernel.pool;
  const std::vector<const Expr*> block = block_symbols(pool);
  kernel.params.insert(kernel.params.end(), block.begin(), block.end());
  auto& loop = std::get<kernel::Loop>(kernel.steps.at(0));
  symbolic::Replacements replaced;
  std::vector<kernel::Axis> rows, columns;
  for (const kernel::Axis& axis : loop.axes) {
    const bool is_column =
        std::find(group.columns.begin(), group.columns.end(), axis.var) != group.columns.end();
    if (axis.extent->is_constant(1))
      replaced[axis.var] = pool.integer(0);
    else
      (is_column ? columns : rows).push_back(axis);
  }
  // The axes of one side become one. A side of one element has none.
  loop.axes = rows;
  loop.axes.insert(loop.axes.end(), columns.begin(), columns.end());
  const auto merge_side = [&](size_t first, size_t count) {
    for (; count > 1; --count) kernel::merge_axes(kernel, loop, first);
  };
  merge_side(rows.size(), columns.size());
  merge_side(0, rows.size());
  const std::vector<kernel::Axis> whole = std::move(loop.axes);
  loop.axes.clear();
  const auto add_side = [&](const kernel::Axis& axis, const char* name, int first) {
    const Expr* var = kernel::fresh_axis(kernel, name);
    replaced[axis.var] = pool.add(block[first], var);
    loop.axes.push_back({var, block[first + 1], kernel::Role::Kept});
    return var;
  };
  const Expr* row = rows.empty() ? pool.integer(0) : add_side(whole.front(), "i_row", 0);
  const Expr* column = columns.empty() ? pool.integer(0) : add_side(whole.back(), "i_column", 2);
  if (loop.axes.empty())
    loop.axes.push_back({kernel::fresh_axis(kernel, "i_one"), pool.integer(1), kernel::Role::Kept});
  kernel::rewrite_indices(kernel, loop.steps, [&](const Expr* at) {
    return merged_quotients(pool, symbolic::substitute(pool, at, replaced));
  });
  if (group.argument >= 0) {
    // A block of an operand lies by itself.
    const Expr* at = group.is_by_columns ? pool.add(pool.mul(column, block[1]), row)
                                         : pool.add(pool.mul(row, block[3]), column);
    for (kernel::Step& step : loop.steps)
      if (auto* store = std::get_if<kernel::Store>(&step)) store->at = at;
  }
  return made;
}

}  // namespace taeda::inductor
