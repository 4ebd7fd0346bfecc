# SPDX-License-Identifier: BSD-3-Clause
# The list of what was installed, <datadir>/penstock/installed, for `make uninstall`
# (scripts/uninstall) and for clients that link the installed tree elsewhere. A line is a file, or with
# a "/" at its end a folder that the installation made; both are relative to the prefix.
set(PEN_INSTALLED "${CMAKE_INSTALL_DATADIR}/penstock/installed")

# Folders that other packages use, too. Those that are there before are no part of the installation.
set(shared_folders . "${CMAKE_INSTALL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_LIBDIR}/cmake"
    "${CMAKE_INSTALL_BINDIR}" "${CMAKE_INSTALL_INCLUDEDIR}" "${CMAKE_INSTALL_LIBEXECDIR}"
    "${CMAKE_INSTALL_MANDIR}/man1" "${CMAKE_INSTALL_MANDIR}/man3" "${CMAKE_INSTALL_DATADIR}/doc")

# pen_install_begin(): before the first file is installed.
function(pen_install_begin)
    install(CODE "set(PEN_INSTALLED \"${PEN_INSTALLED}\")
set(PEN_SHARED_FOLDERS \"${shared_folders}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/install/begin.cmake\")")
endfunction()

# pen_install_end(): after the last one.
function(pen_install_end)
    install(CODE "include(\"${PROJECT_SOURCE_DIR}/cmake/install/end.cmake\")")
endfunction()
