// Prints classes and pickles their objects.
#include "taeda/serialization/script_writer.h"

#include <algorithm>
#include <array>

namespace taeda::serialization {
namespace {

using dispatch::Value;

constexpr std::string_view kRoot = "__torch__", kClass = "Module";
// A pickle of an empty tuple.
constexpr std::string_view kNoConstants("\x80\x02).", 4);

constexpr std::array<std::string_view, 35> kReserved = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !is_letter(name[0])) return false;
  const bool is_word = std::all_of(name.begin(), name.end(),
                                   [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  return is_word && std::find(kReserved.begin(), kReserved.end(), name) == kReserved.end();
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    TAEDA_CHECK_VALUE(static_cast<unsigned char>(c) >= 0x20,
                      "a name of an archive has a control "
                      "character");
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string type_name(const Value& value) {
  if (value.is_none()) return "NoneType";
  if (value.is<bool>()) return "bool";
  if (value.is<int64_t>()) return "int";
  if (value.is<double>()) return "float";
  if (value.is<std::string>()) return "str";
  if (value.is<Tensor>()) return "Tensor";
  if (value.is<std::vector<int64_t>>()) return "List[int]";
  if (value.is<std::vector<double>>()) return "List[float]";
  if (value.is<std::vector<bool>>()) return "List[bool]";
  if (value.is<std::vector<Tensor>>()) return "List[Tensor]";
  TAEDA_CHECK_VALUE(value.is<std::shared_ptr<Value::List>>(), "an archive cannot hold ",
                    value.kind_name());
  std::string out = "Tuple[";
  for (const Value& item : *value.get<std::shared_ptr<Value::List>>())
    out += (out.back() == '[' ? "" : ", ") + type_name(item);
  return out + "]";
}

// The module that the class of a mangled name is in.
std::string module_of(const std::string& mangled) {
  return mangled.empty() ? std::string(kRoot) : str(kRoot, ".", mangled);
}

}  // namespace

void ScriptWriter::run(const OutputArchive& root) {
  write_module(root, "");
  archive_.add(kPickleEntry, pickler_.finish());
  write_storages(archive_, pickler_);
  for (const auto& [name, text] : sources_) archive_.add(name, text);
  archive_.add("constants.pkl", kNoConstants);
  archive_.finish();
}

void ScriptWriter::write_module(const OutputArchive& module, const std::string& mangled) {
  using Role = OutputArchive::Role;
  std::string parameters, buffers, members;
  bool has_odd_names = false;
  // The outer class comes first in the archive; what is inside adds its own.
  const size_t place = sources_.size();
  sources_.emplace_back();
  pickler_.open_object(module_of(mangled), kClass);
  for (const OutputArchive::Member& member : module.members_) {
    pickler_.member(member.name);
    std::string type;
    if (member.role == Role::Module) {
      const std::string inner = str("___torch_mangle_", count_++);
      type = str(module_of(inner), ".", kClass);
      write_module(*member.nested, inner);
    } else {
      type = type_name(member.value);
      const bool is_tensor = member.value.is<Tensor>();
      pickler_.value(member.value, is_tensor && member.role == Role::Parameter &&
                                       member.value.get<Tensor>().requires_grad());
    }
    if (member.role == Role::Parameter) parameters += quoted(member.name) + ", ";
    if (member.role == Role::Buffer) buffers += quoted(member.name) + ", ";
    if (is_identifier(member.name)) {
      members += str("  ", member.name, " : ", type, "\n");
    } else {
      has_odd_names = true;
      members += str("  __annotations__[", quoted(member.name), "] = ", type, "\n");
    }
  }
  pickler_.close_object();
  sources_[place] = {
      mangled.empty() ? str("code/", kRoot, ".py") : str("code/", kRoot, "/", mangled, ".py"),
      str("class ", kClass, "(Module):\n  __parameters__ = [", parameters, "]\n  __buffers__ = [",
          buffers, "]\n", has_odd_names ? "  __annotations__ = []\n" : "", members)};
}

}  // namespace taeda::serialization
