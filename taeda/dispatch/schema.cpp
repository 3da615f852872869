// Recursive-descent reader of operator schemas: name.overload(Type(a!) name=default, *, ...) ->
// Type.
#include "taeda/dispatch/schema.h"

#include <cctype>

namespace taeda::dispatch {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Schema read() {
    Schema s;
    s.name = word("operator name");
    if (take(':')) {
      expect(':');
      s.name += "::" + word("operator name");
    }
    if (take('.')) s.overload = word("overload name");
    expect('(');
    read_arguments(s.arguments);
    skip_space();
    expect('-');
    expect('>');
    read_returns(s.returns);
    skip_space();
    if (at_ < text_.size()) error("unexpected text after the schema");
    return s;
  }

 private:
  [[noreturn]] void error(const char* what) const {
    fail(ErrorKind::Runtime, "schema: ", what, " at column ", at_, " of '", text_, "'");
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }
  void expect(char c) {
    skip_space();
    if (!take(c)) error(str("expected '", c, "'").c_str());
  }
  std::string word(const char* what) {
    skip_space();
    const size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    if (start == at_) error(str("expected ", what).c_str());
    return std::string(text_.substr(start, at_ - start));
  }

  // A tuple among the results of a class's method, "(str, Tensor[])", as it is written.
  std::string tuple_text() {
    const size_t start = at_;
    int depth = 0;
    do {
      if (at_ == text_.size()) expect(')');
      depth += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
      ++at_;
    } while (depth > 0);
    return std::string(text_.substr(start, at_ - start));
  }

  void read_type(Argument& a) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '(') {
      a.type.base = tuple_text();
      return;
    }
    a.type.base = word("a type");
    if (a.type.base == "DeviceIndex") a.type.base = "int";
    if (a.type.base == "None") a.type.base = "NoneType";
    while (take('.')) a.type.base += "." + word("a class");  // __torch__.torch.classes.ns.Name
    if (take('(')) {
      while (at_ < text_.size() && text_[at_] != ')') {
        if (text_[at_] == '!')
          a.is_written = true;
        else
          a.alias += text_[at_];
        ++at_;
      }
      expect(')');
    }
    if (take('[')) {
      a.type.is_list = true;
      const size_t start = at_;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
      if (at_ > start) a.type.list_size = std::stoi(std::string(text_.substr(start, at_ - start)));
      expect(']');
      while (take('[')) {  // Tensor[][]
        expect(']');
        a.type.base += "[]";
      }
    }
    if (take('?')) {
      if (take('[')) {  // Tensor?[]
        expect(']');
        a.type.is_list = true;
        a.type.base += "?";
      } else {
        a.type.is_optional = true;
      }
    }
  }

  void read_arguments(std::vector<Argument>& out) {
    bool kwarg_only = false;
    skip_space();
    if (take(')')) return;
    do {
      skip_space();
      if (take('*')) {
        kwarg_only = true;
        continue;
      }
      Argument a;
      read_type(a);
      a.name = word("an argument name");
      a.is_kwarg_only = kwarg_only;
      skip_space();
      if (take('=')) {
        a.has_default = true;
        read_default(a.default_text);
      }
      out.push_back(std::move(a));
      skip_space();
    } while (take(','));
    expect(')');
  }

  void read_default(std::string& out) {
    int depth = 0;
    char quote = 0;  // that of the string the text is inside of
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (!quote && depth == 0 && (c == ',' || c == ')')) break;
      if (c == quote)
        quote = 0;
      else if (!quote && (c == '\'' || c == '"'))
        quote = c;
      if (!quote) depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      out.push_back(c);
      ++at_;
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
  }

  void read_returns(std::vector<Argument>& out) {
    skip_space();
    if (!take('(')) {
      read_result(out);
      if (out.back().type.base == "None") out.clear();  // PyTorch's other form of ()
      return;
    }
    skip_space();
    if (take(')')) return;
    do {
      read_result(out);
    } while (take(','));
    expect(')');
  }
  // A type, and a name if one follows.
  void read_result(std::vector<Argument>& out) {
    Argument a;
    read_type(a);
    skip_space();
    if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ')')
      a.name = word("a result name");
    out.push_back(std::move(a));
    skip_space();
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Schema parse_schema(std::string_view text) { return Reader(text).read(); }

std::string TypeRef::text() const {
  std::string out = base;
  if (is_list) out += list_size >= 0 ? str("[", list_size, "]") : "[]";
  if (is_optional) out += "?";
  return out;
}

namespace {

// The items of "[a, b]".
std::vector<std::string> items_of(std::string_view list) {
  std::vector<std::string> out;
  for (size_t at = 1; at + 1 < list.size();) {
    const size_t end = list.find_first_of(",]", at);
    std::string_view item = list.substr(at, end - at);
    while (item.starts_with(' ')) item.remove_prefix(1);
    out.emplace_back(item);
    at = end + 1;
  }
  return out;
}

Value default_list(const std::string& base, const std::string& text) {
  const std::vector<std::string> items = items_of(text);
  const auto each = [&](auto list, auto&& read) {
    for (const std::string& item : items) list.push_back(read(item));
    return Value(std::move(list));
  };
  if (base == "float")
    return each(std::vector<double>(), [](const std::string& s) { return std::stod(s); });
  if (base == "bool")
    return each(std::vector<bool>(), [](const std::string& s) { return s == "True"; });
  return each(std::vector<int64_t>(), [](const std::string& s) { return std::stoll(s); });
}

DType default_dtype_named(const std::string& name) {
  constexpr std::pair<std::string_view, DType> kShort[] = {
      {"float", DType::Float}, {"double", DType::Double}, {"half", DType::Half},
      {"long", DType::Int64},  {"int", DType::Int32},     {"short", DType::Int16},
      {"char", DType::Int8},   {"byte", DType::UInt8}};
  for (const auto& [known, dtype] : kShort)
    if (name == known) return dtype;
  for (int i = 0; i < kNumDTypes; ++i)
    if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  fail(ErrorKind::Runtime, "schema: no dtype is called '", name, "'");
}

}  // namespace

Value Argument::default_value() const {
  const std::string& d = default_text;
  if (!has_default || d == "None") return Value();
  if (d == "True" || d == "False") return Value(d == "True");
  if (d.front() == '[') return default_list(type.base, d);
  if (d.front() == '\'' || d.front() == '"') {
    const std::string text = d.substr(1, d.size() - 2);
    return type.base == "Device" ? Value(Device::parse(text)) : Value(text);
  }
  if (type.base == "MemoryFormat")
    return Value(d == "preserve_format" ? MemoryFormat::Preserve : MemoryFormat::Contiguous);
  if (type.base == "ScalarType") return Value(default_dtype_named(d));
  if (type.base == "Layout") return Value(Layout::Strided);
  if (type.base == "int" || type.base == "SymInt") {
    const bool is_number = std::isdigit(static_cast<unsigned char>(d.back()));
    if (!is_number) return Value(int64_t{d == "Mean" ? 1 : d == "Sum" ? 2 : 0});
    const int64_t n = std::stoll(d);
    return type.is_list ? Value(std::vector<int64_t>(std::max(type.list_size, 1), n)) : Value(n);
  }
  if (d.find_first_of(".e") == std::string::npos && type.base == "Scalar")
    return Value(int64_t{std::stoll(d)});
  return Value(std::stod(d));
}

}  // namespace taeda::dispatch
