// Entering the forms into the operators' tables.
#include "taeda/backends/lowered/forms.h"

#include "taeda/dispatch/dispatcher.h"

namespace taeda::lowered {

void register_forms(DeviceType type) {
  const int slot = slot_of(Key::Dense, type);
  for_each_form([&](const Form& form) {
    if (!dispatch::has_registered_kernel(*form.op, slot))
      dispatch::set_kernel(*form.op, slot, form.function);
  });
}

}  // namespace taeda::lowered
