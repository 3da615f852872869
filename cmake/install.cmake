# Installs headers, library and the CMake packages, into a prefix or, under scikit-build, a wheel.
#
# Taeda brings the targets Taeda::taeda and Taeda::torch (PyTorch's header names before Taeda's),
# Torch brings `torch` for projects written for PyTorch. Both packages also serve from the build
# folder: they are made under gen/python, and so lie in the Python package there as in the wheel.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
if(SKBUILD)
  set(install_lib taeda)
  set(install_include taeda/include)
  set(install_cmake taeda/share/cmake)
else()
  set(install_lib ${CMAKE_INSTALL_LIBDIR})
  set(install_include ${CMAKE_INSTALL_INCLUDEDIR})
  set(install_cmake ${CMAKE_INSTALL_LIBDIR}/cmake)
endif()

set(build_cmake ${TAEDA_GENERATED_DIR}/python/taeda/share/cmake)

target_include_directories(taeda INTERFACE $<INSTALL_INTERFACE:${install_include}>)
add_library(taeda_torch INTERFACE)
add_library(Taeda::torch ALIAS taeda_torch)
set_target_properties(taeda_torch PROPERTIES EXPORT_NAME torch)
target_include_directories(taeda_torch INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include/compat>
  $<INSTALL_INTERFACE:${install_include}/compat>)
target_link_libraries(taeda_torch INTERFACE taeda)
install(TARGETS taeda taeda_torch EXPORT TaedaTargets LIBRARY DESTINATION ${install_lib})
install(EXPORT TaedaTargets NAMESPACE Taeda:: DESTINATION ${install_cmake}/Taeda)
export(EXPORT TaedaTargets NAMESPACE Taeda:: FILE ${build_cmake}/Taeda/TaedaTargets.cmake)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/taeda ${TAEDA_GENERATED_DIR}/taeda
  DESTINATION ${install_include} FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
# For extensions: the Python bindings' own interface, and PyTorch's names for all of it.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/interop
  DESTINATION ${install_include}/python FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/compat DESTINATION ${install_include}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/TaedaConfig.cmake.in
  ${build_cmake}/Taeda/TaedaConfig.cmake INSTALL_DESTINATION ${install_cmake}/Taeda)
write_basic_package_version_file(${build_cmake}/Taeda/TaedaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
# Projects ask for a version of PyTorch: that whose interface this is.
file(STRINGS ${CMAKE_SOURCE_DIR}/tools/pins.toml torch_version REGEX "^torch = ")
string(REGEX REPLACE "^torch = \"(.*)\"$" "\\1" torch_version "${torch_version}")
configure_file(${CMAKE_SOURCE_DIR}/cmake/TorchConfig.cmake
  ${build_cmake}/Torch/TorchConfig.cmake COPYONLY)
write_basic_package_version_file(${build_cmake}/Torch/TorchConfigVersion.cmake
  VERSION ${torch_version} COMPATIBILITY AnyNewerVersion)
foreach(package Taeda Torch)
  install(FILES ${build_cmake}/${package}/${package}Config.cmake
    ${build_cmake}/${package}/${package}ConfigVersion.cmake
    DESTINATION ${install_cmake}/${package})
endforeach()

# The Python files themselves are scikit-build's part; a plain install carries the C++ library alone.
if(SKBUILD AND TARGET _C)
  install(TARGETS _C _frames LIBRARY DESTINATION taeda)
  install(DIRECTORY ${TAEDA_GENERATED_DIR}/python/taeda DESTINATION . OPTIONAL
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi")
endif()
