// Dtypes, devices and layouts by the short names of PyTorch's C++ interface: kFloat, kCPU.
#pragma once

#include "taeda/core/device.h"
#include "taeda/core/dtype.h"

namespace taeda {

inline constexpr DType kByte = DType::UInt8, kChar = DType::Int8, kShort = DType::Int16,
                       kInt = DType::Int32, kLong = DType::Int64, kHalf = DType::Half,
                       kFloat = DType::Float, kDouble = DType::Double, kBool = DType::Bool,
                       kBFloat16 = DType::BFloat16, kComplexFloat = DType::ComplexFloat,
                       kComplexDouble = DType::ComplexDouble, kFloat8_e4m3fn = DType::Float8E4M3,
                       kFloat8_e5m2 = DType::Float8E5M2;
inline constexpr DType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt,
                       kInt64 = kLong, kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble,
                       kUInt16 = DType::UInt16, kUInt32 = DType::UInt32, kUInt64 = DType::UInt64;
inline constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA,
                            kMeta = DeviceType::Meta, kPrivateUse1 = DeviceType::PrivateUse1;
inline constexpr Layout kStrided = Layout::Strided;

}  // namespace taeda
