// Instructions, and the tuples that PyTorch rebuilds tensors from.
#include "taeda/serialization/pickle/pickler.h"

#include <bit>
#include <limits>

#include "taeda/ops/functions.h"
#include "taeda/serialization/checkpoint_archive.h"
#include "taeda/serialization/geometry.h"
#include "taeda/serialization/pickle/opcodes.h"
#include "taeda/serialization/pickle/storage_names.h"

namespace taeda::serialization {
namespace {

template <class T>
void append_number(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
constexpr char code(PickleOp op) { return static_cast<char>(op); }

}  // namespace

Pickler::Pickler(bool is_script) : is_script_(is_script) {
  op(code(PickleOp::Proto));
  op(static_cast<char>(kPickleProtocol));
}

std::string Pickler::name_of_storage(DType dtype) const {
  return is_script_ ? str(dtype_long_name(dtype), "Storage") : storage_name(dtype);
}

uint32_t Pickler::keep() {
  const uint32_t index = count_++;
  if (index < 256) {
    op(code(PickleOp::BinPut));
    op(static_cast<char>(index));
  } else {
    op(code(PickleOp::LongBinPut));
    append_number(out_, index);
  }
  return index;
}

bool Pickler::recall(const std::string& key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) return false;
  if (found->second < 256) {
    op(code(PickleOp::BinGet));
    op(static_cast<char>(found->second));
  } else {
    op(code(PickleOp::LongBinGet));
    append_number(out_, found->second);
  }
  return true;
}

void Pickler::text(std::string_view text) {
  const std::string key = "t" + std::string(text);
  if (recall(key)) return;
  TAEDA_CHECK_VALUE(text.size() <= std::numeric_limits<uint32_t>::max(), "a text of ", text.size(),
                    " bytes is too long for a pickle");
  op(code(PickleOp::BinUnicode));
  append_number(out_, static_cast<uint32_t>(text.size()));
  out_.append(text);
  memo_.emplace(key, keep());
}

void Pickler::global(std::string_view module, std::string_view name) {
  const std::string line = str(module, "\n", name, "\n");
  if (recall("g" + line)) return;
  op(code(PickleOp::Global));
  out_ += line;
  memo_.emplace("g" + line, keep());
}

void Pickler::integer(int64_t v) {
  if (v >= 0 && v < 256) {
    op(code(PickleOp::BinInt1));
    op(static_cast<char>(v));
  } else if (v >= 0 && v < 65536) {
    op(code(PickleOp::BinInt2));
    append_number(out_, static_cast<uint16_t>(v));
  } else if (v == static_cast<int32_t>(v)) {
    op(code(PickleOp::BinInt));
    append_number(out_, static_cast<int32_t>(v));
  } else {
    op(code(PickleOp::Long1));
    op(8);
    append_number(out_, v);
  }
}

void Pickler::real(double v) {
  op(code(PickleOp::BinFloat));
  const auto bits = std::bit_cast<uint64_t>(v);
  for (int shift = 56; shift >= 0; shift -= 8) op(static_cast<char>(bits >> shift));
}

void Pickler::integers(IntList values) {
  op(code(PickleOp::Mark));
  for (const int64_t v : values) integer(v);
  op(code(PickleOp::Tuple));
}

void Pickler::storage(const Tensor& tensor) {
  const auto found = kept_storages_.find(tensor.storage().get());
  if (found != kept_storages_.end()) {
    memo_["s"] = found->second;
    recall("s");
    return;
  }
  const std::string name = name_of_storage(tensor.dtype());
  const bool is_typed = !name.empty();
  op(code(PickleOp::Mark));
  text("storage");
  if (is_typed)
    global("torch", name);
  else
    global("torch.storage", "UntypedStorage");
  text(std::to_string(storages_.size()));
  text(tensor.device().text());
  integer(static_cast<int64_t>(tensor.storage()->nbytes()) /
          (is_typed ? item_size(tensor.dtype()) : 1));
  op(code(PickleOp::Tuple));
  op(code(PickleOp::BinPersId));
  kept_storages_.emplace(tensor.storage().get(), keep());
  storages_.push_back(tensor);
}

void Pickler::tensor(const Tensor& given, bool requires_grad) {
  TAEDA_CHECK_VALUE(given.defined() && !given.is_meta() && given.storage(),
                    "cannot pickle a tensor that has no memory");
  const Tensor t = resolve_neg(resolve_conj(given.detach()));
  const bool is_typed = !name_of_storage(t.dtype()).empty();
  global("torch._utils", is_typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  op(code(PickleOp::Mark));
  storage(t);
  integer(t.storage_offset());
  integers(t.sizes());
  integers(t.strides());
  op(code(requires_grad ? PickleOp::NewTrue : PickleOp::NewFalse));
  global("collections", "OrderedDict");
  op(code(PickleOp::EmptyTuple));
  op(code(PickleOp::Reduce));
  if (!is_typed) global("torch", dtype_name(t.dtype()));
  op(code(PickleOp::Tuple));
  op(code(PickleOp::Reduce));
}

void Pickler::open_object(std::string_view module, std::string_view name) {
  global(module, name);
  op(code(PickleOp::EmptyTuple));
  op(code(PickleOp::NewObj));
  op(code(PickleOp::EmptyDict));
  op(code(PickleOp::Mark));
}

void Pickler::close_object() {
  op(code(PickleOp::SetItems));
  op(code(PickleOp::Build));
}

void Pickler::open_list() {
  op(code(PickleOp::EmptyList));
  op(code(PickleOp::Mark));
}

void Pickler::close_list() { op(code(PickleOp::Appends)); }

void Pickler::value(const dispatch::Value& v, bool requires_grad) {
  using dispatch::Value;
  // TorchScript's lists say what they are lists of.
  const auto list = [&](const char* builder, const auto& items, auto&& item) {
    global("torch.jit._pickle", builder);
    open_list();
    for (const auto& each : items) item(each);
    close_list();
    op(code(PickleOp::Tuple1));
    op(code(PickleOp::Reduce));
  };
  if (v.is_none()) return op(code(PickleOp::None));
  if (v.is<bool>()) return op(code(v.get<bool>() ? PickleOp::NewTrue : PickleOp::NewFalse));
  if (v.is<int64_t>()) return integer(v.get<int64_t>());
  if (v.is<double>()) return real(v.get<double>());
  if (v.is<std::string>()) return text(v.get<std::string>());
  if (v.is<Tensor>()) return tensor(v.get<Tensor>(), requires_grad);
  if (v.is<std::vector<int64_t>>())
    return list("build_intlist", v.get<std::vector<int64_t>>(), [&](int64_t i) { integer(i); });
  if (v.is<std::vector<double>>())
    return list("build_doublelist", v.get<std::vector<double>>(), [&](double d) { real(d); });
  if (v.is<std::vector<bool>>())
    return list("build_boollist", v.get<std::vector<bool>>(),
                [&](bool b) { op(code(b ? PickleOp::NewTrue : PickleOp::NewFalse)); });
  if (v.is<std::vector<Tensor>>())
    return list("build_tensorlist", v.get<std::vector<Tensor>>(),
                [&](const Tensor& t) { tensor(t, t.requires_grad()); });
  if (v.is<std::shared_ptr<Value::List>>()) {
    op(code(PickleOp::Mark));
    for (const Value& item : *v.get<std::shared_ptr<Value::List>>()) value(item, false);
    return op(code(PickleOp::Tuple));
  }
  fail(ErrorKind::Value, "cannot pickle ", v.kind_name());
}

std::string Pickler::finish() {
  op(code(PickleOp::Stop));
  return std::move(out_);
}

void write_storages(CheckpointWriter& archive, const Pickler& pickler) {
  const std::vector<Tensor>& storages = pickler.storages();
  for (size_t i = 0; i < storages.size(); ++i) {
    const Storage& storage = storages[i].storage();
    const Tensor bytes =
        tensor_over(storage, DType::UInt8, {static_cast<int64_t>(storage->nbytes())}, {1}, 0)
            .to(Device(DeviceType::CPU));
    archive.add(storage_entry(std::to_string(i)), bytes.data(),
                static_cast<uint64_t>(bytes.nbytes()));
  }
}

}  // namespace taeda::serialization
