# Script mode: runs GENERATOR into OUT and tells Ninja what it read.
#
# The generator writes OUT/files.txt, the list of its files, and touches only what changed. inputs.d
# is a depfile, so that a record or a part of the generator may disappear.
file(MAKE_DIRECTORY ${OUT})
execute_process(COMMAND ${PYTHON} ${GENERATOR} --out ${OUT} COMMAND_ERROR_IS_FATAL ANY)

cmake_path(GET GENERATOR PARENT_PATH generator_folder)
file(GLOB_RECURSE inputs ${generator_folder}/*.py ${generator_folder}/*.pyi ${RECORDS}/*/records.toml)
list(JOIN inputs " " inputs)
file(WRITE ${OUT}/inputs.d "${OUT}/generated.stamp: ${inputs}\n")
file(TOUCH ${OUT}/generated.stamp)
