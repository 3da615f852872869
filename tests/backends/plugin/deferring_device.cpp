// The interpreted device with checks of indices that the host does not wait for. It takes a device
// type that no other device of the tests has.
#include "tests/backends/plugin/interpreter.h"

EXPORT const TaedaDeviceApi* taeda_device_init(const TaedaHost* host) {
  static const TaedaDeviceApi api = [] {
    TaedaDeviceApi a = interpreter::device_api("opencl", 0);
    a.defers_checks = 1;
    return a;
  }();
  return host->version == TAEDA_DEVICE_API_VERSION ? &api : nullptr;
}
