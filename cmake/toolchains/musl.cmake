# SPDX-License-Identifier: BSD-3-Clause
# Builds with the C library musl, by Debian's wrapper musl-gcc. The wrapper hides every header of the
# system, and the kernel's with them; build/musl-root/include links to the kernel's headers alone.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "${CMAKE_HOST_SYSTEM_PROCESSOR}")
set(CMAKE_C_COMPILER musl-gcc)

get_filename_component(pen_root "${CMAKE_CURRENT_LIST_DIR}/../../build/musl-root" ABSOLUTE)
set(CMAKE_C_FLAGS_INIT "-isystem ${pen_root}/include")

# Libraries of the system are made for glibc: the search finds none of them, and pkg-config neither.
set(CMAKE_FIND_ROOT_PATH "${pen_root}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_LIBDIR} "${pen_root}/lib/pkgconfig")
