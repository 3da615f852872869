// Compares inputs with those that the program was made for, in one pass that binds symbols.
#include "taeda/export/input_checks.h"

#include <algorithm>

#include "taeda/fx/text.h"
#include "taeda/symbolic/parse.h"

namespace taeda::exported {
namespace {

using fx::Value;
using symbolic::ExprValue;

template <class... Args>
void guard(bool condition, const Args&... args) {
  if (!condition) fail(ErrorKind::Assertion, "Guard failed: ", args...);
}

std::string size_source(const std::string& input, size_t dim) {
  return str(input, ".size()[", dim, "]");
}

// An integer argument; nothing for values of other types.
std::optional<int64_t> integer_of(const Value& v) {
  if (v.is<int64_t>()) return v.get<int64_t>();
  if (v.is<SymInt>() && !v.get<SymInt>().is_symbolic()) return v.get<SymInt>().word();
  return std::nullopt;
}

// A constant as Python writes it.
std::string shown(const fx::Arg& a) {
  const bool is_string = a.is_constant() && a.constant().is<std::string>();
  return is_string ? str("'", a.constant().get<std::string>(), "'") : fx::to_text(a);
}

}  // namespace

// Values of symbols in one call, and the conditions that wait until all are known.
struct InputChecks::Binding {
  symbolic::Assignment values;
  symbolic::SymbolNames sources;
  struct Later {
    std::string source;
    int64_t value;
    const Symbolic* expected;
  };
  std::vector<Later> later;
  // Symbols that no input is: the size that each was found from.
  std::unordered_map<const symbolic::Expr*, const Later*> solved;

  void bind(const symbolic::Expr* symbol, int64_t value, std::string source) {
    values.emplace(symbol, ExprValue::of(value));
    sources.emplace(symbol, std::move(source));
  }

  void take(const std::string& source, int64_t value, const Symbolic& expected) {
    if (!expected.expr->is_symbol()) {
      later.push_back({source, value, &expected});
      return;
    }
    const auto known = values.find(expected.expr);
    if (known == values.end()) return bind(expected.expr, value, source);
    guard(known->second.integer == value, source, " == ", sources.at(expected.expr), "; got ",
          value, " and ", known->second.integer);
  }

  // Finds a symbol that no input is, from a size such as 8*s0.
  void solve(const Later& l) {
    const auto& [form, scale, shift] = l.expected->affine;
    if (!form || !form->is_symbol() || scale <= 0 || values.count(form)) return;
    int64_t rest;
    const bool is_solved = !__builtin_sub_overflow(l.value, shift, &rest) && rest % scale == 0;
    const char* sign = shift < 0 ? " + " : " - ";
    const std::string shifted =
        shift == 0
            ? l.source
            : str("(", l.source, sign, shift < 0 ? -static_cast<uint64_t>(shift) : shift, ")");
    guard(is_solved, shifted, " % ", scale, " == 0; got ", l.source, " = ", l.value);
    bind(form, rest / scale, scale == 1 ? shifted : str(shifted, "//", scale));
    solved.emplace(form, &l);
  }

  void solve_all() {
    for (const Later& l : later) solve(l);
  }

  int64_t value_of(const symbolic::Expr* e) const {
    const std::optional<ExprValue> value = evaluate(e, values);
    TAEDA_CHECK(value, "no input tells the symbols of ", text_of(e));
    return value->integer;
  }

  void check_later() const {
    for (const Later& l : later) {
      const int64_t wanted = value_of(l.expected->expr);
      guard(wanted == l.value, l.source, " == ", text_of(l.expected->expr, sources), "; got ",
            l.value, " and ", wanted);
    }
  }

  void check_conditions(const std::vector<Condition>& conditions) const {
    for (const auto& [text, condition] : conditions) {
      if (value_of(condition)) continue;
      std::string where;
      for (const symbolic::Expr* symbol : symbols_of(condition))
        where += str(where.empty() ? "" : ", ", symbol->name, " = ", sources.at(symbol), " = ",
                     values.at(symbol).integer);
      guard(false, text, "; got ", where);
    }
  }

  void check_ranges(const std::vector<Range>& ranges) const {
    for (const auto& [size, range] : ranges) {
      const std::optional<ExprValue> known = evaluate(size, values);
      if (!known) continue;
      const int64_t value = known->integer;
      // Tracing takes sizes to be at least 2; programs are run with fewer all the same, as
      // PyTorch's.
      if (range.low > 2 && value < range.low) fail_bound(size, value, " >= ", range.low);
      if (value > range.high) fail_bound(size, value, " <= ", range.high);
    }
  }

  // Names the input whose size it is, or was found from.
  [[noreturn]] void fail_bound(const symbolic::Expr* size, int64_t value, const char* relation,
                               int64_t bound) const {
    const auto it = solved.find(size);
    int64_t limit = bound;
    const bool is_told =
        it != solved.end() &&
        !__builtin_mul_overflow(bound, it->second->expected->affine.scale, &limit) &&
        !__builtin_add_overflow(limit, it->second->expected->affine.offset, &limit);
    if (is_told)
      fail(ErrorKind::Assertion, "Guard failed: ", it->second->source, relation, limit, "; got ",
           it->second->value);
    fail(ErrorKind::Assertion, "Guard failed: ", source_of(size), relation, bound, "; got ", value);
  }

