# Sources that are compiled together: a small one spends most of its time on reading the precompiled
# headers and on making the same templates anew.
#
# taeda_compile_together(target sources...): four per compile, of one folder or all generated. Those
# that have a group already keep it.
function(taeda_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    get_source_file_property(group ${source} UNITY_GROUP)
    if(group)
      continue()
    endif()
    cmake_path(IS_PREFIX TAEDA_GENERATED_DIR ${source} is_generated)
    if(is_generated)
      set(folder generated)
    else()
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
      string(MAKE_C_IDENTIFIER ${folder} folder)
    endif()
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR number "${count_${folder}} / 4")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${number})
  endforeach()
endfunction()
