# SPDX-License-Identifier: BSD-3-Clause
# Lists the files that `make install` installs, and their folders.
install(TARGETS penstock penstock_static
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET penstock_command)
    install(TARGETS penstock_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(TARGET penstock_clock)
    install(TARGETS penstock_clock LIBRARY DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/penstock")
endif()
foreach(mode IN ITEMS seq par) # what `penstock perf` starts
    if(TARGET perf_${mode})
        install(TARGETS perf_${mode} RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/penstock")
    endif()
endforeach()
if(EXISTS "${PROJECT_SOURCE_DIR}/include")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# A manual page of every call, from the comments of the headers.
set(man3 "${PROJECT_BINARY_DIR}/man/man3")
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*.h")
add_custom_command(OUTPUT "${PROJECT_BINARY_DIR}/man/made"
    COMMAND "${PEN_PYTHON}" "${PROJECT_SOURCE_DIR}/scripts/make_man" "${man3}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${PROJECT_BINARY_DIR}/man/made"
    DEPENDS ${public_headers} "${PROJECT_SOURCE_DIR}/scripts/make_man"
        "${PROJECT_SOURCE_DIR}/scripts/headers.py" "${PROJECT_SOURCE_DIR}/docs/man/penstock.1"
        "${PROJECT_SOURCE_DIR}/tests/abi/symbols.txt"
    COMMENT "Making manual pages" VERBATIM)
add_custom_target(manual ALL DEPENDS "${PROJECT_BINARY_DIR}/man/made")
add_dependencies(shipped manual)
install(DIRECTORY "${man3}" DESTINATION "${CMAKE_INSTALL_MANDIR}" FILES_MATCHING PATTERN "*.3")

# PEN_STATIC_LIBS: what a client of the static library links besides it.
set(PEN_STATIC_LIBS -lpthread -ldl)
get_property(needed GLOBAL PROPERTY PEN_CONDUIT_LIBRARIES)
foreach(target IN LISTS needed)
    string(REGEX REPLACE "^PkgConfig::" "" prefix "${target}")
    foreach(library IN LISTS ${prefix}_LIBRARIES) # by name: folders of this machine mean nothing elsewhere
        list(APPEND PEN_STATIC_LIBS "-l${library}")
    endforeach()
endforeach()
set(PEN_STATIC_LIST "${PEN_STATIC_LIBS}")
list(JOIN PEN_STATIC_LIBS " " PEN_STATIC_LIBS)

# For pkg-config and find_package; both find the rest from where they lie, so the tree may be moved.
include(CMakePackageConfigHelpers)
string(REGEX REPLACE "[^/]+" ".." PEN_PC_UP "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
string(REGEX REPLACE "[^/]+" ".." PEN_CMAKE_UP "${CMAKE_INSTALL_LIBDIR}/cmake/Penstock")
configure_file("${PROJECT_SOURCE_DIR}/cmake/penstock.pc.in"
    "${PROJECT_BINARY_DIR}/generated/penstock.pc" @ONLY)
configure_file("${PROJECT_SOURCE_DIR}/cmake/PenstockConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/generated/PenstockConfig.cmake" @ONLY)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/PenstockConfigVersion.cmake"
    VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/penstock.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_BINARY_DIR}/generated/PenstockConfig.cmake"
    "${PROJECT_BINARY_DIR}/generated/PenstockConfigVersion.cmake"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/Penstock")
if(EXISTS "${PROJECT_SOURCE_DIR}/compat/CMakeLists.txt")
    add_subdirectory(compat)
endif()
