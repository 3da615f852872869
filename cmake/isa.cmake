# Instruction sets: which variants this architecture builds, and how a source joins them.
#
# `name.isa.cpp` is compiled once per instruction set. `name_<isa>.cpp` is compiled for that set
# alone, and left out on architectures without it. Each compile sees TAEDA_ISA (a bare name) and
# TAEDA_VEC_BYTES; all other files see the baseline's.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(TAEDA_ISAS generic avx2 avx512)
  set(TAEDA_BASELINE_ISA generic)
  # Machines without AVX2 are few: what only they run is compiled with less care.
  set(isa_options_generic -O1 -DTAEDA_IS_FALLBACK -Wno-maybe-uninitialized)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(TAEDA_ISAS neon)
  set(TAEDA_BASELINE_ISA neon)
else()
  message(FATAL_ERROR "Taeda builds for x86_64 and aarch64, not ${CMAKE_SYSTEM_PROCESSOR}")
endif()

set(isa_bytes_generic 16)
set(isa_bytes_neon 16)
set(isa_bytes_avx2 32)
set(isa_bytes_avx512 64)
set(isa_flags_generic "")
set(isa_flags_neon "")
set(isa_flags_avx2 -mavx2 -mfma -mf16c)
set(isa_flags_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c
  -mprefer-vector-width=512)
set(isa_any_pattern "_(avx2|avx512|neon)\\.cpp$")

# Gives `target` the definitions of `isa`, without its compiler flags.
function(taeda_isa_definitions target isa)
  target_compile_definitions(${target} PRIVATE TAEDA_ISA=${isa} TAEDA_VEC_BYTES=${isa_bytes_${isa}})
endfunction()

# Moves the ISA sources out of the list `sources_var`, into one object library per instruction set,
# and names the object libraries in `objects_var`.
function(taeda_split_isa_sources sources_var objects_var)
  set(plain ${${sources_var}})
  set(every ${plain})
  list(FILTER every INCLUDE REGEX "\\.isa\\.cpp$")
  list(FILTER plain EXCLUDE REGEX "\\.isa\\.cpp$")
  list(FILTER plain EXCLUDE REGEX "${isa_any_pattern}")
  # Kernels are compiled in fours, generated and written ones apart, as far as no pragma of theirs
  # would reach what follows; those of the interpreter are large.
  set(number_generated 0)
  set(number_written 0)
  foreach(source IN LISTS every)
    set(kind written)
    if(source MATCHES "^${TAEDA_GENERATED_DIR}/")
      set(kind generated)
    endif()
    taeda_has_optimize_pragma(${source} has_pragma)
    if(source MATCHES "/backends/cpu/" AND NOT has_pragma)
      math(EXPR group "${number_${kind}} / 4")
      math(EXPR number_${kind} "${number_${kind}} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${kind}_kernels_${group})
    endif()
  endforeach()
  set(objects "")
  foreach(isa IN LISTS TAEDA_ISAS)
    set(own ${${sources_var}})
    list(FILTER own INCLUDE REGEX "_${isa}\\.cpp$")
    if(every OR own)
      add_library(taeda_isa_${isa} OBJECT ${every} ${own})
      # -O2 in sanitized builds too: lanes of a register are named by loops that must be unrolled.
      target_compile_options(taeda_isa_${isa} PRIVATE ${isa_flags_${isa}} ${isa_options_${isa}}
        $<$<BOOL:${TAEDA_SANITIZE}>:-O2>)
      taeda_isa_definitions(taeda_isa_${isa} ${isa})
      set_target_properties(taeda_isa_${isa} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
      list(APPEND objects taeda_isa_${isa})
    endif()
  endforeach()
  set(${sources_var} ${plain} PARENT_SCOPE)
  set(${objects_var} ${objects} PARENT_SCOPE)
endfunction()
