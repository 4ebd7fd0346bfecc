# SPDX-License-Identifier: BSD-3-Clause
# Compiler flags, in three interface libraries:
#   pen_warnings   the warnings for every C file of the project, and sanitizers
#   pen_internal   what library code is compiled with; sees src/ and the generated headers
#   pen_client     what a user's program sees: the public headers
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# PEN_CHECKED decides about assertions, not NDEBUG.
set(CMAKE_C_FLAGS_DEBUG "-Og -g3")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_C_FLAGS_RELEASE "-O2")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

add_library(pen_warnings INTERFACE)
target_compile_options(pen_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef)
if(PENSTOCK_WERROR)
    target_compile_options(pen_warnings INTERFACE -Werror)
endif()
# Installed files name no folder of the build machine, not even in their debug information.
if(CMAKE_BUILD_TYPE MATCHES "^Rel")
    target_compile_options(pen_warnings INTERFACE
        "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${PROJECT_BINARY_DIR}=./build")
endif()
add_compile_definitions(_GNU_SOURCE=1)

set(PEN_TEST_SLOWDOWN 1) # what time limits of tests are multiplied by
if(CMAKE_CROSSCOMPILING_EMULATOR)
    set(PEN_TEST_SLOWDOWN 10)
endif()
if(PENSTOCK_SANITIZE)
    set(PEN_TEST_SLOWDOWN 4)
    set(sanitize_flags "-fsanitize=${PENSTOCK_SANITIZE}" -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    if(PENSTOCK_FUZZ)
        list(APPEND sanitize_flags -fsanitize=fuzzer-no-link)
    endif()
    target_compile_options(pen_warnings INTERFACE ${sanitize_flags})
    target_link_options(pen_warnings INTERFACE ${sanitize_flags})
endif()
if(PENSTOCK_COVERAGE)
    target_compile_options(pen_warnings INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(pen_warnings INTERFACE --coverage)
endif()

add_library(pen_internal INTERFACE)
target_link_libraries(pen_internal INTERFACE pen_warnings Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(pen_internal INTERFACE
    "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/generated")

set(PEN_LIBRARY_OPTIONS -fvisibility=hidden -ftls-model=initial-exec -fno-common -fPIC)

add_library(pen_client INTERFACE)
target_link_libraries(pen_client INTERFACE pen_warnings Threads::Threads)
target_include_directories(pen_client INTERFACE "${PROJECT_SOURCE_DIR}/include")
