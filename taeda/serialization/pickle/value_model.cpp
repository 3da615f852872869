// What the functions that PyTorch's pickles name do, in C++.
#include "taeda/serialization/pickle/value_model.h"

#include <algorithm>

#include "taeda/ops/functions.h"
#include "taeda/serialization/geometry.h"
#include "taeda/serialization/pickle/byte_reader.h"
#include "taeda/serialization/pickle/storage_names.h"

namespace taeda::serialization {
namespace {

using Nodes = std::vector<PickleNode*>;

constexpr std::string_view kScriptClasses = "__torch__.";

std::string_view shown_kind(const PickleNode* node) { return pickle_kind_name(node->kind); }

}  // namespace

// One call of a function with the arguments of a pickle.
class Rebuilder {
 public:
  Rebuilder(ValueModel& model, const std::string& function, const Nodes& arguments)
      : model_(model), function_(function), arguments_(arguments) {}

  using Function = PickleNode* (Rebuilder::*)();
  // Null for a name that is no function here.
  static Function find(std::string_view name) {
    struct Row {
      std::string_view name;
      Function function;
    };
    static constexpr Row kRows[] = {
        {"torch._utils._rebuild_tensor", &Rebuilder::tensor},
        {"torch._utils._rebuild_tensor_v2", &Rebuilder::tensor_v2},
        {"torch._utils._rebuild_tensor_v3", &Rebuilder::tensor_v3},
        {"torch._utils._rebuild_parameter", &Rebuilder::parameter},
        {"torch._utils._rebuild_parameter_with_state", &Rebuilder::parameter},
        {"torch._utils._rebuild_meta_tensor_no_storage", &Rebuilder::meta_tensor},
        {"torch._tensor._rebuild_from_type_v2", &Rebuilder::from_type},
        {"torch.nn.parameter.Parameter", &Rebuilder::parameter},
        {"torch.Tensor", &Rebuilder::empty_tensor},
        {"torch.Size", &Rebuilder::size},
        {"torch.device", &Rebuilder::device},
        {"torch.serialization._get_layout", &Rebuilder::first},
        {"collections.OrderedDict", &Rebuilder::dict},
        {"collections.Counter", &Rebuilder::dict},
        {"builtins.set", &Rebuilder::set},
        {"builtins.complex", &Rebuilder::complex},
        {"builtins.bytearray", &Rebuilder::bytes},
        {"_codecs.encode", &Rebuilder::bytes},
        {"torch.jit._pickle.build_intlist", &Rebuilder::first},
        {"torch.jit._pickle.build_doublelist", &Rebuilder::first},
        {"torch.jit._pickle.build_boollist", &Rebuilder::first},
        {"torch.jit._pickle.build_tensorlist", &Rebuilder::first},
        {"torch.jit._pickle.restore_type_tag", &Rebuilder::first},
    };
    for (const Row& row : kRows)
      if (row.name == name) return row.function;
    return nullptr;
  }

 private:
  PickleNode* argument(size_t i) const {
    if (i >= arguments_.size())
      throw PickleError(str(function_, " is called with ", arguments_.size(), " arguments"));
    return arguments_[i];
  }
  PickleNode* argument(size_t i, PickleKind kind) const {
    PickleNode* node = argument(i);
    if (node->kind != kind)
      throw PickleError(str("argument ", i, " of ", function_, " is ", shown_kind(node),
                            ", expected ", pickle_kind_name(kind)));
    return node;
  }
  std::vector<int64_t> numbers(size_t i) const {
    std::vector<int64_t> out;
    for (const PickleNode* item : argument(i, PickleKind::Tuple)->items) {
      if (item->kind != PickleKind::Int)
        throw PickleError(
            str("argument ", i, " of ", function_, " has ", shown_kind(item), ", expected ints"));
      out.push_back(item->integer);
    }
    return out;
  }
  bool flag(size_t i) const { return argument(i, PickleKind::Bool)->integer != 0; }

  PickleNode* wrap(Tensor tensor, bool requires_grad) {
    if (requires_grad) tensor.set_requires_grad(true);
    PickleNode* out = model_.make_node(PickleKind::Tensor);
    out->tensor = std::move(tensor);
    return out;
  }
  // Over the storage and geometry that are the first four arguments.
  Tensor plain(DType dtype) const {
    const PickleNode* storage = argument(0, PickleKind::Storage);
    return tensor_over(storage->storage, dtype, numbers(2), numbers(3),
                       argument(1, PickleKind::Int)->integer);
  }
  Tensor with_flags(Tensor tensor, size_t i) const {
    if (i >= arguments_.size() || arguments_[i]->kind != PickleKind::Dict) return tensor;
    const Nodes& pairs = arguments_[i]->items;
    for (size_t k = 0; k < pairs.size(); k += 2) {
      const bool is_set = pairs[k + 1]->kind == PickleKind::Bool && pairs[k + 1]->integer != 0;
      if (is_set && pairs[k]->text == "conj") tensor = tensor.conj().detach();
      if (is_set && pairs[k]->text == "neg") tensor = taeda::_neg_view(tensor).detach();
    }
    return tensor;
  }

