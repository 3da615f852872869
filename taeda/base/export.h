// TAEDA_API marks what libtaeda.so exports; everything else is compiled with hidden visibility.
#pragma once

// On functions and variables: callable from other libraries. On classes: also share the vtable and
// type information, which every class that is thrown, caught or dynamic_cast across libraries
// needs.
#define TAEDA_API __attribute__((visibility("default")))

// On a member of an exported class: keep this one inside.
#define TAEDA_HIDDEN __attribute__((visibility("hidden")))
