# Installs headers, library and the CMake package, into a prefix or, under scikit-build, a wheel.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
if(SKBUILD)
  set(install_lib taeda)
  set(install_include taeda/include)
  set(install_cmake taeda/share/cmake/Taeda)
else()
  set(install_lib ${CMAKE_INSTALL_LIBDIR})
  set(install_include ${CMAKE_INSTALL_INCLUDEDIR})
  set(install_cmake ${CMAKE_INSTALL_LIBDIR}/cmake/Taeda)
endif()

target_include_directories(taeda INTERFACE $<INSTALL_INTERFACE:${install_include}>)
install(TARGETS taeda EXPORT TaedaTargets LIBRARY DESTINATION ${install_lib})
install(EXPORT TaedaTargets NAMESPACE Taeda:: DESTINATION ${install_cmake})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/taeda ${TAEDA_GENERATED_DIR}/taeda
  DESTINATION ${install_include} FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
# For extensions: the Python bindings' own interface, and PyTorch's names for all of it.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/interop
  DESTINATION ${install_include}/python FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/compat DESTINATION ${install_include}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" PATTERN "*.cuh")
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/TaedaConfig.cmake.in
  ${CMAKE_BINARY_DIR}/TaedaConfig.cmake INSTALL_DESTINATION ${install_cmake})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TaedaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TaedaConfig.cmake ${CMAKE_BINARY_DIR}/TaedaConfigVersion.cmake
  DESTINATION ${install_cmake})

# The Python files themselves are scikit-build's part; a plain install carries the C++ library alone.
if(SKBUILD AND TARGET _C)
  install(TARGETS _C LIBRARY DESTINATION taeda)
  install(DIRECTORY ${TAEDA_GENERATED_DIR}/python/taeda DESTINATION . OPTIONAL
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi")
endif()
