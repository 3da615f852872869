# find_package(Torch) for projects written for PyTorch: the target `torch` is Taeda's library with
# PyTorch's header names.
#
# Sets TORCH_LIBRARIES, TORCH_LIBRARY, TORCH_INCLUDE_DIRS, TORCH_INSTALL_PREFIX and an empty
# TORCH_CXX_FLAGS. Lies beside the folder of TaedaConfig.cmake, installed or in a build folder.
include("${CMAKE_CURRENT_LIST_DIR}/../Taeda/TaedaConfig.cmake")

if(NOT TARGET torch)
  add_library(torch INTERFACE IMPORTED)
  target_link_libraries(torch INTERFACE Taeda::torch)
endif()

set(TORCH_LIBRARY torch)
set(TORCH_LIBRARIES torch)
set(TORCH_CXX_FLAGS "")
get_target_property(TORCH_INCLUDE_DIRS Taeda::torch INTERFACE_INCLUDE_DIRECTORIES)
get_target_property(_torch_taeda_folders Taeda::taeda INTERFACE_INCLUDE_DIRECTORIES)
list(APPEND TORCH_INCLUDE_DIRS ${_torch_taeda_folders})
unset(_torch_taeda_folders)
# The folder above share/cmake/Torch or lib/cmake/Torch.
get_filename_component(TORCH_INSTALL_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
