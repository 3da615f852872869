# libtaeda.so: everything under taeda/ that needs no Python and is no plug-in backend.
file(GLOB_RECURSE taeda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/taeda/*.cpp)
list(FILTER taeda_sources EXCLUDE REGEX "/taeda/(python|dynamo)/")
list(FILTER taeda_sources EXCLUDE REGEX "/taeda/backends/(cuda|opencl)/")
set(taeda_generated_sources ${TAEDA_GENERATED})
list(FILTER taeda_generated_sources INCLUDE REGEX "^${TAEDA_GENERATED_DIR}/taeda/.*\\.cpp$")
list(APPEND taeda_sources ${taeda_generated_sources})
taeda_split_isa_sources(taeda_sources taeda_isa_objects)

# What runs once per module, file or kernel of a device.
set(taeda_seldom_sources ${taeda_sources})
list(FILTER taeda_seldom_sources INCLUDE REGEX "/taeda/(backends/lowered|data|export|nn)/.+\\.cpp$")
list(REMOVE_ITEM taeda_sources ${taeda_seldom_sources})

# Compiled with the light options: rules, nodes and entries of operators and what calls the CPU's
# kernels, which are many and short, optimizers, which call operators, and what runs once per graph
# (graphs, symbols, compilers, the kernel layer but its interpreter's loops). Sums, products and
# views of small tensors are all overhead: they keep -O2.
set(taeda_light_generated
  "autograd/[a-z_]+_autograd|backends/cpu/[a-z_]+_kernels|ops/[a-z_]+_table")
set(taeda_light_folders "aot|fx|inductor|kernel|ops/[a-z_]+|optim|symbolic")
set(taeda_light_sources ${taeda_sources})
list(FILTER taeda_light_sources INCLUDE REGEX
  "/taeda/((${taeda_light_folders})/.+|${taeda_light_generated})\\.cpp$")
list(FILTER taeda_light_sources EXCLUDE REGEX
  "/ops/arithmetic/|/arithmetic_kernels|${CMAKE_SOURCE_DIR}/taeda/ops/view/|/kernel/interpret/")
set(interpreter_planners ${taeda_sources})
list(FILTER interpreter_planners INCLUDE REGEX
  "/kernel/interpret/(body_program|index_program|tile_placer|unit_planner)\\.cpp$")
list(APPEND taeda_light_sources ${interpreter_planners})
list(REMOVE_ITEM taeda_sources ${taeda_light_sources})

# The order is the linker's: of an inline function that several objects hold it keeps the first, so
# the baseline's code stands before that of instruction sets which the machine may lack.
add_library(taeda_baseline OBJECT ${taeda_sources})
add_library(taeda_light OBJECT ${taeda_light_sources})
add_library(taeda_seldom OBJECT ${taeda_seldom_sources})
foreach(objects taeda_baseline taeda_light taeda_seldom)
  taeda_isa_definitions(${objects} ${TAEDA_BASELINE_ISA})
endforeach()
set(taeda_objects taeda_baseline taeda_light taeda_seldom ${taeda_isa_objects})
add_library(taeda SHARED)
foreach(objects IN LISTS taeda_objects)
  target_include_directories(${objects} PRIVATE ${CMAKE_SOURCE_DIR} ${TAEDA_GENERATED_DIR})
  add_dependencies(${objects} taeda_generated)
  target_sources(taeda PRIVATE $<TARGET_OBJECTS:${objects}>)
endforeach()

# Nearly every source reads these; precompiled they save more than a second each.
target_precompile_headers(taeda_baseline PRIVATE
  <memory> <optional> <string> <tuple> <variant> <vector>
  ${CMAKE_SOURCE_DIR}/taeda/base/precompiled_text.h
  ${TAEDA_GENERATED_DIR}/taeda/ops/functions.h ${CMAKE_SOURCE_DIR}/taeda/dispatch/operator.h)
target_compile_options(taeda_baseline PRIVATE -fpch-preprocess)
target_precompile_headers(taeda_light REUSE_FROM taeda_baseline)
target_compile_options(taeda_light PRIVATE -fpch-preprocess ${TAEDA_LIGHT_OPTIONS})
target_precompile_headers(taeda_seldom REUSE_FROM taeda_baseline)
target_compile_options(taeda_seldom PRIVATE -fpch-preprocess ${TAEDA_SELDOM_OPTIONS})

# Small sources are compiled together: by folders where they are written by hand.
set(number 0)
foreach(source IN LISTS taeda_sources taeda_light_sources)
  if(NOT source MATCHES "/gen/" AND source MATCHES "/ops/[a-z_]+/[a-z_]+\\.cpp$")
    math(EXPR group "${number} / 8")
    math(EXPR number "${number} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP operators_${group})
  elseif(source MATCHES "/ops/[a-z_]+/symbolic\\.cpp$")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP symbolic)
  endif()
endforeach()
set(grouped_sources "")
set(number 0)
foreach(source IN LISTS taeda_sources)
  if(source MATCHES "/gen/taeda/backends/cpu/[a-z_]+_tiles\\.cpp$")
    math(EXPR group "${number} / 4")
    math(EXPR number "${number} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP tiles_${group})
  elseif(NOT source MATCHES "/gen/")
    list(APPEND grouped_sources ${source})
  endif()
endforeach()
taeda_compile_together(taeda_baseline 8 ${grouped_sources})

# The two generated sources of a family make the same templates.
set(families "")
foreach(source IN LISTS taeda_light_sources taeda_seldom_sources)
  if(source MATCHES "/gen/taeda/backends/lowered/[a-i]")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP lowered_forms_1)
  elseif(source MATCHES "/gen/taeda/backends/lowered/")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP lowered_forms_2)
  elseif(source MATCHES "/gen/.*/([a-z_]+)(_autograd|/operators)\\.cpp$")
    list(FIND families ${CMAKE_MATCH_1} number)
    if(number EQUAL -1)
      list(LENGTH families number)
      list(APPEND families ${CMAKE_MATCH_1})
    endif()
    math(EXPR group "${number} / 4")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP families_${group})
  endif()
