// Prints graphs in their text form.
#include <charconv>

#include "taeda/fx/builtins.h"
#include "taeda/fx/text.h"

namespace taeda::fx {
namespace {

struct ShortName {
  DType dtype;
  const char* name;
};
constexpr ShortName kShortNames[] = {
    {DType::Float, "f32"},
    {DType::Double, "f64"},
    {DType::Half, "f16"},
    {DType::BFloat16, "bf16"},
    {DType::Int64, "i64"},
    {DType::Int32, "i32"},
    {DType::Int16, "i16"},
    {DType::Int8, "i8"},
    {DType::UInt8, "u8"},
    {DType::UInt16, "u16"},
    {DType::UInt32, "u32"},
    {DType::UInt64, "u64"},
    {DType::Bool, "b8"},
    {DType::ComplexFloat, "c64"},
    {DType::ComplexDouble, "c128"},
    {DType::Float8E4M3, "f8e4m3fn"},
    {DType::Float8E5M2, "f8e5m2"},
};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\x%02x", c);
      out += buffer;
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

// The shortest text that reads back to the same bits, never mistaken for an integer.
std::string float_text(double v) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string out(buffer, end);
  if (out.find_first_of(".einf") == std::string::npos) out += ".0";
  return out;
}

struct ConstantText {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool v) const { return v ? "True" : "False"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(uint64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return float_text(v); }
  std::string operator()(const Complex<double>& v) const {
    return str("complex(", float_text(v.re), ", ", float_text(v.im), ")");
  }
  std::string operator()(const SymInt& v) const { return str("sym(", quoted(str(v)), ")"); }
  std::string operator()(const IntrusivePtr<SymNode>& v) const {
    return str("sym(", quoted(v->text()), ")");
  }
  std::string operator()(const Tensor& v) const { return str("<tensor ", type_text(v), ">"); }
  std::string operator()(const std::string& v) const { return quoted(v); }
  std::string operator()(DType v) const { return str("dtype.", short_name(v)); }
  std::string operator()(const Device& v) const { return str("device(", quoted(v.text()), ")"); }
  std::string operator()(Layout v) const { return str("layout.", layout_name(v)); }
  std::string operator()(MemoryFormat v) const {
    return str("memory_format.", memory_format_name(v));
  }
  std::string operator()(const Generator&) const { return "<generator>"; }
  std::string operator()(const Storage&) const { return "<storage>"; }
  std::string operator()(const IntrusivePtr<Opaque>& v) const { return str("<", v->text(), ">"); }
  template <class T>
  std::string operator()(const T&) const {
    return "<list>";  // no constant of an argument: see Arg
  }
};

std::string constant_text(const Value& v) { return v.visit(ConstantText()); }

class Printer {
 public:
  std::string graph(const Graph& g) {
    out_ += "graph(";
    bool is_first = true;
    for (const Node* n : g.placeholders()) {
      if (!is_first) out_ += ", ";
      is_first = false;
      out_ += n->name();
      type(*n);
      // A placeholder's target is the name it has as an argument.
      if (n->target().name() && *n->target().name() != n->name())
        out_ += " as " + quoted(*n->target().name());
      if (!n->args().empty()) {
        out_ += " = ";
        arg(n->args()[0]);
      }
    }
    out_ += ") {\n";
    ++depth_;
    for (const Node& n : g)
      if (n.op() != OpCode::Placeholder) line(n);
    --depth_;
    indent();
    out_ += "}";
    return std::move(out_);
  }

  std::string one(const Arg& a) {
    arg(a);
    return std::move(out_);
  }

 private:
  void indent() { out_.append(2 * depth_, ' '); }

  void type(const Node& n) {
    if (const std::string t = type_text(n.val()); !t.empty()) out_ += ": " + t;
  }

