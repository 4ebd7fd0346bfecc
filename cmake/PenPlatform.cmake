# SPDX-License-Identifier: BSD-3-Clause
# Checks the platform, and finds the tools that the build itself needs.
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR "Penstock runs on Linux only for now, not on ${CMAKE_SYSTEM_NAME}")
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|aarch64|arm64)$")
    message(FATAL_ERROR "Penstock supports x86-64 and aarch64, not ${CMAKE_SYSTEM_PROCESSOR}")
endif()
if(NOT CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    message(FATAL_ERROR "Penstock needs gcc or clang, not ${CMAKE_C_COMPILER_ID}")
endif()

# The system's interpreter first: a version manager's may lack what the distribution installs.
find_program(PEN_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(PEN_PYTHON NAMES python3 REQUIRED)

find_package(Threads REQUIRED)
