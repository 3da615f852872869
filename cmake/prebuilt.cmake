# In place of generate and library: what another build folder of this tree has made of them.
#
# The library and the generated sources do not depend on the version of Python, so the extension for
# a second one needs its own sources compiled and nothing else.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
set(TAEDA_GENERATED_DIR ${TAEDA_LIBRARY_BUILD}/gen)
file(STRINGS ${TAEDA_GENERATED_DIR}/files.txt TAEDA_GENERATED)
list(TRANSFORM TAEDA_GENERATED PREPEND ${TAEDA_GENERATED_DIR}/)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TAEDA_GENERATED_DIR}/files.txt)
add_custom_target(taeda_generated)

set(TAEDA_PACKAGE_DIR ${CMAKE_BINARY_DIR}/python/taeda)
add_library(taeda SHARED IMPORTED)
set_target_properties(taeda PROPERTIES IMPORTED_LOCATION ${TAEDA_PACKAGE_DIR}/libtaeda.so)
target_include_directories(taeda INTERFACE ${CMAKE_SOURCE_DIR} ${TAEDA_GENERATED_DIR})
target_compile_features(taeda INTERFACE cxx_std_20)
# The library lies beside the extension, as in any build.
add_custom_target(taeda_library
  COMMAND ${CMAKE_COMMAND} -E copy_if_different
    ${TAEDA_LIBRARY_BUILD}/python/taeda/libtaeda.so ${TAEDA_PACKAGE_DIR}/libtaeda.so
  BYPRODUCTS ${TAEDA_PACKAGE_DIR}/libtaeda.so
  COMMENT "Copying libtaeda.so"
  VERBATIM)
add_dependencies(taeda taeda_library)
