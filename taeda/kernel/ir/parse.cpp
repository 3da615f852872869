// Reads a kernel from its text, line by line.
#include <bit>
#include <charconv>
#include <cstdlib>
#include <map>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/text.h"
#include "taeda/symbolic/parse.h"

namespace taeda::kernel {

namespace {

// One line: words, names and bracketed texts, taken from the front.
class Line {
 public:
  Line(std::string_view text, int number) : number_(number) {
    indent_ = std::min(text.find_first_not_of(' '), text.size());
    rest_ = text.substr(indent_);
  }

  size_t indent() const { return indent_; }
  bool is_empty() const { return rest_.empty(); }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(ErrorKind::Value, "[kernel] line ", number_, ": ", parts...);
  }

  // Takes a text where it comes next.
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    skip_spaces();
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) refuse("expected '", text, "' before '", rest_, "'");
  }
  // Letters, digits and what stands in numbers.
  std::string word() {
    size_t end = 0;
    while (end < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[end])) ||
                                  std::string_view("_%.+-").find(rest_[end]) != rest_.npos))
      ++end;
    if (end == 0) refuse("expected a word before '", rest_, "'");
    std::string result(rest_.substr(0, end));
    rest_.remove_prefix(end);
    skip_spaces();
    return result;
  }
  // Up to a text outside of brackets; the whole rest where there is none.
  std::string until(std::string_view stop) {
    int depth = 0;
    size_t end = 0;
    for (; end < rest_.size(); ++end) {
      if (depth == 0 && rest_.substr(end).starts_with(stop)) break;
      if (rest_[end] == '(' || rest_[end] == '[') ++depth;
      if (rest_[end] == ')' || rest_[end] == ']') --depth;
    }
    std::string result(rest_.substr(0, end));
    while (!result.empty() && result.back() == ' ') result.pop_back();
    rest_.remove_prefix(end);
    skip_spaces();
    return result;
  }
  void finish() const {
    if (!rest_.empty()) refuse("'", rest_, "' is left over");
  }

 private:
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::string_view rest_;
  size_t indent_;
  int number_;
};

