// Compares the memory of arguments before and after a call.
#include "taeda/fx/hidden_writes.h"

#include <cstring>
#include <unordered_set>

#include "taeda/fx/bind.h"

namespace taeda::fx {

HiddenWrites::HiddenWrites(const dispatch::Operator& op, const dispatch::Stack& arguments)
    : op_(op) {
  const bool is_custom = std::string_view(op.name).find("::") != std::string_view::npos;
  if (!is_custom) return;
  const std::vector<dispatch::Argument>& schema = schema_of(op).arguments;
  std::unordered_set<const StorageImpl*> written;
  for (size_t i = 0; i < schema.size(); ++i)
    if (schema[i].is_written)
      for_each_tensor(arguments[i], [&](const Tensor& t) { written.insert(t.storage().get()); });
  for (size_t i = 0; i < schema.size(); ++i)
    for_each_tensor(arguments[i], [&](const Tensor& t) {
      // The memory of other devices is not the host's to read.
      const Storage& storage = t.storage();
      if (!storage || !storage->device().is_cpu() || written.count(storage.get())) return;
      const auto* bytes = static_cast<const std::byte*>(storage->data());
      read_.push_back({i, t, std::vector<std::byte>(bytes, bytes + t.storage()->nbytes())});
    });
}

void HiddenWrites::check_none() const {
  for (const Read& r : read_) {
    const StorageImpl& now = *r.tensor.storage();
    const bool is_same =
        now.nbytes() == r.before.size() &&
        (r.before.empty() || std::memcmp(now.data(), r.before.data(), r.before.size()) == 0);
    TAEDA_CHECK(is_same, op_.full_name(), ": for argument '",
                schema_of(op_).arguments[r.argument].name, "': the operator's schema ", op_.schema,
                " specified that the operator does not mutate the argument, but this seems to be "
                "empirically wrong. Write 'Tensor(a!)' in the schema, or name the argument in "
                "mutates_args.");
  }
}

}  // namespace taeda::fx
