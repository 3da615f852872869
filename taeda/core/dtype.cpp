// Type promotion and the default dtype.
#include "taeda/core/default_dtype.h"

#include <atomic>

namespace taeda {
namespace {

std::atomic<DType> default_dtype_{DType::Float};
thread_local constinit std::optional<DType> default_of_thread;

bool is_wide_unsigned(DType t) {
  return t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64;
}

DType promote_integers(DType a, DType b) {
  if (is_wide_unsigned(a) || is_wide_unsigned(b))
    fail(ErrorKind::Runtime,
         "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote ", a,
         " and ", b);
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (a == DType::UInt8 || b == DType::UInt8) {
    DType other = a == DType::UInt8 ? b : a;
    return other == DType::Int8 ? DType::Int16 : other;
  }
  return item_size(a) >= item_size(b) ? a : b;
}

DType promote_floats(DType a, DType b) {
  if (item_size(a) == item_size(b)) return DType::Float;  // half with bfloat16
  return item_size(a) > item_size(b) ? a : b;
}

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  TAEDA_CHECK(a != DType::Undefined && b != DType::Undefined, "promote_types: undefined dtype");
  TAEDA_CHECK(!is_float8(a) && !is_float8(b),
              "Promotion for Float8 Types is not supported, attempted to promote ", a, " and ", b);
  if (is_complex(a) || is_complex(b)) {
    if (is_wide_unsigned(a) || is_wide_unsigned(b)) return promote_integers(a, b);  // refuses
    const bool is_double = a == DType::ComplexDouble || b == DType::ComplexDouble ||
                           a == DType::Double || b == DType::Double;
    return is_double ? DType::ComplexDouble : DType::ComplexFloat;
  }
  if (is_floating(a) && is_floating(b)) return promote_floats(a, b);
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  return promote_integers(a, b);
}

DType default_dtype() {
  return default_of_thread ? *default_of_thread : default_dtype_.load(std::memory_order_relaxed);
}

void set_default_dtype(DType t) {
  TAEDA_CHECK_TYPE(is_floating(t) && !is_float8(t),
                   "only floating-point types are supported as the default type");
  if (default_of_thread)
    default_of_thread = t;
  else
    default_dtype_.store(t);
}

WithDefaultDType::WithDefaultDType(DType t) : saved_(default_of_thread) { default_of_thread = t; }
WithDefaultDType::~WithDefaultDType() { default_of_thread = saved_; }

}  // namespace taeda
