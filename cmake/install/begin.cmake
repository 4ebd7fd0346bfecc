# SPDX-License-Identifier: BSD-3-Clause
# begin.cmake: notes which of the shared folders an installation finds. Runs before the first file.
cmake_policy(VERSION 3.20)
set(PEN_FOUND_FOLDERS "")
foreach(folder IN LISTS PEN_SHARED_FOLDERS)
    set(path "${CMAKE_INSTALL_PREFIX}/${folder}")
    get_filename_component(path "${path}" ABSOLUTE)
    while(NOT path STREQUAL "/" AND NOT path MATCHES "^[A-Za-z]:/?$")
        if(EXISTS "$ENV{DESTDIR}${path}")
            list(APPEND PEN_FOUND_FOLDERS "${path}")
        endif()
        get_filename_component(path "${path}" DIRECTORY)
    endwhile()
endforeach()
