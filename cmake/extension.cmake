# _C: the Python bindings, in build/python/taeda beside links to the package's Python files.
file(GLOB_RECURSE extension_sources CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/python/src/*.cpp ${CMAKE_SOURCE_DIR}/python/interop/*.cpp
  ${CMAKE_SOURCE_DIR}/taeda/dynamo/evaluator/*.cpp ${CMAKE_SOURCE_DIR}/taeda/dynamo/capture/*.cpp)
file(GLOB dynamo_frames CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/taeda/dynamo/frames/*.c)
set(extension_generated ${TAEDA_GENERATED})
list(FILTER extension_generated INCLUDE REGEX "^${TAEDA_GENERATED_DIR}/python/.*\\.cpp$")

if(extension_sources)
  # Generated functions read arguments and call: what they call is compiled with -O2. Graphs and
  # symbols are as light as in the library.
  set(extension_light ${extension_sources})
  list(FILTER extension_light INCLUDE REGEX "/python/src/(fx|shapes)/")
  list(REMOVE_ITEM extension_sources ${extension_light})
  add_library(taeda_extension OBJECT ${extension_sources})
  add_library(taeda_bindings OBJECT ${extension_generated} ${extension_light})
  foreach(objects taeda_extension taeda_bindings)
    target_link_libraries(${objects} PRIVATE taeda Python::Module)
    taeda_isa_definitions(${objects} ${TAEDA_BASELINE_ISA})
    add_dependencies(${objects} taeda_generated)
    # The lock of the interpreter guards local statics. One of their own would lock against it: a
    # static that imports a module gives the interpreter's lock away while it is made.
    target_compile_options(${objects} PRIVATE -fpch-preprocess -fno-threadsafe-statics)
  endforeach()
  target_compile_options(taeda_bindings PRIVATE ${TAEDA_LIGHT_OPTIONS})
  target_precompile_headers(taeda_extension PRIVATE ${CMAKE_SOURCE_DIR}/python/interop/python.h
    ${CMAKE_SOURCE_DIR}/taeda/base/precompiled_text.h
    ${TAEDA_GENERATED_DIR}/taeda/ops/functions.h)
  target_precompile_headers(taeda_bindings REUSE_FROM taeda_extension)
  taeda_compile_together(taeda_extension 4 ${extension_sources})
  taeda_compile_together(taeda_bindings 8 ${extension_generated} ${extension_light})

  # The seam to CPython's frames is C.
  add_library(taeda_frames OBJECT ${dynamo_frames})
  target_include_directories(taeda_frames PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(taeda_frames PRIVATE Python::Module)
  target_compile_features(taeda_frames PRIVATE c_std_11)
  set_target_properties(taeda_frames PROPERTIES POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden)

  Python_add_library(_C MODULE WITH_SOABI
    $<TARGET_OBJECTS:taeda_extension> $<TARGET_OBJECTS:taeda_bindings>
    $<TARGET_OBJECTS:taeda_frames>)
  target_link_libraries(_C PRIVATE taeda)
  set_target_properties(_C PROPERTIES LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${TAEDA_PACKAGE_DIR} INSTALL_RPATH "$ORIGIN")
endif()

# _frames: the evaluator of Python frames; nothing of the library is in it (tools/build_frames.py
# builds it alone for other versions of CPython).
file(GLOB frames_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/frames/module.cpp
  ${CMAKE_SOURCE_DIR}/taeda/dynamo/frames/*.c ${CMAKE_SOURCE_DIR}/taeda/dynamo/evaluator/*.cpp)
if(Python_VERSION VERSION_GREATER_EQUAL 3.14)
  set(frames_sources ${CMAKE_SOURCE_DIR}/python/frames/refused.cpp)
endif()
Python_add_library(_frames MODULE WITH_SOABI ${frames_sources})
target_include_directories(_frames PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_features(_frames PRIVATE c_std_11 cxx_std_20)
set(frames_grouped ${frames_sources})
list(FILTER frames_grouped INCLUDE REGEX "/evaluator/[^e]")
taeda_compile_together(_frames 8 ${frames_grouped})
set_target_properties(_frames PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${TAEDA_PACKAGE_DIR}
  C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden)

add_custom_target(taeda_package ALL
  COMMAND ${Python_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/link_package.py
    ${CMAKE_SOURCE_DIR}/python/taeda ${TAEDA_GENERATED_DIR}/python/taeda ${TAEDA_PACKAGE_DIR}
  COMMENT "Linking the Python package"
  VERBATIM)
add_dependencies(taeda_package taeda_generated)