  std::string source_of(const symbolic::Expr* size) const {
    for (const Later& l : later)
      if (l.expected->expr == size) return l.source;
    return text_of(size, sources);
  }
};

InputChecks::Symbolic InputChecks::read(const std::string& text) {
  const symbolic::Expr* e = symbolic::parse(*pool_, text);
  TAEDA_CHECK(e->kind == SymKind::Int, "the size ", text, " of an input is no integer");
  return {e, symbolic::affine_of(*pool_, e)};
}

InputChecks::Symbolic InputChecks::read_input(const SymInt& size) {
  const Symbolic made = read(size.node()->text());
  for (const symbolic::Expr* symbol : symbols_of(made.expr))
    if (!std::ranges::count(symbols_, symbol)) symbols_.push_back(symbol);
  return made;
}

InputChecks::InputChecks(const fx::Graph& graph, const Signature& signature)
    : pool_(std::make_shared<symbolic::ExprPool>()) {
  for (const auto& [name, range] : signature.ranges) ranges_.push_back({read(name).expr, range});
  for (const std::string& c : signature.conditions)
    conditions_.push_back({c, symbolic::parse(*pool_, c)});
  const std::vector<fx::Node*> placeholders = graph.placeholders();
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const InputSpec& spec = signature.inputs[i];
    if (spec.kind != InputKind::UserInput) continue;
    const Value val = placeholders.at(i)->val();
    Input input{spec.name, spec.value};
    if (spec.argument == ArgumentKind::Tensor) {
      TAEDA_CHECK(val.is<Tensor>() && val.get<Tensor>().defined(), "the input ", spec.name,
                  " of the program is a tensor whose type its graph does not tell");
      const Tensor& t = val.get<Tensor>();
      Tensors expected{t.dtype(), t.device().type, {}};
      for (const SymInt& s : t.sym_sizes())
        expected.sizes.push_back(s.is_symbolic() ? Size(read_input(s)) : Size(s.word()));
      input.expected = std::move(expected);
    } else if (spec.argument == ArgumentKind::SymInt) {
      TAEDA_CHECK(val.is<SymInt>() && val.get<SymInt>().is_symbolic(), "the input ", spec.name,
                  " of the program is an integer whose symbol its graph does not tell");
      input.expected = read_input(val.get<SymInt>());
    }
    inputs_.push_back(std::move(input));
  }
}

std::vector<int64_t> InputChecks::check(const std::vector<Value>& inputs) const {
  TAEDA_CHECK_TYPE(inputs.size() == inputs_.size(), "the program takes ", inputs_.size(),
                   " inputs, got ", inputs.size());
  Binding binding;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& [name, expected] = inputs_[i];
    const Value& given = inputs[i];
    if (const auto* tensors = std::get_if<Tensors>(&expected)) {
      guard(given.is<Tensor>() && given.get<Tensor>().defined(), "isinstance(", name,
            ", torch.Tensor); got ", given.kind_name());
      const Tensor& t = given.get<Tensor>();
      guard(t.dtype() == tensors->dtype, name, ".dtype == torch.", dtype_name(tensors->dtype),
            "; got torch.", dtype_name(t.dtype()));
      guard(t.device().type == tensors->device, name, ".device.type == '",
            device_type_name(tensors->device), "'; got '", device_type_name(t.device().type), "'");
      guard(t.sym_sizes().size() == tensors->sizes.size(), name,
            ".dim() == ", tensors->sizes.size(), "; got ", t.sym_sizes().size());
      for (size_t d = 0; d < tensors->sizes.size(); ++d) {
        const int64_t size = t.size(static_cast<int64_t>(d));
        if (const auto* fixed = std::get_if<int64_t>(&tensors->sizes[d]))
          guard(size == *fixed, size_source(name, d), " == ", *fixed, "; got ", size);
        else
          binding.take(size_source(name, d), size, std::get<Symbolic>(tensors->sizes[d]));
      }
    } else if (const auto* symbol = std::get_if<Symbolic>(&expected)) {
      const std::optional<int64_t> value = integer_of(given);
      guard(value.has_value(), "isinstance(", name, ", int); got ", given.kind_name());
      binding.take(name, *value, *symbol);
    } else {
      const fx::Arg& constant = std::get<fx::Arg>(expected);
      guard(fx::Arg(given) == constant, name, " == ", shown(constant), "; got ",
            shown(fx::Arg(given)));
    }
  }
  binding.solve_all();
  binding.check_ranges(ranges_);
  binding.check_later();
  binding.check_conditions(conditions_);
  std::vector<int64_t> values;
  for (const symbolic::Expr* symbol : symbols_) values.push_back(binding.value_of(symbol));
  return values;
}

}  // namespace taeda::exported
