# Runs the operator generator, at configure time for the file list and at build time for changes.
#
# Defines TAEDA_GENERATED_DIR, TAEDA_GENERATED (all generated files) and the target taeda_generated
# on which everything that includes a generated header depends.
if(TAEDA_PYTHON)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
endif()

set(TAEDA_GENERATED_DIR ${CMAKE_BINARY_DIR}/gen)
set(generated_list ${TAEDA_GENERATED_DIR}/files.txt)
set(records ${CMAKE_SOURCE_DIR}/taeda/ops)
# A new record configures again; changed and removed ones are in the depfile.
file(GLOB_RECURSE generator_inputs CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/tools/gen/*.py ${CMAKE_SOURCE_DIR}/tools/gen/*.pyi ${records}/*/records.toml)
set(generator_command ${CMAKE_COMMAND} -DPYTHON=${Python_EXECUTABLE}
  -DGENERATOR=${CMAKE_SOURCE_DIR}/tools/gen/main.py -DRECORDS=${records}
  -DOUT=${TAEDA_GENERATED_DIR} -P ${CMAKE_SOURCE_DIR}/cmake/run_generator.cmake)

execute_process(COMMAND ${generator_command} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${generated_list} TAEDA_GENERATED)
list(TRANSFORM TAEDA_GENERATED PREPEND ${TAEDA_GENERATED_DIR}/)
# A record that adds or removes a file changes the list, and the changed list configures again.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${generated_list})

add_custom_command(
  OUTPUT ${TAEDA_GENERATED_DIR}/generated.stamp
  BYPRODUCTS ${generated_list} ${TAEDA_GENERATED}
  COMMAND ${generator_command}
  DEPENDS ${CMAKE_SOURCE_DIR}/cmake/run_generator.cmake
  DEPFILE ${TAEDA_GENERATED_DIR}/inputs.d
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  COMMENT "Generating operators"
  VERBATIM)
add_custom_target(taeda_generated DEPENDS ${TAEDA_GENERATED_DIR}/generated.stamp)
