# SPDX-License-Identifier: BSD-3-Clause
# Builds for 64-bit ARM on another machine, with Debian's cross compiler; qemu-user runs the tests.
# build/aarch64-root holds the libraries for ARM: `scripts/deps matrix` puts libsodium and cmocka there.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

get_filename_component(pen_root "${CMAKE_CURRENT_LIST_DIR}/../../build/aarch64-root" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH "${pen_root}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

# pkg-config describes no package of the machine that builds.
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_LIBDIR} "${pen_root}/usr/lib/aarch64-linux-gnu/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${pen_root}")

# The emulated loader looks for the C library below this folder.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)
