/* The device seam: one versioned C struct that a device fills. See docs/add_a_device.md.
 *
 * Every function gets `context` from the struct and returns NULL, or a message that stays valid
 * until the thread's next call into the device. Functions marked "optional" may be NULL; the
 * default is written beside them. Functions are called from any thread. Pointers that `alloc`
 * returns are addresses on the device: the host adds offsets to them and never reads through them.
 * Streams, events, modules and kernels are handles of the device's own; a null stream is the
 * device's default stream, on which work runs in order. */
#ifndef TAEDA_BACKENDS_DEVICE_API_H
#define TAEDA_BACKENDS_DEVICE_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows by one when a function changes its meaning; new functions are appended and show in `size`.
 */
#define TAEDA_DEVICE_API_VERSION 1u

typedef const char* TaedaStatus; /* NULL: success */

typedef struct TaedaDeviceProperties {
  char name[128];
  uint64_t total_memory;       /* bytes; 0: unknown */
  uint32_t compute_units;      /* 0: unknown */
  uint32_t max_threads;        /* threads of one group that `launch` takes; 0: unknown */
  uint32_t warp_size;          /* 0: unknown */
  uint32_t has_unified_memory; /* the host may read device pointers */
} TaedaDeviceProperties;

typedef struct TaedaLaunch {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
} TaedaLaunch;

typedef struct TaedaDeviceApi {
  uint32_t version; /* TAEDA_DEVICE_API_VERSION */
  uint32_t size;    /* sizeof(TaedaDeviceApi) of the header the device was built with */
  const char* name; /* shown in messages */
  uint32_t
      slot; /* 1, 2 or 3: which PrivateUse device type; 0: the type that `name` names ("cuda") */
  void* context;

  /* ---- memory: required ---- */
  TaedaStatus (*alloc)(void* context, int32_t device, size_t bytes, void** pointer);
  TaedaStatus (*free)(void* context, int32_t device, void* pointer, size_t bytes);
  /* Copies are ordered by the stream and are finished on return when it is null. */
  TaedaStatus (*copy_to_device)(void* context, int32_t device, void* dst, const void* src,
                                size_t bytes, void* stream);
  TaedaStatus (*copy_to_host)(void* context, int32_t device, void* dst, const void* src,
                              size_t bytes, void* stream);

  /* ---- memory: optional ---- */
  /* Default: by way of host memory. */
  TaedaStatus (*copy_on_device)(void* context, int32_t dst_device, void* dst, int32_t src_device,
                                const void* src, size_t bytes, void* stream);
  /* Default: a copy from host memory. */
  TaedaStatus (*set_memory)(void* context, int32_t device, void* dst, int value, size_t bytes,
                            void* stream);
  /* Default: both unknown, 0. */
  TaedaStatus (*memory_info)(void* context, int32_t device, uint64_t* free_bytes,
                             uint64_t* total_bytes);

  /* ---- devices: optional ---- */
  /* Default: 1. */
  TaedaStatus (*device_count)(void* context, int32_t* count);
  /* Default: kept by the host, one number per thread, 0 at first. */
  TaedaStatus (*current_device)(void* context, int32_t* device);
  TaedaStatus (*set_device)(void* context, int32_t device);
  /* Default: the name alone. */
  TaedaStatus (*properties)(void* context, int32_t device, TaedaDeviceProperties* out);
  /* Whether tensors of a dtype, named as in PyTorch ("float32"), may live here. Default: yes. */
  TaedaStatus (*supports)(void* context, int32_t device, const char* dtype, int* yes);
  /* Waits for everything. Default: nothing is ever pending. */
  TaedaStatus (*synchronize)(void* context, int32_t device);

  /* ---- streams and events: optional, all or none of each group ---- */
  /* Default: the null stream is the only one. */
  TaedaStatus (*stream_create)(void* context, int32_t device, int32_t priority, void** stream);
  TaedaStatus (*stream_destroy)(void* context, int32_t device, void* stream);
  TaedaStatus (*stream_synchronize)(void* context, int32_t device, void* stream);
  /* Default: an event is the host's clock after `synchronize`. */
  TaedaStatus (*event_create)(void* context, int32_t device, void** event);
  TaedaStatus (*event_destroy)(void* context, int32_t device, void* event);
  TaedaStatus (*event_record)(void* context, int32_t device, void* event, void* stream);
  TaedaStatus (*event_wait)(void* context, int32_t device, void* event,
                            void* stream); /* null stream: the host waits */
  TaedaStatus (*event_elapsed)(void* context, int32_t device, void* start, void* end,
                               double* milliseconds);

  /* ---- generated code: optional, both or none; default: no compiled kernels on this device ----
   */
  /* `source` is written in the device's `dialect`; `entry` names the function in it. See
   * docs/bring_up_a_device.md for what each dialect's functions take. */
  TaedaStatus (*compile)(void* context, int32_t device, const char* dialect, const char* source,
                         const char* entry, void** kernel);
  TaedaStatus (*launch)(void* context, int32_t device, void* kernel, const TaedaLaunch* shape,
                        void** arguments, uint32_t num_arguments, void* stream);

  /* ---- random numbers: optional; default: random operators draw on the CPU ---- */
  TaedaStatus (*seed)(void* context, int32_t device, uint64_t seed);

  /* ---- generated code, continued ---- */
  /* The language of generated kernels: "c++", "cuda", or "ir" for the text of the kernel IR. NULL:
   * "c++". */
  const char* dialect;
  /* `compile` in two halves, both or none, so that the library keeps the binary on disk: `build`
   * hands it to `give`, once; `load` makes a kernel of it. Default: `compile` at every start. */
  TaedaStatus (*build)(void* context, int32_t device, const char* dialect, const char* source,
                       void (*give)(void* to, const void* bytes, size_t size), void* to);
  TaedaStatus (*load)(void* context, int32_t device, const void* bytes, size_t size,
                      const char* entry, void** kernel);
  /* What binaries depend on beside source, dialect and the device's name: the compiler's version
   * and options. Binaries on disk of another text are not used. NULL: nothing. */
  const char* compiler;
  /* Nonzero: `launch` returns before its kernel has run, so the host does not wait for the check of
   * an index. The error of one out of range is raised by the next call that waits for the device (a
   * copy to the host, `synchronize`), and what was computed since then has no meaning. 0: operators
   * raise it themselves and write nothing. */
  uint32_t defers_checks;
} TaedaDeviceApi;

/* What the library gives a plug-in. */
typedef struct TaedaHost {
  uint32_t version;
  uint32_t size;
  const char* library_version;
  void (*warn)(const char* message);
} TaedaHost;

/* The one symbol a plug-in exports; the struct must stay valid for ever. NULL: the plug-in cannot
 * run here. */
typedef const TaedaDeviceApi* (*TaedaDeviceInit)(const TaedaHost* host);
#define TAEDA_DEVICE_INIT_NAME "taeda_device_init"

#ifdef __cplusplus
}
#endif

#endif
