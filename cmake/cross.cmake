# Toolchain of Debian's cross compiler for TAEDA_CROSS (x86_64 or aarch64), run under qemu-user.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TAEDA_CROSS)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${TAEDA_CROSS})
set(CMAKE_C_COMPILER ${TAEDA_CROSS}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${TAEDA_CROSS}-linux-gnu-g++)
# Every instruction that the emulator knows, so that the kernels for newer sets run too.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${TAEDA_CROSS} -cpu max -L /usr/${TAEDA_CROSS}-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/${TAEDA_CROSS}-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