  PickleNode* tensor() { return wrap(plain(argument(0, PickleKind::Storage)->dtype), false); }
  PickleNode* tensor_v2() {
    const DType dtype = argument(0, PickleKind::Storage)->dtype;
    return wrap(with_flags(plain(dtype), 6), flag(4));
  }
  PickleNode* tensor_v3() {
    const DType dtype = argument(6, PickleKind::DType)->dtype;
    return wrap(with_flags(plain(dtype), 7), flag(4));
  }
  PickleNode* meta_tensor() {
    const DType dtype = argument(0, PickleKind::DType)->dtype;
    const std::vector<int64_t> sizes = numbers(1), strides = numbers(2);
    const std::string problem = geometry_problem(sizes, strides, 0, dtype, INT64_MAX);
    TAEDA_CHECK(problem.empty(), "a meta tensor of the pickle is damaged: ", problem);
    return wrap(make_tensor_strided(sizes, strides, dtype, DeviceType::Meta), flag(3));
  }
  PickleNode* parameter() {
    const bool requires_grad = arguments_.size() < 2 || flag(1);
    return wrap(argument(0, PickleKind::Tensor)->tensor.detach(), requires_grad);
  }
  PickleNode* empty_tensor() {
    return wrap(make_tensor({0}, default_dtype(), DeviceType::CPU), false);
  }
  // Classes other than the plain ones are refused where they are named.
  PickleNode* from_type() {
    return model_.reduce(argument(0, PickleKind::Global), argument(2, PickleKind::Tuple));
  }

  PickleNode* first() { return argument(0); }
  PickleNode* size() { return argument(0, PickleKind::Tuple); }
  PickleNode* device() {
    PickleNode* out = model_.make_node(PickleKind::Device);
    out->device = Device::parse(argument(0, PickleKind::Text)->text);
    if (arguments_.size() > 1)
      out->device =
          Device::parse(str(out->device.text(), ":", argument(1, PickleKind::Int)->integer));
    return out;
  }
  PickleNode* dict() {
    PickleNode* out = model_.make_node(PickleKind::Dict);
    if (arguments_.empty()) return out;
    const PickleNode* from = argument(0);
    if (from->kind == PickleKind::Dict) {
      out->items = from->items;
      return out;
    }
    for (const PickleNode* pair : argument(0, PickleKind::List)->items) {
      if (pair->items.size() != 2) throw PickleError(str(function_, " takes pairs"));
      out->items.insert(out->items.end(), pair->items.begin(), pair->items.end());
    }
    return out;
  }
  PickleNode* set() {
    PickleNode* out = model_.make_node(PickleKind::Set);
    if (!arguments_.empty()) out->items = argument(0, PickleKind::List)->items;
    return out;
  }
  PickleNode* complex() {
    PickleNode* out = model_.make_node(PickleKind::Complex);
    out->real = argument(0, PickleKind::Float)->real;
    out->imaginary = argument(1, PickleKind::Float)->real;
    return out;
  }
  // Bytes are texts of the first 256 characters in pickles of protocol 2.
  PickleNode* bytes() {
    PickleNode* out = model_.make_node(PickleKind::Bytes);
    if (arguments_.empty()) return out;
    if (argument(0)->kind == PickleKind::Bytes) return argument(0);
    const std::string& text = argument(0, PickleKind::Text)->text;
    for (size_t i = 0; i < text.size(); ++i) {
      auto c = static_cast<uint8_t>(text[i]);
      if (c >= 0x80) {
        if ((c & 0xFC) != 0xC0 || i + 1 == text.size())
          throw PickleError(str(function_, " of a text that is no bytes"));
        c = static_cast<uint8_t>(c << 6 | (text[++i] & 0x3F));
      }
      out->text += static_cast<char>(c);
    }
    return out;
  }

