// From graph nodes to definitions.
#include "taeda/inductor/lower.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "taeda/backends/lowered/forms.h"
#include "taeda/backends/lowered/pointwise.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/bind.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/effects.h"
#include "taeda/fx/fake.h"
#include "taeda/fx/shapes/sym_expr_node.h"
#include "taeda/inductor/freeze.h"
#include "taeda/inductor/numbers.h"
#include "taeda/inductor/sizes.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/index_map.h"
#include "taeda/ops/lowering.h"
#include "taeda/ops/operators.h"

namespace taeda::inductor {

using dispatch::Operator;
using dispatch::Stack;
using dispatch::Value;
using fx::Arg;
using fx::Node;

namespace {

// Note [Slot of lowerings]: a lowering has its operator's signature, so that the operator's own
// boxing calls it. It stands in the table slot of dense tensors of the lazy backend, which holds
// programs that are not yet run.
constexpr KeySet lowering_keys() { return KeySet(Key::Dense) | KeySet(DeviceType::Lazy); }

struct LoweringEntry {
  Operator* form;  // the operator whose table has it
  bool takes_out;  // the form writes a result that is given
};

using LoweringTable = std::unordered_map<const Operator*, LoweringEntry>;

const LoweringTable& lowering_table() {
  static const LoweringTable* const table = [] {
    auto* made = new LoweringTable;
    const int slot = slot_of(Key::Dense, DeviceType::Lazy);
    lowered::for_each_form([&](const lowered::Form& form) {
      if (!form.fused) return;
      dispatch::set_kernel(*form.op, slot, form.function);
      made->emplace(form.fused, LoweringEntry{form.op, form.op != form.fused});
    });
    for_each_lowering([&](Operator& op, void* function) {
      dispatch::set_kernel(op, slot, function);
      made->insert_or_assign(&op, LoweringEntry{&op, false});
    });
    return made;
  }();
  return *table;
}

bool is_symbolic_number(const Value& v) { return v.is<SymInt>() || v.is<int64_t>(); }

// A symbolic number that is a float; null for other values.
const SymNode* float_of(const Value& v) {
  const SymNode* node =
      v.is<IntrusivePtr<SymNode>>() ? v.get<IntrusivePtr<SymNode>>().get() : nullptr;
  const fx::SymExprNode* number = node ? fx::SymExprNode::from(node) : nullptr;
  return number && number->expr()->kind == SymKind::Float ? node : nullptr;
}

class GraphLowering final : public Lowering {
 public:
  GraphLowering(const fx::Graph& graph, fx::AttributeReader attributes)
      : graph_(graph), attributes_(attributes), program_(std::make_unique<Program>()) {
    sizes_.emplace(*program_->pool);
  }

  std::unique_ptr<Program> run() {
    const lowered::TakePointwise take(
        [this](const lowered::PointwiseCall& call) { take_pointwise(call); });
    const std::unordered_set<const Node*> needed = needed_nodes(graph_);
    for (const Node& node : graph_)
      if (needed.count(&node)) lower_node(node);
    program_->symbols = sizes_->symbols();
    return std::move(program_);
  }

  // ---- Lowering ----
  symbolic::ExprPool& pool() override { return *program_->pool; }
  const Expr* integer(const SymInt& value) override { return (*sizes_)(value); }
  NumberFn number(const Scalar& value) override;
  const std::vector<Tensor>& results() override { return results_; }
  const Definition& of(const Tensor& t) override {
    const auto found = by_handle_.find(t.impl());
    TAEDA_INTERNAL_CHECK(found != by_handle_.end(), "the lowering of ", node_name_,
                         " reads a tensor of no program");
    return *program_->values[found->second].definition;
  }
  void define(const Tensor& out, ValueFn value) override {
    const int index = by_handle_.at(out.impl());
    program_->values[index].definition = &make(out.dtype(), sizes(out), std::move(value));
  }
  const Definition& define(DType dtype, Place sizes, ValueFn value, bool is_stored) override {
    Definition& made = make(dtype, std::move(sizes), std::move(value));
    made.is_stored = is_stored;
    return made;
  }
  void scatter(const Tensor& out, ValueFn value, kernel::Scatter updates) override {
    program_->values[by_handle_.at(out.impl())].definition =
        &scatter(out.dtype(), sizes(out), std::move(value), std::move(updates));
  }
  const Definition& scatter(DType dtype, Place sizes, ValueFn value,
                            kernel::Scatter updates) override {
    Definition& made = make(dtype, std::move(sizes), std::move(value));
    made.is_stored = true;
    made.scatter = std::move(updates);
    return made;
  }
  const Reduction& reduce(std::string body, Place sizes, uint64_t dims, ValuesFn values,
                          kernel::Part part) override {
    const int id = static_cast<int>(program_->reductions.size());
    return program_->reductions.emplace_back(
        Reduction{id, std::move(body), std::move(sizes), dims, std::move(values), part});
  }

