# libtaeda_cuda.so, the plug-in for NVIDIA GPUs, where the toolkit's headers and libraries are found.
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::nvrtc OR NOT TARGET CUDA::cuda_driver)
  return()
endif()
file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/taeda/backends/cuda/*.cpp)
add_library(taeda_cuda MODULE ${cuda_sources})
target_include_directories(taeda_cuda PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(taeda_cuda PRIVATE CUDA::nvrtc CUDA::cuda_driver)
set_target_properties(taeda_cuda PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/taeda)
