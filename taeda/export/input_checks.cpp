// Compares inputs with what the program was made for, in one pass that binds symbols.
#include "taeda/export/input_checks.h"

#include <algorithm>
#include <cctype>

#include "taeda/fx/text.h"

namespace taeda::exported {
namespace {

using fx::Value;

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

}  // namespace

// Values of symbols in one call, and the conditions that wait until all are known.
struct InputChecks::Binding {
  SymbolValues values;
  std::unordered_map<std::string, std::string> sources;
  struct Later {
    std::string source;
    int64_t value;
    const SizeExpression* expected;
  };
  std::vector<Later> later;

  void take(const std::string& source, int64_t value, const SizeExpression& expected) {
    if (!expected.is_symbol()) {
      later.push_back({source, value, &expected});
      return;
    }
    const auto [it, is_new] = values.emplace(expected.text(), value);
    if (is_new)
      sources.emplace(expected.text(), source);
    else
      guard(it->second == value, source, " == ", sources.at(expected.text()), "; got ", value,
            " and ", it->second);
  }

  // Finds a symbol that no input is, from a size such as 8*s0.
  void solve(const Later& l) {
    const std::vector<std::string> symbols = l.expected->symbols();
    if (symbols.size() != 1 || values.count(symbols[0])) return;
    const auto at = [&](int64_t v) { return *l.expected->evaluate({{symbols[0], v}}); };
    const int64_t shift = at(0), scale = at(1) - shift;
    if (scale <= 0 || at(2) != shift + 2 * scale) return;
    guard((l.value - shift) % scale == 0, l.source, " == ", l.expected->text(), " for an integer ",
          symbols[0], "; got ", l.value);
    values.emplace(symbols[0], (l.value - shift) / scale);
    sources.emplace(symbols[0], str("(", l.source, " - ", shift, ")//", scale));
  }

  void solve_all() {
    for (const Later& l : later) solve(l);
  }

  void check_later() const {
    for (const Later& l : later) {
      const std::optional<int64_t> wanted = l.expected->evaluate(values);
      TAEDA_CHECK(wanted, "no input tells the symbols of ", l.expected->text());
      guard(*wanted == l.value, l.source, " == ", in_sources(*l.expected), "; got ", l.value,
            " and ", *wanted);
    }
  }

  // `2*s0 + 1` as `2*x.size()[0] + 1`
  std::string in_sources(const SizeExpression& e) const {
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    std::string out;
    const std::string& text = e.text();
    for (size_t i = 0; i < text.size();) {
      size_t end = i;
      while (end < text.size() && is_word(text[end])) ++end;
      const std::string word = text.substr(i, std::max<size_t>(end - i, 1));
      const auto it = sources.find(word);
      out += it == sources.end() ? word : it->second;
      i += word.size();
    }
    return out;
  }

  void check_conditions(const std::vector<SizeExpression>& conditions) const {
    for (const SizeExpression& c : conditions) {
      const std::optional<int64_t> holds = c.evaluate(values);
      TAEDA_CHECK(holds, "no input tells the symbols of ", c.text());
      if (*holds) continue;
      std::string where;
      for (const std::string& symbol : c.symbols())
        where += str(where.empty() ? "" : ", ", symbol, " = ", sources.at(symbol), " = ",
                     values.at(symbol));
      guard(false, c.text(), "; got ", where);
    }
  }

  void check_ranges(const std::vector<std::pair<std::string, SizeRange>>& ranges) const {
    for (const auto& [symbol, range] : ranges) {
      const auto it = values.find(symbol);
      if (it == values.end()) continue;
      const std::string& source = sources.at(symbol);
      // Tracing takes sizes to be at least 2; programs are run with fewer all the same, as
      // PyTorch's.
      if (range.low > 2)
        guard(it->second >= range.low, source, " >= ", range.low, "; got ", it->second);
      guard(it->second <= range.high, source, " <= ", range.high, "; got ", it->second);
    }
  }
};

InputChecks::InputChecks(const fx::Graph& graph, const Signature& signature)
    : ranges_(signature.ranges) {
  for (const std::string& c : signature.conditions) conditions_.push_back(SizeExpression::parse(c));
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
        expected.sizes.push_back(s.is_symbolic() ? Size(SizeExpression::parse(s.node()->text()))
                                                 : Size(s.word()));
      input.expected = std::move(expected);
    } else if (spec.argument == ArgumentKind::SymInt) {
      TAEDA_CHECK(val.is<SymInt>() && val.get<SymInt>().is_symbolic(), "the input ", spec.name,
                  " of the program is an integer whose symbol its graph does not tell");
      input.expected = SizeExpression::parse(val.get<SymInt>().node()->text());
    }
    inputs_.push_back(std::move(input));
  }
}

void InputChecks::check(const std::vector<Value>& inputs) const {
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
          binding.take(size_source(name, d), size, std::get<SizeExpression>(tensors->sizes[d]));
      }
    } else if (const auto* symbol = std::get_if<SizeExpression>(&expected)) {
      const std::optional<int64_t> value = integer_of(given);
      guard(value.has_value(), "isinstance(", name, ", int); got ", given.kind_name());
      binding.take(name, *value, *symbol);
    } else {
      const fx::Arg& constant = std::get<fx::Arg>(expected);
      guard(fx::Arg(given) == constant, name, " == ", fx::to_text(constant), "; got ",
            fx::to_text(fx::Arg(given)));
    }
  }
  binding.solve_all();
  binding.check_ranges(ranges_);
  binding.check_later();
  binding.check_conditions(conditions_);
}

}  // namespace taeda::exported
