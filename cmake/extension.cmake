# _C: the Python bindings, in build/python/taeda beside links to the package's Python files.
file(GLOB_RECURSE extension_sources CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/python/src/*.cpp ${CMAKE_SOURCE_DIR}/python/interop/*.cpp)
set(extension_generated ${TAEDA_GENERATED})
list(FILTER extension_generated INCLUDE REGEX "^${TAEDA_GENERATED_DIR}/python/.*\\.cpp$")

if(extension_sources)
  Python_add_library(_C MODULE WITH_SOABI ${extension_sources} ${extension_generated})
  target_link_libraries(_C PRIVATE taeda)
  taeda_isa_definitions(_C ${TAEDA_BASELINE_ISA})
  add_dependencies(_C taeda_generated)
  target_precompile_headers(_C PRIVATE ${CMAKE_SOURCE_DIR}/python/interop/python.h
    ${TAEDA_GENERATED_DIR}/taeda/ops/functions.h)
  target_compile_options(_C PRIVATE -fpch-preprocess)
  # Folders of several Python types stay apart: the tables of types have the same names.
  set(extension_grouped ${extension_sources})
  list(FILTER extension_grouped INCLUDE REGEX "/python/src/(args|dispatch|tensor)/")
  taeda_compile_together(_C ${extension_grouped} ${extension_generated})
  set_target_properties(_C PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${TAEDA_PACKAGE_DIR}
    INSTALL_RPATH "$ORIGIN")
endif()

# _frames: the evaluator of Python frames; nothing of the library is in it (tools/build_frames.py
# builds it alone for other versions of CPython).
file(GLOB frames_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/frames/module.cpp
  ${CMAKE_SOURCE_DIR}/taeda/dynamo/*/*.c ${CMAKE_SOURCE_DIR}/taeda/dynamo/*/*.cpp)
if(Python_VERSION VERSION_GREATER_EQUAL 3.14)
  set(frames_sources ${CMAKE_SOURCE_DIR}/python/frames/refused.cpp)
endif()
Python_add_library(_frames MODULE WITH_SOABI ${frames_sources})
target_include_directories(_frames PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_features(_frames PRIVATE c_std_11 cxx_std_20)
set_target_properties(_frames PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${TAEDA_PACKAGE_DIR}
  C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden)

add_custom_target(taeda_package ALL
  COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/link_package.py
    ${CMAKE_SOURCE_DIR}/python/taeda ${TAEDA_GENERATED_DIR}/python/taeda ${TAEDA_PACKAGE_DIR}
  COMMENT "Linking the Python package"
  VERBATIM)
add_dependencies(taeda_package taeda_generated)
