// Writes a kernel as text.
#include <cmath>
#include <cstdio>
#include <unordered_map>

#include "taeda/base/str.h"
#include "taeda/kernel/ir/text.h"

namespace taeda::kernel {

namespace {

class Writer {
 public:
  explicit Writer(const Kernel& kernel) : kernel_(kernel), graph_(kernel.values) {}

  std::string write() {
    text_ = str("kernel ", kernel_.name, "(");
    for (size_t i = 0; i < kernel_.params.size(); ++i)
      text_ += str(i ? ", " : "", kernel_.params[i]->name);
    text_ += ")\n";
    for (const Buffer& buffer : kernel_.buffers) write_buffer(buffer);
    std::vector<NodeId> roots;
    collect(kernel_.steps, roots);
    for (NodeId id : graph_.reachable(roots)) write_value(id);
    write_steps(kernel_.steps, "  ");
    return std::move(text_);
  }

 private:
  void write_buffer(const Buffer& buffer) {
    text_ += str("  buffer ", buffer.name, " ", dtype_name(buffer.dtype), "[",
                 symbolic::text_of(buffer.numel), "]");
    if (buffer.space != Space::Global) text_ += str(" ", space_name(buffer.space));
    if (buffer.alignment) text_ += str(" align ", buffer.alignment);
    if (buffer.alias_class >= 0) text_ += str(" alias ", buffer.alias_class);
    text_ += "\n";
  }

  void collect(const std::vector<Step>& steps, std::vector<NodeId>& roots) const {
    for (const Step& step : steps) {
      if (const auto* loop = std::get_if<Loop>(&step)) collect(loop->steps, roots);
      for (NodeId root : roots_of(kernel_, step)) roots.push_back(root);
    }
  }

  std::string name(NodeId id) const { return str("%", number_.at(id)); }

  std::string access(int buffer, const Expr* at) const {
    return str(kernel_.buffers[buffer].name, "[", symbolic::text_of(at), "]");
  }

  void write_value(NodeId id) {
    const int number = static_cast<int>(number_.size());
    number_[id] = number;
    const Node& node = graph_.node(id);
    text_ += str("  value %", number, " = ", op_name(node.op));
    switch (node.op) {
      case Op::Constant: text_ += " " + constant_text(node); break;
      case Op::Input:
      case Op::Uniform:
      case Op::State: text_ += str(" ", node.index); break;
      case Op::Load:
        text_ += " " + access(node.index, node.at);
        if (node.args[0] >= 0)
          text_ += str(" if ", name(node.args[0]), " else ", name(node.args[1]));
        break;
      case Op::Index: text_ += str(" [", symbolic::text_of(node.at), "]"); break;
      case Op::Round:
        text_ += str(" ", dtype_name(static_cast<DType>(node.index)), " ", name(node.args[0]));
        break;
      case Op::Random:
        text_ += str(" ", draw_name(static_cast<Draw>(node.index)), " [",
                     symbolic::text_of(node.at), "]");
        for (NodeId arg : node.args)
          if (arg >= 0) text_ += " " + name(arg);
        break;
      default:
        for (NodeId arg : node.args)
          if (arg >= 0) text_ += " " + name(arg);
    }
    text_ += str(" : ", type_name(node.type), "\n");
    for (const Indirect& one : graph_.indirects())
      if (one.value == id)
        text_ += str("  index ", one.symbol->name, " = ", name(id), " < ",
                     symbolic::text_of(one.extent), one.wraps ? " wraps" : "", "\n");
  }

  static std::string number_text(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.17g", value);
    return text;
  }

  std::string constant_text(const Node& node) const {
    switch (node.type) {
      case Type::I32:
      case Type::I64: return str(static_cast<int64_t>(node.bits[0]));
      case Type::U64: return str(node.bits[0]);
      case Type::Mask: return node.bits[0] ? "true" : "false";
      default: break;
    }
    auto part = [&](uint64_t bits) {
      return number_text(real_type(node.type) == Type::F32
                             ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                             : std::bit_cast<double>(bits));
    };
    return is_complex(node.type) ? part(node.bits[0]) + " " + part(node.bits[1])
                                 : part(node.bits[0]);
  }

  std::string names(const std::vector<NodeId>& ids) const {
    std::string text;
    for (NodeId id : ids) text += (text.empty() ? "" : ", ") + name(id);
    return text;
  }

  void write_steps(const std::vector<Step>& steps, const std::string& indent) {
    for (const Step& step : steps) {
      text_ += indent;
      std::visit([&](const auto& one) { write_step(one, indent); }, step);
    }
  }

  void write_step(const Store& store, const std::string&) {
    text_ += str(store_mode_name(store.mode), " ", access(store.buffer, store.at), " = ",
                 name(store.value), store.mask >= 0 ? " if " + name(store.mask) : "", "\n");
  }
  void write_step(const Reduce& reduce, const std::string&) {
    text_ += str("reduce ", reduce.body->name, "(", names(reduce.values), ") over ");
    for (size_t i = 0; i < reduce.axes.size(); ++i)
      text_ += str(i ? ", " : "", reduce.axes[i]->name);
    constexpr const char* kParts[] = {"", " partial", " combining"};
    text_ += str(" -> ", reduce.first_state, kParts[static_cast<int>(reduce.part)], "\n");
  }
  void write_step(const Scan& scan, const std::string&) {
    text_ += str("scan ", scan.body->name, "(", names(scan.values), ") along ", scan.axis->name,
                 " -> ", scan.first_state, "\n");
  }
  void write_step(const Check& check, const std::string&) {
    text_ += str("check ", check.symbol->name, "\n");
  }
  void write_step(const Barrier&, const std::string&) { text_ += "barrier\n"; }
  void write_step(const Loop& loop, const std::string& indent) {
    text_ += "loop ";
    for (size_t i = 0; i < loop.axes.size(); ++i) {
      const Axis& axis = loop.axes[i];
      text_ += str(i ? ", " : "", axis.var->name, " < ", symbolic::text_of(axis.extent));
      if (axis.role != Role::Kept) text_ += str(" ", role_name(axis.role));
      if (axis.binding != Binding::Serial) text_ += str(" ", binding_name(axis.binding));
    }
    text_ += "\n";
    write_steps(loop.steps, indent + "  ");
  }

  const Kernel& kernel_;
  const ExprGraph& graph_;
  std::string text_;
  std::unordered_map<NodeId, int> number_;
};

}  // namespace

std::string dump(const Kernel& kernel) { return Writer(kernel).write(); }

}  // namespace taeda::kernel
