// Fake tensors: tensors without memory that know their sizes, dtype and device.
//
// Note [Fake tensors]: a fake tensor is a meta tensor that shows another device and carries the
// Fake key and its mode. An operator on fake tensors runs its meta kernel; the mode works out the
// device of the result. While the mode is active on a thread every operator gives fake results,
// factories too, and real tensors are refused or turned into fake ones.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>

#include "taeda/dispatch/modes.h"
#include "taeda/fx/shapes/shape_env.h"

namespace taeda::fx {

class FakeMode;

class TAEDA_API FakeMode final : public dispatch::Mode {
 public:
  struct Options {
    bool allow_non_fake_inputs = false;
    // Operators that read values give symbols of `shape_env` instead of an error.
    bool allow_scalar_outputs = false;
    // With `shape_env`: so do operators whose result's size depends on values.
    bool allow_dynamic_output_shapes = true;
    IntrusivePtr<ShapeEnv> shape_env;
    // Note [Propagated values].
    bool propagates_values = false;
    // Where the result is when arguments are on two devices, one of this type; nothing: an error.
    std::optional<DeviceType> preferred_device;
  };
  explicit FakeMode(Options options) : options_(std::move(options)) {}

  // The fake of a tensor, one for each: geometry, dtype, device, requires_grad and views of the
  // same storage are kept.
  Tensor from_tensor(const Tensor& real);
  // With other sizes than the real one.
  Tensor from_tensor(const Tensor& real, SymIntList sizes, SymIntList strides, SymInt offset);
  // The one that was made before; undefined if none was.
  Tensor known_fake(const Tensor& real) const;
  // Storages of real tensors that are alive, with those of their fakes.
  std::vector<std::pair<Storage, Storage>> known_storages() const;
  // Remembers a fake that somebody else made for a tensor.
  void remember(const Tensor& real, const Tensor& fake);
  // A tensor whose values are known, fake all the same. Operators on such tensors alone are run on
  // the values too.
  Tensor from_constant(const Tensor& real);
  // The values of such a tensor while nothing wrote to it; undefined otherwise.
  Tensor constant_of(const Tensor& fake) const;

  // Note [Propagated values]: where the options ask for it a fake tensor has values beside it,
  // which operators compute along. They are those of one run: they decide what a program asks of
  // numbers that come from data, and nothing else. A fake without values makes results without.
  Tensor value_of(const Tensor& fake) const;

  void run(dispatch::Operator& op, dispatch::Stack& stack) override;

  // Called before an operator writes to a tensor, also where autograd does not count the write.
  std::function<void(const Tensor& tensor)> on_write;

  const Options& options() const { return options_; }
  void set_options(Options options) { options_ = std::move(options); }

  // A fake that `from_tensor` did not give stands for this tensor, whose memory and views are its
  // own. It is not kept alive.
  void note_real(const Tensor& fake, const Tensor& real);
  // The tensor that was noted; undefined where none was, or is there no more.
  Tensor real_of(const Tensor& fake) const;

 private:
  struct Known {
    WeakPtr<TensorImpl> key;
    Tensor value;
  };
  // Values are computed along for tensors of that many elements: numbers, in effect.
  static constexpr int64_t kLargestConstant = 1;
  struct Call;

  void forget_dead();
  void forget_constants(const Tensor& written);
  void expand_masks(dispatch::Stack& stack);
  Tensor make_fake(const Tensor& like, SymIntList sizes, SymIntList strides, SymInt offset);
  bool run_on_constants(dispatch::Operator& op, dispatch::Stack& stack);
  bool run_value_dependent(dispatch::Operator& op, dispatch::Stack& stack);
  void run_shapes(dispatch::Operator& op, dispatch::Stack& stack);
  // Note [Propagated values].
  void copy_values(const Tensor& real, const Tensor& fake);
  std::optional<dispatch::Stack> values_of(const dispatch::Stack& stack) const;
  void note_values(const dispatch::Operator& op, const dispatch::Value& fake,
                   const dispatch::Value& real);
  // The number that was read from the tensor, or the count of what was taken from it, before;
  // none once something wrote to it.
  const dispatch::Value* known_number(const dispatch::Operator& op, const Tensor& t) const;
  void remember_number(const dispatch::Operator& op, const Tensor& t, dispatch::Value number);

  Options options_;
  // By real tensor. A fake holds its mode, so the mode holds none: one that nobody keeps is made
  // anew when its tensor comes again.
  struct KnownFake {
    WeakPtr<TensorImpl> key, fake;
  };
  std::unordered_map<const TensorImpl*, KnownFake> fakes_;
  struct KnownReal {
    WeakPtr<TensorImpl> key, real;
  };
  std::unordered_map<const TensorImpl*, KnownReal> reals_;  // by fake tensor
  struct KnownStorage {
    WeakPtr<StorageImpl> key;
    Storage fake;
  };
  std::unordered_map<const StorageImpl*, KnownStorage> storages_;
  std::unordered_map<const TensorImpl*, Known> constants_;               // by fake tensor
  std::unordered_map<const TensorImpl*, Known> values_;                  // by fake tensor
  std::unordered_map<const StorageImpl*, KnownStorage> value_storages_;  // by fake storage
  struct KnownNumber {
    WeakPtr<TensorImpl> key;
    uint32_t version = 0;
    dispatch::Value number;
  };
  std::map<std::pair<const TensorImpl*, const dispatch::Operator*>, KnownNumber> numbers_;
};

inline bool is_fake(const Tensor& t) { return t.defined() && t.keys().has(Key::Fake); }
// The device that a fake tensor stands for from now on.
TAEDA_API void set_fake_device(const Tensor& t, Device device);
// The mode of a fake tensor.
TAEDA_API IntrusivePtr<FakeMode> fake_mode_of(const Tensor& t);
// The mode whose operator's meta kernel this thread is running; null outside.
TAEDA_API FakeMode* running_fake_mode();
// The innermost fake mode of this thread; null when there is none.
TAEDA_API FakeMode* active_fake_mode();

// Callbacks by which the host language raises errors of fake tensors; each must throw.
struct FakeErrors {
  void (*data_dependent)(const dispatch::Operator& op);
  void (*dynamic_shape)(const dispatch::Operator& op);
  void (*device_mismatch)(const dispatch::Operator& op, Device common, Device other);
  void (*unsupported)(const dispatch::Operator& op);
  void (*metadata_mismatch)(const std::string& message);
};
TAEDA_API void set_fake_errors(const FakeErrors& errors);

}  // namespace taeda::fx
