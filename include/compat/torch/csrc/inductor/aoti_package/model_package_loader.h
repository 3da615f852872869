// torch::inductor::AOTIModelPackageLoader over taeda/package.h.
#pragma once

#include <unordered_map>

#include "ATen/ATen.h"
#include "taeda/package.h"

namespace torch::inductor {

class AOTIModelPackageLoader {
 public:
  // A package holds one model. Runs take memory of their own, so any number of threads may run it.
  explicit AOTIModelPackageLoader(const std::string& model_package_path,
                                  const std::string& model_name = "model",
                                  bool run_single_threaded = false, size_t num_runners = 1,
                                  ::c10::DeviceIndex device_index = -1)
      : package_(::taeda::load_package(model_package_path)) {
    (void)run_single_threaded, (void)num_runners, (void)device_index;
    if (model_name != "model")
      ::taeda::fail(::taeda::ErrorKind::Runtime, "Failed to find model ", model_name, " in ",
                    model_package_path, "; a package holds one model, called model");
  }

  std::vector<::at::Tensor> run(const std::vector<::at::Tensor>& inputs,
                                void* stream_handle = nullptr) {
    (void)stream_handle;
    return package_(inputs);
  }
  std::vector<::at::Tensor> boxed_run(std::vector<::at::Tensor>&& inputs,
                                      void* stream_handle = nullptr) {
    (void)stream_handle;
    return package_(std::move(inputs));
  }

  std::unordered_map<std::string, std::string> get_metadata() {
    return {package_.metadata().begin(), package_.metadata().end()};
  }
  // The structures of arguments and results, as Python wrote them.
  std::vector<std::string> get_call_spec() {
    const auto& notes = package_.program().parts().notes;
    std::vector<std::string> specs;
    for (const char* name : {"in_spec", "out_spec"})
      if (const auto found = notes.find(name); found != notes.end()) specs.push_back(found->second);
    return specs;
  }
  std::vector<std::string> get_constant_fqns() {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : package_.program().parts().state) names.push_back(name);
    return names;
  }
  void load_constants(std::unordered_map<std::string, ::at::Tensor>& constants_map,
                      bool use_inactive, bool check_full_update) {
    (void)use_inactive;
    package_.load_constants({constants_map.begin(), constants_map.end()}, check_full_update);
  }

 private:
  ::taeda::Package package_;
};

}  // namespace torch::inductor
