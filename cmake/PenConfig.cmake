# SPDX-License-Identifier: BSD-3-Clause
# generated/pen_config.h: every macro is always defined, as 0 or 1, so that code tests it with
# `if` and both sides compile. A new question about the platform is one more line here.
include(CheckSymbolExists)
include(CheckIncludeFile)

set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE=1)
check_symbol_exists(process_vm_readv "sys/uio.h" PEN_HAVE_CMA)
check_symbol_exists(memfd_create "sys/mman.h" PEN_HAVE_MEMFD)
check_symbol_exists(SYS_membarrier "sys/syscall.h" PEN_HAVE_MEMBARRIER)
check_symbol_exists(SYS_futex "sys/syscall.h" PEN_HAVE_FUTEX)
check_symbol_exists(SYS_pidfd_open "sys/syscall.h" PEN_HAVE_PIDFD)
check_symbol_exists(getrandom "sys/random.h" PEN_HAVE_GETRANDOM)
check_symbol_exists(backtrace "execinfo.h" PEN_HAVE_BACKTRACE)
check_symbol_exists(on_exit "stdlib.h" PEN_HAVE_ON_EXIT)
check_symbol_exists(eventfd "sys/eventfd.h" PEN_HAVE_EVENTFD)
check_symbol_exists(__libc_single_threaded "sys/single_threaded.h" PEN_HAVE_SINGLE_THREADED)
unset(CMAKE_REQUIRED_DEFINITIONS)

# For the command only: the core library never links it.
find_library(PEN_HWLOC_LIBRARY hwloc)
find_path(PEN_HWLOC_INCLUDE hwloc.h)
if(PEN_HWLOC_LIBRARY AND PEN_HWLOC_INCLUDE)
    set(PEN_HAVE_HWLOC 1)
else()
    set(PEN_HAVE_HWLOC 0)
endif()

set(PEN_CHECKED ${PENSTOCK_CHECKED})
set(PEN_ASAN 0)
set(PEN_TSAN 0)
if(PENSTOCK_SANITIZE MATCHES "address")
    set(PEN_ASAN 1)
endif()
if(PENSTOCK_SANITIZE MATCHES "thread")
    set(PEN_TSAN 1)
endif()

set(names PEN_CHECKED PEN_ASAN PEN_TSAN PEN_HAVE_CMA PEN_HAVE_MEMFD PEN_HAVE_MEMBARRIER
    PEN_HAVE_FUTEX PEN_HAVE_PIDFD PEN_HAVE_GETRANDOM PEN_HAVE_BACKTRACE PEN_HAVE_EVENTFD
    PEN_HAVE_SINGLE_THREADED PEN_HAVE_ON_EXIT PEN_HAVE_HWLOC)
set(PEN_CONFIG_LINES "")
foreach(name IN LISTS names)
    if(${name})
        string(APPEND PEN_CONFIG_LINES "#define ${name} 1\n")
    else()
        string(APPEND PEN_CONFIG_LINES "#define ${name} 0\n")
    endif()
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/cmake/pen_config.h.in"
    "${PROJECT_BINARY_DIR}/generated/pen_config.h" @ONLY)
