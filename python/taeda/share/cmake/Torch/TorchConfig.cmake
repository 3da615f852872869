# find_package(Torch) for projects written for PyTorch: the target `torch` is Taeda's library with
# PyTorch's header names. The folder above is taeda.utils.cmake_prefix_path.
#
# Sets TORCH_LIBRARIES, TORCH_INCLUDE_DIRS, TORCH_INSTALL_PREFIX and an empty TORCH_CXX_FLAGS.
get_filename_component(TORCH_INSTALL_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(EXISTS "${TORCH_INSTALL_PREFIX}/include")
  set(TORCH_INCLUDE_DIRS "${TORCH_INSTALL_PREFIX}/include/compat" "${TORCH_INSTALL_PREFIX}/include")
else()
  # A build folder: the headers lie in the source tree.
  get_filename_component(_torch_build "${TORCH_INSTALL_PREFIX}/../.." ABSOLUTE)
  load_cache("${_torch_build}" READ_WITH_PREFIX _TORCH_ CMAKE_HOME_DIRECTORY)
  set(TORCH_INCLUDE_DIRS "${_TORCH_CMAKE_HOME_DIRECTORY}/include/compat"
      "${_TORCH_CMAKE_HOME_DIRECTORY}" "${_torch_build}/gen")
endif()

set(TORCH_LIBRARIES torch)
set(TORCH_CXX_FLAGS "")
if(NOT TARGET torch)
  add_library(torch SHARED IMPORTED)
  set_target_properties(
    torch
    PROPERTIES IMPORTED_LOCATION "${TORCH_INSTALL_PREFIX}/libtaeda.so"
               INTERFACE_INCLUDE_DIRECTORIES "${TORCH_INCLUDE_DIRS}"
               INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()