  const Reduction& reduce_pieces(std::string body, Place sizes, const Expr* length,
                                 ValuesFn values) override {
    const int id = static_cast<int>(program_->reductions.size());
    const uint64_t last = uint64_t{1} << (sizes.size() - 1);
    return program_->reductions.emplace_back(Reduction{id, std::move(body), std::move(sizes), last,
                                                       std::move(values), kernel::Part::Whole,
                                                       false, length});
  }
  const Reduction& scan(std::string body, Place sizes, size_t dim, ValuesFn values) override {
    const int id = static_cast<int>(program_->reductions.size());
    return program_->reductions.emplace_back(Reduction{id, std::move(body), std::move(sizes),
                                                       uint64_t{1} << dim, std::move(values),
                                                       kernel::Part::Whole, true});
  }
  kernel::RandomStream reserve(const Expr* counters) override {
    program_->streams.push_back({counters, last_draw_});
    return {2 * static_cast<int>(program_->streams.size() - 1)};
  }

 private:
  Definition& make(DType dtype, Place sizes, ValueFn value) {
    const int id = static_cast<int>(program_->definitions.size());
    return program_->definitions.emplace_back(
        Definition{id, dtype, std::move(sizes), std::move(value)});
  }

  // ---- values ----
  int add_value(const Tensor& fake, const Node& node);
  int root_of(const Tensor& fake, const Node& node, int otherwise) const;
  // A value that lies in memory when the program starts.
  void add_given(const Tensor& fake, const Node& node, Memory::Kind kind, int number);
  // A value whose elements are read from the memory of its root.
  void read_from_memory(int value);
  int lies_in_memory(int value);
  void keep(int value) { program_->values[program_->values[value].root].is_kept = true; }
  Value shown(const Arg& arg);
  CallArgument call_argument(const Arg& arg);
  // A number of the graph that a run computes.
  const Expr* run_number(const Value& v);
  Tensor number_as_tensor(const SymInt& number);
  // The definition of an operand, which may be a symbolic number in the form of a tensor.
  const Definition& operand(const Tensor& t);

  void lower_node(const Node& node);
  void lower_placeholder(const Node& node);
  void lower_operator(const Node& node, Operator& op);
  bool may_check_unread(const Node& node, const Operator& op, const std::vector<int>& outs) const;
  void lower_output(const Node& node);
  // Note [Writes to inputs]
  void lower_write(const Node& node);
  void lower_by(const LoweringEntry& entry, const Node& node, const std::vector<int>& outs);
  Call& lower_as_call(const Node& node, Operator& op, const std::vector<int>& outs);
  void take_pointwise(const lowered::PointwiseCall& call);

