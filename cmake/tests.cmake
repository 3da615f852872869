# GoogleTest binaries: one for each folder directly under tests/ that holds C++ files.
if(CMAKE_CROSSCOMPILING)
  # A cross build has no GoogleTest of its architecture; the distribution ships the sources.
  set(BUILD_GMOCK OFF)
  set(CMAKE_WARN_DEPRECATED OFF)
  add_subdirectory(/usr/src/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
else()
  find_package(GTest REQUIRED)
endif()

# Emulated tests are some thirty times slower.
set(test_seconds 300)
if(CMAKE_CROSSCOMPILING)
  set(test_seconds 2400)
endif()

# What every test reads, compiled once.
file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cpp "// Holds the precompiled headers of the tests.\n")
add_executable(test_headers ${CMAKE_BINARY_DIR}/test_headers.cpp)
target_link_libraries(test_headers PRIVATE taeda GTest::gtest_main)
taeda_isa_definitions(test_headers ${TAEDA_BASELINE_ISA})
add_dependencies(test_headers taeda_generated)
target_precompile_headers(test_headers PRIVATE <gtest/gtest.h>
  ${CMAKE_SOURCE_DIR}/taeda/base/precompiled_text.h
  ${TAEDA_GENERATED_DIR}/taeda/ops/functions.h ${CMAKE_SOURCE_DIR}/taeda/dispatch/dispatcher.h)
# Tests are compiled more often than they run, and what they exercise is in the library: without
# optimization they take half the time. The reference of the matrix products computes for minutes
# without it, and those of blocks fill large operands.
set(test_options -fpch-preprocess -O0 -DTD_CALLED_FUNCTIONS -Wno-psabi)
set_source_files_properties(${CMAKE_SOURCE_DIR}/tests/backends/cpu/gemm_test.cpp
  ${CMAKE_SOURCE_DIR}/tests/backends/cpu/gemm_blocks_test.cpp
  PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
target_compile_options(test_headers PRIVATE ${test_options})

file(GLOB test_folders RELATIVE ${CMAKE_SOURCE_DIR}/tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*)
# Sources there are built by the tests themselves.
list(REMOVE_ITEM test_folders package python)
foreach(folder IN LISTS test_folders)
  file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cpp)
  list(FILTER test_sources EXCLUDE REGEX "/plugin/")
  set(test_generated ${TAEDA_GENERATED})
  list(FILTER test_generated INCLUDE REGEX "^${TAEDA_GENERATED_DIR}/tests/${folder}/.*\\.cpp$")
  if(NOT test_sources AND NOT test_generated)
    continue()
  endif()
  add_executable(test_${folder} ${test_sources} ${test_generated})
  target_link_libraries(test_${folder} PRIVATE taeda GTest::gtest_main)
  taeda_isa_definitions(test_${folder} ${TAEDA_BASELINE_ISA})
  add_dependencies(test_${folder} taeda_generated)
  target_precompile_headers(test_${folder} REUSE_FROM test_headers)
  taeda_compile_together(test_${folder} 8 ${test_sources})
  target_compile_options(test_${folder} PRIVATE ${test_options})
  set_target_properties(test_${folder} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${folder} COMMAND test_${folder} --gtest_brief=1)
  set_tests_properties(${folder} PROPERTIES TIMEOUT ${test_seconds})
endforeach()

# Device plug-ins that the tests load by path, beside the binaries.
file(GLOB plugin_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/backends/plugin/*.cpp)
foreach(source IN LISTS plugin_sources)
  cmake_path(GET source STEM name)
  add_library(${name} MODULE ${source})
  target_link_libraries(${name} PRIVATE taeda)
  taeda_isa_definitions(${name} ${TAEDA_BASELINE_ISA})
  add_dependencies(${name} taeda_generated)
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(test_backends ${name})
endforeach()