// The entry of a table of names.
template <class E>
bool find_name(const char* (*name_of)(E), int count, const std::string& word, E& found) {
  for (int i = 0; i < count; ++i) {
    if (word != name_of(static_cast<E>(i))) continue;
    found = static_cast<E>(i);
    return true;
  }
  return false;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Kernel read() {
    Line head = next_line();
    head.expect("kernel ");
    kernel_.name = head.word();
    head.expect("(");
    while (!head.take(")")) {
      kernel_.params.push_back(declare(head.word()));
      head.take(",");
    }
    head.finish();
    while (has_line()) read_line(next_line());
    return std::move(kernel_);
  }

 private:
  bool has_line() {
    while (!text_.empty()) {
      const size_t end = std::min(text_.find('\n'), text_.size());
      if (text_.substr(0, end).find_first_not_of(' ') < end) return true;
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++line_number_;
    }
    return false;
  }
  Line next_line() {
    if (!has_line()) fail(ErrorKind::Value, "[kernel] line ", line_number_ + 1, ": no kernel");
    const size_t end = std::min(text_.find('\n'), text_.size());
    Line line(text_.substr(0, end), ++line_number_);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return line;
  }

  void read_line(Line line) {
    if (line.take("buffer ")) return read_buffer(line);
    if (line.take("value ")) return read_value(line);
    if (line.take("index ")) return read_index(line);
    std::vector<Step>& steps = steps_at(line);
    if (line.take("loop ")) {
      steps.push_back(read_loop(line));
      open_.push_back({line.indent(), &std::get<Loop>(steps.back())});
    } else {
      steps.push_back(read_step(line));
    }
    line.finish();
  }

  // The loop that a line belongs to, by its indentation. A pointer into the steps of a loop stays
  // valid while that loop is the last of its own list, and only the last ones are open.
  std::vector<Step>& steps_at(const Line& line) {
    while (!open_.empty() && open_.back().indent >= line.indent()) open_.pop_back();
    return open_.empty() ? kernel_.steps : open_.back().loop->steps;
  }

  const Expr* declare(const std::string& name) { return symbols_[name] = kernel_.axis(name); }

  const Expr* expression(const Line& line, const std::string& text) {
    auto symbol_of = [&](const std::string& name) -> const Expr* {
      auto place = symbols_.find(name);
      // Values may use the variables of loops that follow.
      return place == symbols_.end() ? declare(name) : place->second;
    };
    try {
      return symbolic::parse(*kernel_.pool, text, symbol_of);
    } catch (const Error& error) {
      line.refuse(error.what());
    }
  }

  const Expr* bracketed(Line& line) {
    line.expect("[");
    const Expr* e = expression(line, line.until("]"));
    line.expect("]");
    return e;
  }

  int buffer_named(const Line& line, const std::string& name) const {
    for (size_t i = 0; i < kernel_.buffers.size(); ++i)
      if (kernel_.buffers[i].name == name) return static_cast<int>(i);
    line.refuse("there is no buffer ", name);
  }

  NodeId node_named(const Line& line, const std::string& name) const {
    auto place = nodes_.find(name);
    if (place == nodes_.end()) line.refuse("there is no value ", name);
    return place->second;
  }

  int integer(Line& line) {
    const std::string word = line.word();
    char* end = nullptr;
    const long value = std::strtol(word.c_str(), &end, 10);
    if (*end || value < INT32_MIN || value > INT32_MAX) line.refuse("'", word, "' is no number");
    return static_cast<int>(value);
  }

  DType dtype_named(const Line& line, const std::string& name) const {
    for (int i = 0; i < kNumDTypes; ++i)
      if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
    line.refuse("there is no dtype ", name);
  }

  void read_buffer(Line& line) {
    Buffer buffer;
    buffer.name = line.word();
    buffer.dtype = dtype_named(line, line.word());
    buffer.numel = bracketed(line);
    while (!line.is_empty()) {
      if (line.take("align ")) {
        buffer.alignment = integer(line);
      } else if (line.take("alias ")) {
        buffer.alias_class = integer(line);
      } else if (std::string word = line.word(); !find_name(space_name, 3, word, buffer.space)) {
        line.refuse("a buffer has no '", word, "'");
      }
    }
    kernel_.buffers.push_back(std::move(buffer));
  }

  void read_value(Line& line) {
    const std::string name = line.word();
    line.expect("=");
    const std::string op = line.word();
    std::string body = line.until(" : ");
    line.expect(":");
    Type type;
    const std::string type_word = line.word();
    if (!find_name(type_name, kNumTypes, type_word, type))
      line.refuse("there is no type ", type_word);
    line.finish();
    Line operands(body, line_number_);
    const NodeId id = read_node(operands, op, type);
    operands.finish();
    if (kernel_.values.node(id).type != type)
      line.refuse(name, " is ", type_name(kernel_.values.node(id).type), ", not ", type_name(type));
    if (!nodes_.emplace(name, id).second) line.refuse(name, " is defined twice");
  }

  NodeId read_node(Line& line, const std::string& name, Type type) {
    ExprGraph& graph = kernel_.values;
    if (name == op_name(Op::Constant)) return read_constant(line, type);
    if (name == op_name(Op::Input)) return graph.input(integer(line), type);
    if (name == op_name(Op::Uniform)) return graph.uniform(integer(line), type);
    if (name == op_name(Op::State)) return graph.state(integer(line), type);
    if (name == op_name(Op::Index)) return graph.index(bracketed(line), type);
    if (name == op_name(Op::Cast)) return graph.cast(node_named(line, line.word()), type);
    if (name == op_name(Op::Round)) {
      const DType dtype = dtype_named(line, line.word());
      return graph.round(node_named(line, line.word()), dtype);
    }
    if (name == op_name(Op::Load)) {
      const int buffer = buffer_named(line, line.word());
      const Expr* at = bracketed(line);
      if (!line.take("if ")) return graph.load(buffer, type, at);
      const NodeId mask = node_named(line, line.word());
      line.expect("else ");
      return graph.load(buffer, type, at, mask, node_named(line, line.word()));
    }
    if (name == op_name(Op::Random)) {
      const std::string what = line.word();
      Draw draw;
      if (!find_name(draw_name, kNumDraws, what, draw)) line.refuse("nothing draws ", what);
      const Expr* at = bracketed(line);
      const NodeId seed = node_named(line, line.word()), offset = node_named(line, line.word());
      if (draw != Draw::Integer) return graph.random(draw, at, seed, offset);
      return graph.random(draw, at, seed, offset, node_named(line, line.word()));
    }
    NodeId args[3] = {-1, -1, -1};
    Op op;
    if (!find_name(op_name, kNumOps, name, op)) line.refuse("there is no operation ", name);
    for (int i = 0; i < op_arity(op); ++i) args[i] = node_named(line, line.word());
    return graph.apply(op, args[0], args[1], args[2]);
  }

  // The whole word as a number of type T.
  template <class T>
  static T read_number(const Line& line, const std::string& word, Type type) {
    T value{};
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc() || stop != end)
      line.refuse("'", word, "' is no constant of type ", type_name(type));
    return value;
  }

  NodeId read_constant(Line& line, Type type) {
    const std::string first = line.word();
    if (type == Type::Mask) {
      if (first != "true" && first != "false")
        line.refuse("'", first, "' is no constant of type ", type_name(type));
      return kernel_.values.constant(first == "true", type);
    }
    if (type == Type::U64)
      return kernel_.values.constant_int(
          static_cast<int64_t>(read_number<uint64_t>(line, first, type)), type);
    if (type == Type::I32)
      return kernel_.values.constant_int(read_number<int32_t>(line, first, type), type);
    if (is_integer(type))
      return kernel_.values.constant_int(read_number<int64_t>(line, first, type), type);
    const double real = read_number<double>(line, first, type);
    if (!is_complex(type)) return kernel_.values.constant(real, type);
    return kernel_.values.constant_complex(real, read_number<double>(line, line.word(), type),
                                           type);
  }

  void read_index(Line& line) {
    const std::string name = line.word();
    line.expect("=");
    const NodeId value = node_named(line, line.word());
    line.expect("<");
    std::string extent = line.until(" wraps");
    const bool wraps = line.take("wraps");
    line.finish();
    symbols_[name] =
        kernel_.values.indirect(*kernel_.pool, name, value, expression(line, extent), wraps);
  }

  Loop read_loop(Line& line) {
    Loop loop;
    do {
      Axis axis;
      axis.var = declare(line.word());
      line.expect("<");
      read_axis(line, line.until(","), axis);
      loop.axes.push_back(axis);
    } while (line.take(","));
    return loop;
  }

  // An extent, then words for its role and its binding.
  void read_axis(const Line& line, std::string text, Axis& axis) {
    for (;;) {
      const size_t space = text.rfind(' ');
      if (space == text.npos) break;
      const std::string word = text.substr(space + 1);
      if (!find_name(role_name, 3, word, axis.role) &&
          !find_name(binding_name, 6, word, axis.binding))
        break;
      text.resize(space);
    }
    axis.extent = expression(line, text);
  }

  std::vector<NodeId> read_operands(Line& line) {
    std::vector<NodeId> values;
    line.expect("(");
    while (!line.take(")")) {
      values.push_back(node_named(line, line.word()));
      line.take(",");
    }
    return values;
  }

  const ReduceBody* body_of(const Line& line, const std::string& name,
                            const std::vector<NodeId>& values) const {
    if (values.empty()) line.refuse(name, " has no values");
    return find_reduce_body(name, kernel_.values.node(values[0]).type);
  }

  Step read_step(Line& line) {
    if (line.take("barrier")) return Barrier{};
    if (line.take("check ")) return Check{expression(line, line.word())};
    if (line.take("reduce ")) {
      Reduce reduce;
      const std::string name = line.word();
      reduce.values = read_operands(line);
      reduce.body = body_of(line, name, reduce.values);
      line.expect("over ");
      do reduce.axes.push_back(expression(line, line.word()));
      while (line.take(","));
      line.expect("->");
      reduce.first_state = integer(line);
      if (line.take("partial")) reduce.part = Part::Partial;
      if (line.take("combining")) reduce.part = Part::Combining;
      return reduce;
    }
    if (line.take("scan ")) {
      Scan scan;
      const std::string name = line.word();
      scan.values = read_operands(line);
      scan.body = body_of(line, name, scan.values);
      line.expect("along ");
      scan.axis = expression(line, line.word());
      line.expect("->");
      scan.first_state = integer(line);
      return scan;
    }
    Store store{};
    const std::string mode = line.word();
    if (!find_name(store_mode_name, 6, mode, store.mode)) line.refuse("there is no step ", mode);
    store.buffer = buffer_named(line, line.word());
    store.at = bracketed(line);
    line.expect("=");
    store.value = node_named(line, line.word());
    store.mask = line.take("if ") ? node_named(line, line.word()) : -1;
    return store;
  }

  struct Open {
    size_t indent;
    Loop* loop;
  };
  std::string_view text_;
  int line_number_ = 0;
  Kernel kernel_;
  std::map<std::string, const Expr*> symbols_;
  std::map<std::string, NodeId> nodes_;
  std::vector<Open> open_;
};

}  // namespace

Kernel parse_kernel(std::string_view text) { return Reader(text).read(); }

}  // namespace taeda::kernel
