// TAEDA_API marks what libtaeda.so exports; everything else is compiled with hidden visibility.
#pragma once

// On functions and variables: callable from other libraries. On classes: also share the vtable and
// type information, which every class that is thrown, caught or dynamic_cast across libraries
// needs.
#define TAEDA_API __attribute__((visibility("default")))

// On a member of an exported class: keep this one inside.
#define TAEDA_HIDDEN __attribute__((visibility("hidden")))

// On a small thread-local variable that every call reads: lies in static thread-local storage, so
// reading it is one load, even where the library is loaded late. One such variable moves all of the
// library's thread-local memory there, and room for libraries that are loaded late is little: large
// per-thread data belongs behind a pointer.
#define TAEDA_STATIC_TLS __attribute__((tls_model("initial-exec")))
