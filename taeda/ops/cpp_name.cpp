// Names of C++ types.
#include "taeda/ops/cpp_name.h"

namespace taeda {

const char* cpp_name(DType t) {
  switch (t) {
    case DType::UInt8: return "unsigned char";
    case DType::Int8: return "signed char";
    case DType::Int16: return "short int";
    case DType::Int32: return "int";
    case DType::Int64: return "long int";
    case DType::Half: return "c10::Half";
    case DType::Float: return "float";
    case DType::Double: return "double";
    case DType::ComplexFloat: return "c10::complex<float>";
    case DType::ComplexDouble: return "c10::complex<double>";
    case DType::Bool: return "bool";
    case DType::BFloat16: return "c10::BFloat16";
    case DType::Float8E4M3: return "c10::Float8_e4m3fn";
    case DType::Float8E5M2: return "c10::Float8_e5m2";
    case DType::UInt16: return "short unsigned int";
    case DType::UInt32: return "unsigned int";
    default: return "long unsigned int";
  }
}

}  // namespace taeda