  ValueModel& model_;
  const std::string& function_;
  const Nodes& arguments_;
};

PickleNode* ValueModel::make_node(PickleKind kind) {
  nodes_->emplace_back().kind = kind;
  return &nodes_->back();
}
PickleNode* ValueModel::boolean(bool b) {
  Object out = make_node(PickleKind::Bool);
  out->integer = b;
  return out;
}
PickleNode* ValueModel::integer(int64_t v) {
  Object out = make_node(PickleKind::Int);
  out->integer = v;
  return out;
}
PickleNode* ValueModel::long_integer(std::string_view bytes) {
  if (bytes.size() > 8) {
    Object out = make_node(PickleKind::LongInt);
    out->text = bytes;
    return out;
  }
  uint64_t value = !bytes.empty() && (bytes.back() & 0x80) ? ~uint64_t{0} : 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return integer(static_cast<int64_t>(value));
}
PickleNode* ValueModel::real(double v) {
  Object out = make_node(PickleKind::Float);
  out->real = v;
  return out;
}
PickleNode* ValueModel::text(std::string_view utf8) {
  Object out = make_node(PickleKind::Text);
  out->text = utf8;
  return out;
}
PickleNode* ValueModel::tuple(std::vector<Object> items) {
  Object out = make_node(PickleKind::Tuple);
  out->items = std::move(items);
  return out;
}

void ValueModel::extend(Object list, std::vector<Object> items, const char* what) {
  if (list->kind != PickleKind::List)
    throw PickleError(str("Can only ", what, " lists, but got ", shown_kind(list)));
  list->items.insert(list->items.end(), items.begin(), items.end());
}

void ValueModel::set_items(Object dict, std::vector<Object> items, const char* op) {
  if (dict->kind != PickleKind::Dict)
    throw PickleError(str("Can only ", op,
                          " for dict, collections.OrderedDict, "
                          "collections.Counter, but got ",
                          shown_kind(dict)));
  dict->items.insert(dict->items.end(), items.begin(), items.end());
}

PickleNode* ValueModel::global(const std::string& module, const std::string& name) {
  const std::string path = str(module == "__builtin__" ? "builtins" : module, ".", name);
  if (const std::optional<DType> dtype = dtype_of_name(path)) {
    Object out = make_node(PickleKind::DType);
    out->dtype = *dtype;
    return out;
  }
  const bool is_known = Rebuilder::find(path) || dtype_of_storage_name(path).has_value() ||
                        path.starts_with(kScriptClasses);
  if (!is_known)
    throw PickleError(str("Unsupported global: GLOBAL ", path,
                          " was not an allowed global by default: C++ reads tensors and plain "
                          "containers"));
  Object out = make_node(PickleKind::Global);
  out->text = path;
  return out;
}

PickleNode* ValueModel::reduce(Object function, Object arguments) {
  const Rebuilder::Function found =
      function->kind == PickleKind::Global ? Rebuilder::find(function->text) : nullptr;
  if (!found)
    throw PickleError(str("Trying to call reduce for unrecognized function ", function->text, ", ",
                          shown_kind(function)));
  if (arguments->kind != PickleKind::Tuple)
    throw PickleError(str("arguments must be a tuple, but got ", shown_kind(arguments)));
  return (Rebuilder(*this, function->text, arguments->items).*found)();
}

PickleNode* ValueModel::make(Object type, Object arguments) {
  if (type->kind != PickleKind::Global || !type->text.starts_with(kScriptClasses))
    return reduce(type, arguments);
  Object out = make_node(PickleKind::Object);
  out->text = type->text;
  return out;
}

void ValueModel::build(Object object, Object state) {
  // The attributes of an OrderedDict are no data.
  if (object->kind == PickleKind::Dict) return;
  if (object->kind != PickleKind::Object || state->kind != PickleKind::Dict)
    throw PickleError(str("Can only build objects from dicts, but got ", shown_kind(object),
                          " and ", shown_kind(state)));
  object->items = state->items;
}

PickleNode* ValueModel::persistent(Object id) {
  if (id->kind != PickleKind::Tuple)
    throw PickleError(str("persistent_load id must be tuple or int, but got ", shown_kind(id)));
  const Nodes& items = id->items;
  const bool is_storage = items.size() >= 5 && items[0]->kind == PickleKind::Text &&
                          items[0]->text == "storage" && items[1]->kind == PickleKind::Global &&
                          items[2]->kind == PickleKind::Text &&
                          items[3]->kind == PickleKind::Text && items[4]->kind == PickleKind::Int &&
                          items[4]->integer >= 0;
  if (!is_storage)
    throw PickleError("Only persistent_load of storage is allowed, but got another tuple");
  if (items.size() > 5 && items[5]->kind != PickleKind::None)
    throw PickleError("views of storages are not read by C++");
  const std::optional<DType> dtype = dtype_of_storage_name(items[1]->text);
  if (!dtype) throw PickleError(str(items[1]->text, " is no storage"));
  Object out = make_node(PickleKind::Storage);
  out->dtype = *dtype;
  out->storage = find_storage_(
      {*dtype, items[2]->text, items[3]->text, static_cast<uint64_t>(items[4]->integer)});
  return out;
}

}  // namespace taeda::serialization