  const fx::Graph& graph_;
  fx::AttributeReader attributes_;
  std::unique_ptr<Program> program_;
  std::optional<SizeExpressions> sizes_;
  std::unordered_map<const Node*, std::vector<int>> by_node_;
  std::unordered_map<const TensorImpl*, int> by_handle_;
  std::vector<Tensor> handles_;  // by value: a tensor without memory that lowerings see
  std::unordered_map<const Expr*, int> floats_;  // values of inputs, by symbol
  std::vector<Tensor> results_;
  std::string node_name_;  // of the node that is lowered
  int last_draw_ = -1;     // the last call that draws random numbers
};

// The value that a view looks at: an operand with the same storage. Inputs may share one as well,
// so that a storage alone does not tell.
int GraphLowering::root_of(const Tensor& fake, const Node& node, int otherwise) const {
  for (const Node* input : node.inputs().list()) {
    const auto found = by_node_.find(input);
    if (found == by_node_.end()) continue;
    for (const int value : found->second)
      if (value >= 0 && program_->values[value].fake.storage() == fake.storage())
        return program_->values[value].root;
  }
  return otherwise;
}

int GraphLowering::add_value(const Tensor& fake, const Node& node) {
  const int index = static_cast<int>(program_->values.size());
  TensorValue value;
  value.fake = fake;
  value.root = root_of(fake, node, index);
  value.name = node.name();
  value.num_uses = static_cast<int>(node.users().size());
  Geometry& g = value.geometry;
  for (const SymInt& size : fake.sym_sizes()) g.sizes.push_back(integer(size));
  for (const SymInt& stride : fake.sym_strides()) g.strides.push_back(integer(stride));
  g.offset = integer(fake.impl()->sym_storage_offset());
  program_->values.push_back(std::move(value));
  handles_.push_back(empty_strided(fake.sym_sizes(), fake.sym_strides(), fake.dtype(), {},
                                   Device(DeviceType::Meta), {}));
  by_handle_[handles_.back().impl()] = index;
  by_node_[&node].push_back(index);
  return index;
}

void GraphLowering::read_from_memory(int index) {
  keep(index);
  TensorValue& value = program_->values[index];
  const DType dtype = value.fake.dtype();
  const Place sizes = value.geometry.sizes;
  const Definition& elements = make(dtype, sizes, nullptr);
  const bool is_conj = value.fake.is_conj(), is_neg = value.fake.is_neg();
  value.definition = &elements;
  if (!is_conj && !is_neg) return;
  // Note [Flagged views]: the memory of a conjugate or negative view holds other numbers than the
  // view has. What lies there is a value of its own, of which nobody else knows.
  TensorValue in_memory = value;
  in_memory.is_kept = false;
  value.definition =
      &make(dtype, sizes, [&elements, is_conj, is_neg](kernel::Emitter& e, const Place& at) {
        kernel::Sym x = e.read(elements, at);
        if (is_conj) x = conj(x);
        return is_neg ? -x : x;
      });
  program_->values.push_back(std::move(in_memory));
  handles_.emplace_back();
}

// A value that is no result of kernels, and is its own root. Of a flagged one, what lies in memory
// is given, and returned; the value itself is computed from it.
int GraphLowering::lies_in_memory(int index) {
  read_from_memory(index);
  const Tensor& fake = program_->values[index].fake;
  const bool is_flagged = fake.is_conj() || fake.is_neg();
  const int root = is_flagged ? static_cast<int>(program_->values.size()) - 1 : index;
  program_->values[index].root = program_->values[root].root = root;
  keep(root);
  return root;
}

void GraphLowering::add_given(const Tensor& fake, const Node& node, Memory::Kind kind, int number) {
  const int index = add_value(fake, node);
  program_->values[index].root = index;  // inputs that share memory come one by one
  const int root = lies_in_memory(index);
  TensorValue& value = program_->values[root];
  value.geometry.memory = static_cast<int>(program_->memories.size());
  program_->memories.push_back({kind, number, fake.dtype(), extent_of(pool(), value.geometry),
                                !node.meta_value(kFrozenKey).is_none()});
}

// ---- nodes ----
void GraphLowering::lower_node(const Node& node) {
  switch (node.op()) {
    case fx::OpCode::Placeholder: return lower_placeholder(node);
    case fx::OpCode::Output: return lower_output(node);
    case fx::OpCode::GetAttr: {
      const Value real = attributes_(*node.target().name());
      TAEDA_CHECK_TYPE(real.is<Tensor>(), "attribute ", *node.target().name(),
                       " is no tensor, so the graph cannot be compiled");
      const int number = static_cast<int>(program_->constants.size());
      program_->constants.push_back(real.get<Tensor>());
      return add_given(real.get<Tensor>(), node, Memory::Kind::Constant, number);
    }
    case fx::OpCode::CallFunction: break;
    default:
      throw_error(ErrorKind::Type, str("a ", fx::opcode_name(node.op()), " cannot be compiled"));
  }
  if (Operator* op = node.target().op()) return lower_operator(node, *op);
  const fx::Builtin* builtin = node.target().builtin();
  TAEDA_CHECK_TYPE(builtin, "the call of ", node.target().text(), " cannot be compiled");
  const Value val = node.val();
  // An expression of sizes, or a part of one.
  if (is_symbolic_number(val) || float_of(val) || val.is_none()) return;
  const bool is_item = std::string_view(builtin->name) == "getitem" && node.args()[0].is_node() &&
                       node.args()[1].is_constant();
  TAEDA_CHECK_NOT_IMPLEMENTED(is_item, "the call of ", builtin->name, " in node ", node.name(),
                              " cannot be compiled");
  const std::vector<int>& all = by_node_.at(node.args()[0].node());
  const int item = all.at(static_cast<size_t>(node.args()[1].constant().to_int()));
  by_node_[&node] = {item};
  if (item >= 0) program_->values[item].num_uses = static_cast<int>(node.users().size());
}

void GraphLowering::lower_placeholder(const Node& node) {
  const Value val = node.val();
  Program::Input input;
  if (val.is<Tensor>()) {
    const int number = static_cast<int>(program_->inputs.size());
    input.fake = val.get<Tensor>();
    input.value = static_cast<int>(program_->values.size());
    program_->inputs.push_back(input);
    return add_given(input.fake, node, Memory::Kind::Input, number);
  }
  if (const SymNode* number = float_of(val)) {
    // Note [Numbers as inputs]: a float changes from run to run as the elements of a tensor do, so
    // it is one; kernels read it.
    input.is_float = true;
    input.number = sizes_->float_input(*number);
    input.fake =
        empty_strided(SymIntList(), SymIntList(), DType::Double, {}, Device(DeviceType::CPU), {});
    input.value = static_cast<int>(program_->values.size());
    const int index = static_cast<int>(program_->inputs.size());
    program_->inputs.push_back(input);
    add_given(input.fake, node, Memory::Kind::Input, index);
    floats_[input.number] = input.value;
    by_node_.erase(&node);
    return;
  }
  // A number that a region is given is part of the graph around it.
  if (val.is<double>()) {
    input.number = program_->pool->constant(symbolic::ExprValue::of(val.get<double>()));
    program_->inputs.push_back(input);
    return;
  }
  // None, a flag or a name that the trace went by: part of the program, which reads it no more.
  if (!is_symbolic_number(val) && node.users().size() == 0) {
    program_->inputs.push_back(input);
    return;
  }
  TAEDA_CHECK_NOT_IMPLEMENTED(is_symbolic_number(val), "input ", node.name(),
                              " is neither a tensor nor a number");
  input.number = integer(val.is<SymInt>() ? val.get<SymInt>() : SymInt(val.to_int()));
  program_->inputs.push_back(input);
}

// Whether the operator's elements are named by their places in the storage, whatever the sizes of
// the tensor are: as_strided and its relatives.
static bool names_places(Operator& op) {
  const std::vector<dispatch::Argument>& schema = fx::schema_of(op).arguments;
  return std::any_of(schema.begin(), schema.end(),
                     [](const dispatch::Argument& a) { return a.name == "storage_offset"; });
}

// Whether results have no elements, and what may be their indices has some: kernels go through the
// elements of results, and would not look at an index that is out of range.
bool GraphLowering::may_check_unread(const Node& node, const Operator& op,
                                     const std::vector<int>& outs) const {
  if (op.has(dispatch::Tag::Pointwise)) return false;
  const auto is_empty = [&](int value) {
    const Place& sizes = program_->values[value].geometry.sizes;
    return std::any_of(sizes.begin(), sizes.end(), [](const Expr* e) { return e->is_constant(0); });
  };
  const auto is_own = [&](int value) { return program_->values[value].root == value; };
  if (outs.empty() || !std::all_of(outs.begin(), outs.end(), is_own) ||
      !std::all_of(outs.begin(), outs.end(), is_empty))
    return false;
  const auto may_be_index = [&](int value) {
    return value >= 0 && is_integral(program_->values[value].fake.dtype()) && !is_empty(value);
  };
  for (const Node* input : node.inputs().list()) {
    const auto found = by_node_.find(input);
    if (found != by_node_.end() &&
        std::any_of(found->second.begin(), found->second.end(), may_be_index))
      return true;
  }
  return false;
}

void GraphLowering::lower_operator(const Node& node, Operator& op) {
  const Value val = node.val();
  if (is_symbolic_number(val)) return;  // a size
  if (&op == &ops::copy_) return lower_write(node);
  std::vector<int> outs;
  const auto add = [&](const Value& v) {
    if (v.is<Tensor>() && v.get<Tensor>().defined())
      outs.push_back(add_value(v.get<Tensor>(), node));
    else
      by_node_[&node].push_back(-1);  // a result that was not asked for
  };
  if (val.is<std::vector<Tensor>>())
    for (const Tensor& t : val.get<std::vector<Tensor>>()) outs.push_back(add_value(t, node));
  else if (val.is<std::shared_ptr<Value::List>>())
    for (const Value& v : *val.get<std::shared_ptr<Value::List>>()) add(v);
  else
    add(val);
  // A program may ask for the call.
  if (!node.meta_value(kFallbackKey).is_none()) return (void)lower_as_call(node, op, outs);
  const auto found = lowering_table().find(&op);
  if (found != lowering_table().end()) {
    if (!may_check_unread(node, op, outs)) return lower_by(found->second, node, outs);
    lower_as_call(node, op, outs).only_checks = true;
    return;
  }
  // A view of something else: its elements are found by strides.
  const bool is_view = !outs.empty() && std::all_of(outs.begin(), outs.end(), [&](int out) {
    return program_->values[out].root < outs.front();
  });
  if (!is_view) return (void)lower_as_call(node, op, outs);
  for (int out : outs) {
    if (names_places(op)) program_->values[program_->values[out].root].has_places = true;
    read_from_memory(out);
  }
}

void GraphLowering::lower_write(const Node& node) {
  const Node* target = node.args().at(0).node();
  const Node* from = node.args().at(1).node();
  TAEDA_CHECK_NOT_IMPLEMENTED(target && from && target->op() == fx::OpCode::Placeholder,
                              "a write to what is no input (", node.name(), ") cannot be compiled");
  const int input = by_node_.at(target).at(0);
  const Definition& given = *program_->values[by_node_.at(from).at(0)].definition;
  const TensorValue old = program_->values[program_->values[input].root];
  TAEDA_CHECK_NOT_IMPLEMENTED(!old.fake.is_conj() && !old.fake.is_neg(), "a write to a flagged ",
                              "input (", node.name(), ") cannot be compiled");
  const Place sizes = old.geometry.sizes;
  const DType dtype = old.fake.dtype();
  const auto copied = [&](const Definition& other) -> const Definition& {
    return make(dtype, sizes, [&other, sizes, dtype](kernel::Emitter& e, const Place& at) {
      const kernel::Sym x = e.read(other, broadcast_place(e.pool(), sizes, other.sizes, at));
      return kernel::as_stored(e.graph(), x, dtype);
    });
  };
  // What lies in memory may be written as well.
  const Definition& source = given.value ? given : copied(given);
  TensorValue value = old;
  value.definition = &copied(source);
  value.name = node.name();
  value.root = static_cast<int>(program_->values.size());
  value.is_kept = true;
  value.num_uses = 0;
  program_->writes.push_back({value.root, program_->memories[old.geometry.memory].number,
                              by_node_.at(from).at(0), &source});
  program_->values.push_back(std::move(value));
  handles_.emplace_back();
}

// The arguments of a lowering: tensors without memory, and numbers.
Value GraphLowering::shown(const Arg& arg) {
  if (const Node* node = arg.node()) {
    const auto found = by_node_.find(node);
    if (found == by_node_.end()) return node->val();
    return handles_[found->second.at(0)];
  }
  if (arg.is_constant()) return arg.constant();
  const fx::Compound* compound = arg.compound();
  TAEDA_CHECK_NOT_IMPLEMENTED(compound, "a region cannot be compiled");
  auto list = std::make_shared<Value::List>();
  for (const Arg& item : compound->items) list->push_back(shown(item));
  return list;
}

// A symbolic number where an operator takes a tensor.
Tensor GraphLowering::number_as_tensor(const SymInt& number) {
  const int index = static_cast<int>(program_->values.size());
  TensorValue value;
  value.fake =
      empty_strided(SymIntList(), SymIntList(), DType::Int64, {}, Device(DeviceType::Meta), {});
  value.fake.impl()->set_wrapped_number(true);
  value.root = index;
  value.geometry.offset = pool().integer(0);
  value.definition =
      &make(DType::Int64, {},
            [at = integer(number)](kernel::Emitter& e, const Place&) { return e.index(at); });
  program_->values.push_back(value);
  handles_.push_back(value.fake);
  by_handle_[value.fake.impl()] = index;
  return value.fake;
}

const Definition& GraphLowering::operand(const Tensor& t) {
  const bool is_number = t.impl()->is_wrapped_number() && !by_handle_.count(t.impl());
  if (!is_number) return of(t);
  const Scalar value = read_scalar(t);
  if (!is_floating(t.dtype()))
    return of(number_as_tensor(SymInt(IntrusivePtr<SymNode>::share(value.node()))));
  return make(DType::Double, {}, [number = number(value)](kernel::Emitter& e, const Place&) {
    return number(e, kernel::Type::F64);
  });
}

// Note [Computed numbers]
Lowering::NumberFn GraphLowering::number(const Scalar& value) {
  if (!value.is_symbolic())
    return [value](kernel::Emitter& e, kernel::Type type) { return e.constant(value, type); };
  const Expr* at = sizes_->in_kernels(*value.node());
  std::unordered_map<const Expr*, const Definition*> inputs;
  for (const Expr* symbol : symbolic::symbols_of(at)) {
    if (at->kind != SymKind::Float || symbol->kind != SymKind::Float) continue;
    const auto found = floats_.find(symbol);
    TAEDA_CHECK_NOT_IMPLEMENTED(found != floats_.end(), "the number ", symbolic::text_of(symbol),
                                " is no input of the graph");
    inputs[symbol] = program_->values[found->second].definition;
  }
  return [at, inputs](kernel::Emitter& e, kernel::Type type) {
    const auto input = [&](const Expr* symbol) { return e.read(*inputs.at(symbol), {}); };
    return e.cast(emit_number(e, at, input), type);
  };
}

void GraphLowering::lower_by(const LoweringEntry& entry, const Node& node,
                             const std::vector<int>& outs) {
  const dispatch::Schema& schema = fx::schema_of(*node.target().op());
  const std::vector<Arg> bound = fx::bind_to_schema(node);
  Stack stack;
  for (size_t i = 0; i < bound.size(); ++i) {
    const dispatch::TypeRef& type = schema.arguments[i].type;
    Value given = shown(bound[i]);
    if (type.base == "Tensor" && given.is<SymInt>() && given.get<SymInt>().is_symbolic())
      given = number_as_tensor(given.get<SymInt>());
    stack.push_back(fx::coerce(std::move(given), type));
  }
  // An operator on numbers alone has nothing to read.
  const auto is_number_for_tensor = [&](size_t i) {
    return schema.arguments[i].type.base == "Tensor" && stack[i].is<Tensor>() &&
           stack[i].get<Tensor>().defined() && !by_handle_.count(stack[i].get<Tensor>().impl());
  };
  size_t num_numbers = 0, num_operands = 0;
  for (size_t i = 0; i < bound.size(); ++i) {
    const bool is_operand = stack[i].is<Tensor>() && stack[i].get<Tensor>().defined();
    num_operands += is_operand;
    num_numbers += is_operand && is_number_for_tensor(i);
  }
  if (num_operands > 0 && num_numbers == num_operands)
    return (void)lower_as_call(node, *node.target().op(), outs);
  node_name_ = node.name();
  results_.clear();
  for (int out : by_node_[&node]) results_.push_back(out < 0 ? Tensor() : handles_[out]);
  if (entry.takes_out) stack.push_back(results_.at(0));
  entry.form->call_boxed(*entry.form, lowering_keys(), stack);
  // A lowering that does not take these arguments defines nothing.
  if (std::any_of(outs.begin(), outs.end(),
                  [&](int out) { return !program_->values[out].definition; }))
    lower_as_call(node, *node.target().op(), outs);
}

// ---- calls ----
const Expr* GraphLowering::run_number(const Value& v) {
  if (const SymNode* number = float_of(v)) return sizes_->in_runs(*number);
  if (v.is<double>()) return pool().constant(symbolic::ExprValue::of(v.get<double>()));
  return integer(v.is<SymInt>() ? v.get<SymInt>() : SymInt(v.to_int()));
}

CallArgument GraphLowering::call_argument(const Arg& arg) {
  CallArgument made;
  if (const Node* node = arg.node()) {
    const auto found = by_node_.find(node);
    if (found != by_node_.end()) {
      made.tensor = found->second.at(0);
      keep(made.tensor);
    } else {
      made.number = run_number(node->val());
    }
  } else if (arg.is_constant()) {
    made.constant = arg.constant();
  } else {
    const fx::Compound* compound = arg.compound();
    TAEDA_CHECK_NOT_IMPLEMENTED(compound, "a region cannot be compiled");
    made.is_list = true;
    for (const Arg& item : compound->items) made.list.push_back(call_argument(item));
  }
  return made;
}

Call& GraphLowering::lower_as_call(const Node& node, Operator& op, const std::vector<int>& outs) {
  const auto number = static_cast<int>(program_->calls.size());
  Call& call = program_->calls.emplace_back(Call{&op, &node, {}, outs, number});
  for (const Arg& arg : fx::bind_to_schema(node)) call.arguments.push_back(call_argument(arg));
  const bool is_of_storage = names_places(op);
  for (const CallArgument& a : call.arguments)
    if (is_of_storage && a.tensor >= 0)
      program_->values[program_->values[a.tensor].root].is_apart = true;
  for (int& out : call.results) {
    int& root = program_->values[out].root;
    if (root == out) {
      out = lies_in_memory(out);
    } else {
      root = program_->values[root].root;  // of another result
      read_from_memory(out);
    }
  }
  call.draws = op.has(dispatch::Tag::NondeterministicSeeded) || fx::is_effectful(op);
  call.after = last_draw_;
  if (call.draws) last_draw_ = number;
  return call;
}

// ---- pointwise ----
// A call is described by dtypes and ranks when its value is written, long after it was made.
struct KeptCall {
  const SymbolicBody* body;
  const PointwiseOp* op;
  DType common;
  Tensor out;
  std::vector<Tensor> inputs;
  std::vector<const Definition*> definitions;  // null for numbers
  std::vector<Scalar> scalars;
  std::vector<Lowering::NumberFn> numbers;  // of scalars
};

void GraphLowering::take_pointwise(const lowered::PointwiseCall& call) {
  auto kept = std::make_shared<KeptCall>();
  kept->body = &call.body;
  kept->op = &call.op;
  kept->common = call.common;
  kept->out = call.out;
  for (const Tensor* t : call.inputs) {
    kept->inputs.push_back(*t);
    kept->definitions.push_back(t->device().type == DeviceType::Meta ? &operand(*t) : nullptr);
  }
  for (const Scalar& s : call.scalars) {
    kept->scalars.push_back(s);
    kept->numbers.push_back(number(s));
  }
  TAEDA_CHECK_NOT_IMPLEMENTED(call.body.has(lowered::type_in(call.common)), call.op.name,
                              " has no body for ", call.common);
  // A form without a result that is given has made one of its own.
  const Tensor& out = by_handle_.count(call.out.impl()) ? call.out : results_.at(0);
  define(out, [kept, sizes = sizes(out)](kernel::Emitter& e, const Place& at) {
    std::vector<const Tensor*> inputs;
    for (const Tensor& t : kept->inputs) inputs.push_back(&t);
    const lowered::PointwiseCall again{*kept->body, *kept->op, kept->common,
                                       kept->out,   inputs,    kept->scalars};
    const auto element = [&](int i) {
      const Definition* d = kept->definitions[i];
      if (d) return e.read(*d, broadcast_place(e.pool(), sizes, d->sizes, at));
      return e.constant(read_scalar(kept->inputs[i]), lowered::type_in(kept->inputs[i].dtype()));
    };
    const auto input = [&](int i) {
      const bool divides = i == kept->body->divisor && is_integral(kept->common, true);
      if (!divides) return element(i);
      const auto value = lowered::in_common(e.graph(), again, i, element(i));
      return e.divisor(e.cast(value, lowered::type_in(kept->common)));
    };
    const auto number = [&](int i) { return kept->numbers[i](e, lowered::type_in(kept->common)); };
    return lowered::pointwise_value(e.graph(), again, input, number);
  });
}

// ---- results ----
void GraphLowering::lower_output(const Node& node) {
  const Arg& given = node.args().at(0);
  std::vector<Arg> leaves;
  if (const fx::Compound* compound = given.compound())
    leaves = compound->items;
  else
    leaves.push_back(given);
  for (const Arg& leaf : leaves) {
    Program::Result result;
    const Node* from = leaf.node();
    const auto found = from ? by_node_.find(from) : by_node_.end();
    if (found != by_node_.end()) {
      result.value = found->second.at(0);
      keep(result.value);
    } else if (from) {
      result.number = run_number(from->val());
    } else {
      TAEDA_CHECK_NOT_IMPLEMENTED(leaf.is_constant(), "results inside of results are not compiled");
      result.constant = leaf.constant();
    }
    program_->results.push_back(std::move(result));
  }
}

}  // namespace

std::unordered_set<const Node*> needed_nodes(const fx::Graph& graph) {
  std::unordered_set<const Node*> needed;
  std::vector<const Node*> open;
  for (const Node& node : graph)
    if (node.is_impure() && needed.insert(&node).second) open.push_back(&node);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const Node* input : node->inputs().list())
      if (needed.insert(input).second) open.push_back(input);
  }
  return needed;
}

