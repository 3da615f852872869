// A device of the tests that needs no compiler: it runs the text of the kernel IR by tiles.
#include "tests/backends/plugin/interpreter.h"

EXPORT const TaedaDeviceApi* taeda_device_init(const TaedaHost* host) {
  static const TaedaDeviceApi api = interpreter::device_api("interpreted", 3);
  return host->version == TAEDA_DEVICE_API_VERSION ? &api : nullptr;
}
