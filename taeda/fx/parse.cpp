// Reads graphs from their text form.
#include <cctype>
#include <charconv>
#include <limits>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/fx/builtins.h"
#include "taeda/fx/text.h"

namespace taeda::fx {
namespace {

constexpr int kMaxDepth = 200;

class Reader {
 public:
  Reader(std::string_view text, SymbolReader symbols) : text_(text), symbols_(symbols) {}

  IntrusivePtr<Graph> whole() {
    auto g = graph();
    skip_space();
    if (at_ != text_.size()) error("text after the graph");
    return g;
  }
  Arg single() {
    Arg a = arg({});
    skip_space();
    if (at_ != text_.size()) error("text after the argument");
    return a;
  }

 private:
  using Scope = std::unordered_map<std::string, Node*>;

  [[noreturn]] void error(const std::string& what) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') ++line, column = 1;
    }
    fail(ErrorKind::Runtime, "cannot read the graph's text at line ", line, ", column ", column,
         ": ", what);
  }

  // ---- characters ----
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) error(str("expected '", token, "'"));
  }
  static bool is_word_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  }
  std::string word() {
    skip_space();
    const size_t start = at_;
    while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
    if (start == at_) error("expected a name");
    return std::string(text_.substr(start, at_ - start));
  }
  bool is_word(std::string_view w) {
    skip_space();
    const std::string_view rest = text_.substr(at_);
    return rest.starts_with(w) && (rest.size() == w.size() || !is_word_char(rest[w.size()]));
  }
  bool take_word(std::string_view w) { return is_word(w) && take(w); }

  std::string string() {
    expect("\"");
    std::string out;
    while (true) {
      if (at_ >= text_.size()) error("a string without an end");
      const char c = text_[at_++];
      if (c == '"') return out;
      if (c != '\\') {
        out.push_back(c);
        continue;
      }
      if (at_ >= text_.size()) error("a string without an end");
      const char e = text_[at_++];
      if (e == 'n')
        out.push_back('\n');
      else if (e == 't')
        out.push_back('\t');
      else if (e == 'x')
        out.push_back(hex());
      else
        out.push_back(e);
    }
  }
  char hex() {
    unsigned v = 0;
    if (at_ + 2 > text_.size() ||
        std::from_chars(text_.data() + at_, text_.data() + at_ + 2, v, 16).ptr !=
            text_.data() + at_ + 2)
      error("expected two hexadecimal digits");
    at_ += 2;
    return static_cast<char>(v);
  }

  // ---- graphs ----
  IntrusivePtr<Graph> graph() {
    const Depth depth(*this);
    if (!take_word("graph")) error("expected 'graph'");
    auto g = make_intrusive<Graph>();
    Scope scope;
    expect("(");
    while (!take(")")) {
      if (!scope.empty()) expect(",");
      placeholder(*g, scope);
    }
    expect("{");
    bool has_output = false;
    while (!take("}")) {
      if (has_output) error("a line after return");
      if (take_word("return")) {
        g->output(arg(scope));
        has_output = true;
      } else {
        line(*g, scope);
      }
    }
    return g;
  }

  void define(Scope& scope, const std::string& name, Node& node, Value val) {
    if (node.name() != name) error(str("the name ", name, " is used twice or reserved"));
    if (!val.is_none()) node.set_val(std::move(val));
    scope.emplace(name, &node);
  }

  void placeholder(Graph& g, Scope& scope) {
    const std::string name = word();
    Value val = take(":") ? type() : Value();
    const std::string target = take_word("as") ? string() : name;
    std::vector<Arg> args;
    if (take("=")) args.push_back(arg(scope));
    define(scope, name, g.create(OpCode::Placeholder, target, std::move(args), {}, name),
           std::move(val));
  }

  void line(Graph& g, Scope& scope) {
    const std::string name = word();
    Value val = take(":") ? type() : Value();
    expect("=");
    auto [op, target] = call_target();
    bool has_more = op == OpCode::CallFunction ? !take(")") : take(",");
    if (op != OpCode::CallFunction && !has_more) expect(")");
    std::vector<Arg> args;
    Kwargs kwargs;
    while (has_more) {
      if (std::string key; take_keyword(key))
        kwargs.emplace_back(std::move(key), arg(scope));
      else if (kwargs.empty())
        args.push_back(arg(scope));
      else
        error("a positional argument after a keyword");
      has_more = !take(")");
      if (has_more) expect(",");
    }
    define(scope, name, g.create(op, std::move(target), std::move(args), std::move(kwargs), name),
           std::move(val));
  }

  std::pair<OpCode, Target> call_target() {
    std::string name = word();
    if (name == "attr" || name == "method" || name == "module") {
      expect("(");
      const OpCode op = name == "attr"     ? OpCode::GetAttr
                        : name == "method" ? OpCode::CallMethod
                                           : OpCode::CallModule;
      return {op, Target(string())};
    }
    while (take("::")) name += "::" + word();
    while (take(".")) name += "." + word();
    expect("(");
    if (name.starts_with("builtin::")) {
      const std::string function = name.substr(9);
      if (const Builtin* b = find_builtin(function)) return {OpCode::CallFunction, Target(*b)};
      // Control flow, as files name it.
      dispatch::Operator* o = dispatch::find_operator("higher_order::" + function);
      if (!o) error(str("no built-in function is called ", name));
      return {OpCode::CallFunction, Target(*o)};
    }
    const std::string_view plain =
        name.starts_with("aten::") ? std::string_view(name).substr(6) : std::string_view(name);
    dispatch::Operator* o = dispatch::find_operator(plain);
    if (!o) error(str("no operator is called ", name));
    return {OpCode::CallFunction, Target(*o)};
  }

  bool take_keyword(std::string& key) {
    const size_t start = at_;
    skip_space();
    if (at_ < text_.size() &&
        (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      key = word();
      if (take("=")) return true;
    }
    at_ = start;
    return false;
  }

  // ---- arguments ----
  Arg arg(const Scope& scope) {
    const Depth depth(*this);
    const char c = peek();
    if (c == '"') return Value(string());
    if (c == '[') return take("["), Arg::list(items(scope, "]"));
    if (c == '(') return take("("), Arg::tuple(items(scope, ")"));
    if (c == '{') return take("{"), dict(scope);
    if (c == '-' || std::isdigit(static_cast<unsigned char>(c))) return number();
    if (is_word("graph")) return Arg(graph());
    return named(scope);
  }

  std::vector<Arg> items(const Scope& scope, std::string_view end) {
    std::vector<Arg> out;
    while (!take(end)) {
      out.push_back(arg(scope));
      if (take(end)) break;
      expect(",");
    }
    return out;
  }

  Arg dict(const Scope& scope) {
    std::vector<Value> keys;
    std::vector<Arg> values;
    while (!take("}")) {
      const Arg key = arg({});
      if (!key.is_constant()) error("a key is a constant");
      keys.push_back(key.constant());
      expect(":");
      values.push_back(arg(scope));
      if (take("}")) break;
      expect(",");
    }
    return Arg(make_intrusive<Compound>(Compound::Kind::Dict, std::move(values), std::move(keys)));
  }

  Value number() {
    const size_t start = at_;
    if (take("-") && (is_word("inf") || is_word("nan"))) {
      const bool is_inf = word() == "inf";
      return is_inf ? -std::numeric_limits<double>::infinity()
                    : -std::numeric_limits<double>::quiet_NaN();
    }
    while (at_ < text_.size() && (is_word_char(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '+' || text_[at_] == '-') &&
                                   (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
      ++at_;
    const char *first = text_.data() + start, *last = text_.data() + at_;
    int64_t whole = 0;
    if (const auto r = std::from_chars(first, last, whole); r.ec == std::errc() && r.ptr == last)
      return whole;
    uint64_t large = 0;
    if (const auto r = std::from_chars(first, last, large); r.ec == std::errc() && r.ptr == last)
      return Scalar(large);
    double real = 0;
    if (const auto r = std::from_chars(first, last, real); r.ec == std::errc() && r.ptr == last)
      return real;
    at_ = start;
    error("expected a number");
  }
  double real() {
    skip_space();
    if (take_word("inf")) return std::numeric_limits<double>::infinity();
    if (take_word("nan")) return std::numeric_limits<double>::quiet_NaN();
    return number().to_double();
  }

  Arg named(const Scope& scope) {
    const size_t start = at_;
    const std::string name = word();
    if (name == "None") return Value();
    if (name == "True") return Value(true);
    if (name == "False") return Value(false);
    if (name == "inf") return Value(std::numeric_limits<double>::infinity());
    if (name == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
    if (peek() == '(') return call_like(name, scope);
    if (peek() == '.') return take("."), member(name, word());
    auto it = scope.find(name);
    if (it != scope.end()) return Arg(it->second);
    at_ = start;
    error(str("'", name, "' is not defined before its use"));
  }

  Arg call_like(const std::string& name, const Scope& scope) {
    expect("(");
    if (name == "complex") {
      const double re = real();
      expect(",");
      const double im = real();
      expect(")");
      return Value(Complex<double>(re, im));
    }
    if (name == "device" || name == "sym") {
      const std::string text = string();
      expect(")");
      return name == "sym" ? Arg(symbols_(text)) : Arg(Value(Device::parse(text)));
    }
    if (name == "slice") {
      std::vector<Arg> parts = items(scope, ")");
      if (parts.size() != 3) error("a slice has start, stop and step");
      return Arg(make_intrusive<Compound>(Compound::Kind::Slice, std::move(parts)));
    }
    error(str("unknown form ", name, "(...)"));
  }

  Value member(const std::string& kind, const std::string& name) {
    if (kind == "dtype") return dtype(name);
    if (kind == "layout")
      for (int i = 0; i <= static_cast<int>(Layout::Jagged); ++i)
        if (name == layout_name(static_cast<Layout>(i))) return static_cast<Layout>(i);
    if (kind == "memory_format")
      for (int i = 0; i <= static_cast<int>(MemoryFormat::ChannelsLast3d); ++i)
        if (name == memory_format_name(static_cast<MemoryFormat>(i)))
          return static_cast<MemoryFormat>(i);
    error(str("unknown constant ", kind, ".", name));
  }

  DType dtype(std::string_view name) const {
    for (int i = 0; i < kNumDTypes; ++i)
      if (name == short_name(static_cast<DType>(i))) return static_cast<DType>(i);
    error(str("no dtype is called ", name));
  }

  // ---- types ----
  Value type() {
    const Depth depth(*this);
    if (take("(")) {
      auto list = std::make_shared<Value::List>();
      while (!take(")")) {
        list->push_back(peek() == ',' || peek() == ')' ? Value() : type());
        if (take(")")) break;
        expect(",");
      }
      return list;
    }
    const std::string name = word();
    if (name == "Sym") return symbolic_type();
    const DType t = dtype(name);
    const SymIntVec sizes = dims("[", "]");
    const bool has_strides = peek() == '{' && is_dims_ahead();
    const SymIntVec strides = has_strides ? dims("{", "}") : SymIntVec();
    const Device device = take("@") ? device_word() : Device();
    return example(sizes, strides, t, device);
  }

  // After a type '{' may also open the body of a graph.
  bool is_dims_ahead() {
    size_t i = at_ + 1;
    while (i < text_.size() && text_[i] == ' ') ++i;
    return i < text_.size() && text_[i] != '\n' && text_[i] != '}';
  }

  Value symbolic_type() {
    expect("(");
    Value v = symbols_(balanced(")"));
    expect(")");
    return v;
  }
  // Text up to a comma or end at depth zero.
  std::string_view balanced(std::string_view end) {
    skip_space();
    const size_t start = at_;
    int open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (open == 0 && (c == ',' || c == end[0])) break;
      if (c == '(') ++open;
      if (c == ')') --open;
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }
  SymIntVec dims(std::string_view begin, std::string_view end) {
    SymIntVec out;
    expect(begin);
    while (!take(end)) {
      out.push_back(dim(balanced(end)));
      if (take(end)) break;
      expect(",");
    }
    return out;
  }
  SymInt dim(std::string_view text) {
    int64_t v = 0;
    const char* last = text.data() + text.size();
    if (const auto r = std::from_chars(text.data(), last, v); r.ec == std::errc() && r.ptr == last)
      return SymInt(v);
    const Value symbolic = symbols_(text);
    return symbolic.is<SymInt>() ? symbolic.get<SymInt>() : SymInt(symbolic.to_int());
  }
  Device device_word() {
    std::string name = word();
    if (take(":")) name += ":" + word();
    return Device::parse(name);
  }

  // A meta tensor with the sizes and dtype of the type.
  Value example(const SymIntVec& sizes, const SymIntVec& strides, DType dtype, Device device) {
    if (!strides.empty() && strides.size() != sizes.size())
      error("strides and sizes differ in number");
    for (const SymInt& s : sizes)
      if (!s.is_symbolic() && s.word() < 0) error("a negative size");
    Tensor t = make_tensor({0}, dtype, DeviceType::Meta);
    SymIntVec dense = strides;
    if (dense.empty()) {
      dense.resize(sizes.size());
      SymInt running = 1;
      for (size_t i = sizes.size(); i-- > 0;) {
        dense[i] = running;
        running = running * (sizes[i].is_symbolic() ? sizes[i] : sym_max(sizes[i], 1));
      }
    }
    t.impl()->set_sym_geometry(sizes, dense, 0);
    if (!device.is_meta()) t.impl()->extra().fake_device = device;
    return t;
  }

  struct Depth {
    explicit Depth(Reader& r) : reader(r) {
      if (++reader.depth_ > kMaxDepth) reader.error("nested too deeply");
    }
    ~Depth() { --reader.depth_; }
    Reader& reader;
  };

  std::string_view text_;
  SymbolReader symbols_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

IntrusivePtr<Graph> parse_graph(std::string_view text, SymbolReader symbols) {
  return Reader(text, symbols).whole();
}

namespace {
constexpr auto refuse_symbol = [](std::string_view expression) -> Value {
  fail(ErrorKind::Runtime, "the text has the symbol ", expression,
       " and no shape environment was given");
};
}  // namespace

IntrusivePtr<Graph> parse_graph(std::string_view text) { return parse_graph(text, refuse_symbol); }

Arg parse_arg(std::string_view text) { return Reader(text, refuse_symbol).single(); }

}  // namespace taeda::fx