std::unique_ptr<Program> lower(const fx::Graph& graph, fx::AttributeReader attributes) {
  return GraphLowering(graph, attributes).run();
}

bool has_lowering(const Operator& op) { return lowering_table().count(&op) != 0; }

namespace {

std::unordered_set<const Operator*> listed(
    void (*for_each)(FunctionRef<void(dispatch::Operator&)> visit)) {
  std::unordered_set<const Operator*> made;
  for_each([&](const Operator& one) { made.insert(&one); });
  return made;
}

}  // namespace

bool stays_whole(const Operator& op) {
  static const auto* const whole = new auto(listed(&for_each_whole_operator));
  return whole->count(&op) != 0;
}

bool is_library(const Operator& op) {
  static const auto* const libraries = new auto(listed(&for_each_library_operator));
  return libraries->count(&op) != 0;
}

bool open_operator(const Operator& op, dispatch::Stack& stack) {
  static const auto* const opened = [] {
    auto* made = new std::unordered_map<const Operator*, OpenedOperator>;
    for_each_opened_operator([&](const OpenedOperator& one) { made->emplace(&one.op(), one); });
    return made;
  }();
  const auto found = opened->find(&op);
  if (found == opened->end()) return false;
  found->second(stack);
  return true;
}

}  // namespace taeda::inductor