endforeach()
set(grouped_sources ${taeda_light_sources})
list(FILTER grouped_sources EXCLUDE REGEX "/kernel/prelude\\.cpp$")
taeda_compile_together(taeda_light 8 ${grouped_sources})
taeda_compile_together(taeda_seldom 8 ${taeda_seldom_sources})

add_library(Taeda::taeda ALIAS taeda)
target_include_directories(taeda INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${TAEDA_GENERATED_DIR}>)
target_compile_features(taeda INTERFACE cxx_std_20)
find_package(Threads REQUIRED)
target_link_libraries(taeda PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(taeda PRIVATE -Wl,-Bsymbolic-functions -Wl,--no-undefined)

# The assembler takes headers into this file, which the compiler's list of what it read leaves out.
file(GLOB kernel_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/taeda/kernel/*.h
  ${CMAKE_SOURCE_DIR}/taeda/kernel/called/*.h)
set_source_files_properties(${CMAKE_SOURCE_DIR}/taeda/kernel/prelude.cpp
  PROPERTIES OBJECT_DEPENDS "${kernel_headers}")

# OpenMP stays inside one file: everything else calls parallel_for.
set_source_files_properties(${CMAKE_SOURCE_DIR}/taeda/base/parallel.cpp
  PROPERTIES COMPILE_OPTIONS -fopenmp SKIP_PRECOMPILE_HEADERS ON)
target_link_options(taeda PRIVATE -fopenmp)

# The library lies beside the extension, in the build folder as in the wheel.
set(TAEDA_PACKAGE_DIR ${CMAKE_BINARY_DIR}/python/taeda)
set_target_properties(taeda PROPERTIES
  LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${TAEDA_PACKAGE_DIR})
