# Sources that are compiled together: a small one spends most of its time on reading the precompiled
# headers and on making the same templates anew.
#
# taeda_compile_together(target count sources...): at most `count` per compile, of one folder or all
# generated. Those that have a group already keep it; those with a pragma for more optimization stay
# alone (g++ 13 crashes on a group of them).
function(taeda_compile_together target count)
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
      taeda_has_optimize_pragma(${source} has_pragma)
      if(has_pragma)
        continue()
      endif()
    endif()
    if(NOT DEFINED number_${folder})
      set(number_${folder} 0)
    endif()
    math(EXPR number "${number_${folder}} / ${count}")
    math(EXPR number_${folder} "${number_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${number})
  endforeach()
endfunction()

# Says whether a source asks for -O3 by a pragma, which reaches what is compiled after it. A new
# pragma counts from the next configuration on.
function(taeda_has_optimize_pragma source result)
  set(lines "")
  if(EXISTS ${source})
    file(STRINGS ${source} lines REGEX "^# *pragma GCC optimize\\(\"O3\"\\)" LIMIT_COUNT 1)
  endif()
  if(lines)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
