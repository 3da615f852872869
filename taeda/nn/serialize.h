// save and load: tensors, lists of tensors, models and optimizers in files and streams.
//
//   taeda::save(net, "net.pt");
//   taeda::load(net, "net.pt");        // into a model of the same structure
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "taeda/nn/module_holder.h"
#include "taeda/serialization/archive.h"
#include "taeda/serialization/checkpoint.h"

namespace taeda {
namespace serialization {

// Modules and optimizers, which have `save` and `load` of their own.
template <class T>
  requires requires(const T& value, OutputArchive& archive) { value.save(archive); }
OutputArchive& operator<<(OutputArchive& archive, const T& value) {
  value.save(archive);
  return archive;
}
template <class T>
  requires requires(T& value, InputArchive& archive) { value.load(archive); }
InputArchive& operator>>(InputArchive& archive, T& value) {
  value.load(archive);
  return archive;
}
template <class M>
OutputArchive& operator<<(OutputArchive& archive, const std::shared_ptr<M>& module) {
  TAEDA_CHECK(module != nullptr, "Cannot serialize empty module");
  return archive << *module;
}
template <class M>
InputArchive& operator>>(InputArchive& archive, const std::shared_ptr<M>& module) {
  TAEDA_CHECK(module != nullptr, "Cannot load into an empty module");
  return archive >> *module;
}
template <class M>
OutputArchive& operator<<(OutputArchive& archive, const nn::ModuleHolder<M>& holder) {
  return archive << holder.ptr();
}
template <class M>
InputArchive& operator>>(InputArchive& archive, const nn::ModuleHolder<M>& holder) {
  return archive >> holder.ptr();
}
inline OutputArchive& operator<<(OutputArchive& archive, const Tensor& tensor) {
  archive.write("0", tensor);
  return archive;
}
inline InputArchive& operator>>(InputArchive& archive, Tensor& tensor) {
  archive.read("0", tensor);
  return archive;
}

}  // namespace serialization

using serialization::pickle_load;
using serialization::pickle_save;

template <class Value, class... To>
void save(const Value& value, To&&... to) {
  serialization::OutputArchive archive;
  archive << value;
  archive.save_to(std::forward<To>(to)...);
}

template <class... To>
void save(const std::vector<Tensor>& tensors, To&&... to) {
  serialization::OutputArchive archive;
  for (size_t i = 0; i < tensors.size(); ++i) archive.write(std::to_string(i), tensors[i]);
  archive.save_to(std::forward<To>(to)...);
}

// From a file's name, a stream, or memory and its size; a device may follow.
template <class Value, class... From>
void load(Value& value, From&&... from) {
  serialization::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  archive >> value;
}

template <class... From>
void load(std::vector<Tensor>& tensors, From&&... from) {
  serialization::InputArchive archive;
  archive.load_from(std::forward<From>(from)...);
  for (size_t i = 0;; ++i) {
    Tensor tensor;
    if (!archive.try_read(std::to_string(i), tensor)) break;
    tensors.push_back(std::move(tensor));
  }
}

}  // namespace taeda