  void line(const Node& n) {
    indent();
    if (n.op() == OpCode::Output) {
      out_ += "return ";
      if (!n.args().empty()) arg(n.args()[0]);
      out_ += "\n";
      return;
    }
    out_ += n.name();
    type(n);
    out_ += " = ";
    switch (n.op()) {
      case OpCode::GetAttr: out_ += "attr(" + quoted(n.target().text()); break;
      case OpCode::CallMethod: out_ += "method(" + quoted(n.target().text()); break;
      case OpCode::CallModule: out_ += "module(" + quoted(n.target().text()); break;
      default:
        out_ += n.target().object() ? "<" + n.target().text() + ">" : n.target().text();
        out_ += "(";
    }
    bool is_first = n.op() == OpCode::CallFunction;
    auto comma = [&] {
      if (!is_first) out_ += ", ";
      is_first = false;
    };
    for (const Arg& a : n.args()) {
      comma();
      arg(a);
    }
    for (const auto& [name, a] : n.kwargs()) {
      comma();
      out_ += name + "=";
      arg(a);
    }
    out_ += ")\n";
  }

  void arg(const Arg& a) {
    if (const Node* n = a.node()) {
      out_ += n->name();
    } else if (a.is_constant()) {
      out_ += constant_text(a.constant());
    } else if (const Graph* region = a.region()) {
      Printer inner;
      inner.depth_ = depth_;
      out_ += inner.graph(*region);
    } else {
      compound(*a.compound());
    }
  }

  void compound(const Compound& c) {
    using Kind = Compound::Kind;
    if (c.type) out_ += "<" + c.type->text() + ">";
    constexpr const char* opening[] = {"(", "[", "{", "slice("};
    constexpr const char* closing[] = {")", "]", "}", ")"};
    out_ += opening[static_cast<int>(c.kind)];
    for (size_t i = 0; i < c.items.size(); ++i) {
      if (i) out_ += ", ";
      if (c.kind == Kind::Dict) out_ += constant_text(c.keys[i]) + ": ";
      arg(c.items[i]);
    }
    if (c.kind == Kind::Tuple && c.items.size() == 1) out_ += ",";
    out_ += closing[static_cast<int>(c.kind)];
  }

  std::string out_;
  size_t depth_ = 0;
};

std::string dims_text(SymIntList values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + str(values[i]);
  return out;
}

// Strides that the sizes alone do not tell; compared as text, so that nothing is guarded on.
bool has_other_strides(const Tensor& t) {
  const SymIntList sizes = t.sym_sizes(), strides = t.sym_strides();
  SymInt running = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (str(strides[i]) != str(running)) return true;
    running = running * (sizes[i].is_symbolic() ? sizes[i] : sym_max(sizes[i], 1));
  }
  return false;
}

std::string tensor_type(const Tensor& t) {
  std::string out = str(short_name(t.dtype()), "[", dims_text(t.sym_sizes()), "]");
  if (has_other_strides(t)) out += str("{", dims_text(t.sym_strides()), "}");
  if (!t.device().is_cpu()) out += "@" + t.device().text();
  return out;
}

template <class List>
std::string list_type(const List& values) {
  std::string out = "(";
  for (size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + type_text(values[i]);
  return out + ")";
}

}  // namespace

const char* short_name(DType dtype) {
  for (const ShortName& s : kShortNames)
    if (s.dtype == dtype) return s.name;
  return "unknown";
}

std::string type_text(const Value& val) {
  if (val.is<Tensor>()) return val.get<Tensor>().defined() ? tensor_type(val.get<Tensor>()) : "";
  if (val.is<std::vector<Tensor>>()) return list_type(val.get<std::vector<Tensor>>());
  if (val.is<std::shared_ptr<Value::List>>())
    return list_type(*val.get<std::shared_ptr<Value::List>>());
  if (val.is<SymInt>()) return str("Sym(", val.get<SymInt>(), ")");
  // Symbolic floats and truth values are no sizes, and are not printed.
  if (val.is<IntrusivePtr<SymNode>>() && val.get<IntrusivePtr<SymNode>>()->kind() == SymKind::Int)
    return str("Sym(", val.get<IntrusivePtr<SymNode>>()->text(), ")");
  return "";
}

std::string to_text(const Graph& graph) { return Printer().graph(graph) + "\n"; }
std::string to_text(const Arg& arg) { return Printer().one(arg); }

}  // namespace taeda::fx
