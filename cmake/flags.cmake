# Compiler flags shared by every target.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Every binary finds its libraries relative to itself, so a build folder can be moved.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# Release is -O2: -O3 costs build time and size, and the kernels ask for what they need themselves.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# Code that is much and runs shortly is compiled with the light options, which take two thirds of the
# time, and code that runs seldom with -Og, which takes half: it leaves values in memory.
set(inlining -finline-small-functions -findirect-inlining -fpartial-inlining)
set(TAEDA_LIGHT_OPTIONS -O1 ${inlining})
set(TAEDA_SELDOM_OPTIONS -Og ${inlining} -Wno-maybe-uninitialized)

# -ffp-contract=off: eager and generated code agree bit for bit only if fma is used where it is
# written. -fno-semantic-interposition: exported functions may be inlined and called directly.
# -ffile-prefix-map: __FILE__ in an error message is a path in the repository.
add_compile_options(-ffp-contract=off -fno-math-errno -fno-semantic-interposition -Wall -Wextra
  -ffile-prefix-map=${CMAKE_BINARY_DIR}/= -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
  "$<$<COMPILE_LANGUAGE:CXX>:-Wno-psabi>")

# GCC collects its garbage from 128 MiB of heap on; later is a tenth faster, and a compile stays below
# a gigabyte.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("SHELL:--param ggc-min-heapsize=524288")
endif()

if(TAEDA_SANITIZE)
  # vptr checks need the RTTI of classes that stay hidden inside libtaeda.so.
  set(sanitizers -fsanitize=address,undefined -fno-sanitize=vptr
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  # -O1 halves the build; the tests of kernels run long enough on what it gives.
  add_compile_options(${sanitizers} -g1 -O1)
  add_link_options(${sanitizers})
endif()

find_program(TAEDA_CCACHE ccache)
if(TAEDA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/ccache.sh ${TAEDA_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/ccache.sh ${TAEDA_CCACHE})
endif()
