# SPDX-License-Identifier: BSD-3-Clause
# The checked library beside the usual one: the same sources, names and layout, with assertions and
# argument checks, for `penstock run --checked`. A build of its own in checked/, installed in
# <libdir>/penstock/checked.
set(default OFF)
if(CMAKE_BUILD_TYPE MATCHES "^Rel" AND NOT PENSTOCK_CHECKED AND NOT PENSTOCK_SANITIZE
        AND NOT PENSTOCK_COVERAGE AND NOT PENSTOCK_FUZZ AND NOT PENSTOCK_MODULES)
    set(default ON)
endif()
option(PENSTOCK_INSTALL_CHECKED "Build and install the checked library, too" ${default})
if(NOT PENSTOCK_INSTALL_CHECKED)
    return()
endif()

set(handed_on "")
foreach(name IN ITEMS CMAKE_BUILD_TYPE CMAKE_C_COMPILER CMAKE_C_FLAGS CMAKE_SHARED_LINKER_FLAGS
        CMAKE_PREFIX_PATH CMAKE_TOOLCHAIN_FILE CMAKE_INSTALL_LIBDIR)
    if(DEFINED ${name})
        list(APPEND handed_on "-D${name}:STRING=${${name}}")
    endif()
endforeach()
include(ExternalProject)
ExternalProject_Add(checked_library
    PREFIX "${PROJECT_BINARY_DIR}/checked/steps"
    SOURCE_DIR "${PROJECT_SOURCE_DIR}"
    BINARY_DIR "${PROJECT_BINARY_DIR}/checked"
    CMAKE_CACHE_ARGS ${handed_on} -DPENSTOCK_CHECKED:BOOL=ON -DPENSTOCK_INSTALL_CHECKED:BOOL=OFF
        -DPENSTOCK_TESTS:BOOL=OFF -DPENSTOCK_EXAMPLES:BOOL=OFF -DPENSTOCK_BENCH:BOOL=OFF
    BUILD_COMMAND "${CMAKE_COMMAND}" --build <BINARY_DIR> --target penstock
    BUILD_ALWAYS TRUE # its own build knows what is new
    INSTALL_COMMAND "")
add_dependencies(shipped checked_library)
install(DIRECTORY "${PROJECT_BINARY_DIR}/checked/lib/"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/penstock/checked" FILES_MATCHING PATTERN "libpenstock*.so*"
    PATTERN penstock EXCLUDE) # modules serve both libraries
