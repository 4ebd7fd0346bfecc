# SPDX-License-Identifier: BSD-3-Clause
# pen_conduit(<name> SOURCES <files...> [REQUIRES <targets...>] [MODULE])
#
# The one line of a conduit's CMakeLists.txt. Built in, unless MODULE makes it a library of its own,
# libpenstock-<name>.so; its pen_conduit is then marked PEN_EXPORT. REQUIRES names imported targets: PkgConfig::X is looked for with pkg-config
# under the lower-case name; of A::B, the package A is searched. What is missing is told at the end.
function(pen_conduit name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "MODULE" "" "SOURCES;REQUIRES")
    if(NOT arg_SOURCES)
        message(FATAL_ERROR "pen_conduit(${name}): no SOURCES")
    endif()
    foreach(source IN LISTS arg_SOURCES)
        if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
            message(WARNING "conduit ${name} is left out: there is no src/conduits/${name}/${source}")
            set_property(GLOBAL APPEND PROPERTY PEN_CONDUITS_ABSENT "${name}: no ${source}")
            return()
        endif()
    endforeach()
    foreach(target IN LISTS arg_REQUIRES)
        pen_find_required(${target} found)
        if(NOT found)
            set_property(GLOBAL APPEND PROPERTY PEN_CONDUITS_ABSENT "${name}: ${target} not found")
            return()
        endif()
    endforeach()

    set(objects pen_conduit_${name}_objects)
    add_library(${objects} OBJECT ${arg_SOURCES})
    target_link_libraries(${objects} PRIVATE pen_internal ${arg_REQUIRES})
    target_compile_options(${objects} PRIVATE ${PEN_LIBRARY_OPTIONS})

    if(arg_MODULE)
        pen_conduit_module(${name} OBJECTS $<TARGET_OBJECTS:${objects}> LIBRARIES ${arg_REQUIRES})
        install(TARGETS penstock-${name} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/penstock")
        set_property(GLOBAL APPEND PROPERTY PEN_CONDUIT_MODULES ${name})
        return()
    endif()

    # Only pen_conduit_<name> leaves a conduit.
    set(only "${PROJECT_BINARY_DIR}/conduits/${name}.o")
    pen_relocatable("${only}" OBJECTS $<TARGET_OBJECTS:${objects}> KEEP pen_conduit_${name})
    add_custom_target(pen_conduit_${name}_only DEPENDS "${only}")
    set_property(GLOBAL APPEND PROPERTY PEN_CONDUITS ${name})
    set_property(GLOBAL APPEND PROPERTY PEN_CONDUIT_LIBRARIES ${arg_REQUIRES})
endfunction()

# pen_conduit_module(<name> OBJECTS <objects...> [LIBRARIES <targets...>])
# libpenstock-<name>.so in <build>/lib/penstock, where a program of the build finds it. It exports what
# is marked PEN_EXPORT, which is its pen_conduit. The helpers that a conduit may use are linked into it,
# hidden.
function(pen_conduit_module name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OBJECTS;LIBRARIES")
    add_library(penstock-${name} MODULE ${arg_OBJECTS})
    set_target_properties(penstock-${name} PROPERTIES LINKER_LANGUAGE C
        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/penstock")
    target_link_libraries(penstock-${name} PRIVATE pen_internal penstock_helpers ${arg_LIBRARIES})
    target_link_options(penstock-${name} PRIVATE -Wl,-z,relro -Wl,-z,now -Wl,-z,nodelete
        -Wl,--exclude-libs,ALL)
    if(NOT PENSTOCK_SANITIZE)
        target_link_options(penstock-${name} PRIVATE -Wl,-z,defs)
    endif()
endfunction()

# pen_find_modules_in(<folder>): programs in this folder of the build find its modules, as installed
# programs find those below their library. Programs that use the shared library need no such call.
function(pen_find_modules_in folder)
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/lib/penstock" "${folder}")
    if(NOT EXISTS "${folder}/penstock")
        file(CREATE_LINK "${PROJECT_BINARY_DIR}/lib/penstock" "${folder}/penstock" SYMBOLIC)
    endif()
endfunction()

if(NOT CMAKE_INSTALL_LIBDIR STREQUAL "lib" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    pen_find_modules_in("${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}") # for the programs in bin/
endif()

function(pen_find_required target out)
    if(NOT TARGET ${target})
        string(REGEX REPLACE "::.*" "" package "${target}")
        if(package STREQUAL "PkgConfig")
            string(REGEX REPLACE "^PkgConfig::" "" prefix "${target}")
            string(TOLOWER "${prefix}" module)
            find_package(PkgConfig QUIET)
            if(PkgConfig_FOUND)
                pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
            endif()
        else()
            find_package(${package} QUIET)
        endif()
    endif()
    if(TARGET ${target})
        set(${out} TRUE PARENT_SCOPE)
    else()
        set(${out} FALSE PARENT_SCOPE)
    endif()
endfunction()

# generated/pen_conduits.c: the table of built-in conduits.
function(pen_write_conduit_table path)
    get_property(names GLOBAL PROPERTY PEN_CONDUITS)
    list(SORT names)
    set(text "/* pen_conduits.c: the conduits built in; generated from src/conduits, do not edit. */\n")
    if(EXISTS "${PROJECT_SOURCE_DIR}/src/conduit/conduit.h")
        string(APPEND text "#include \"conduit/conduit.h\"\n\n#include <stddef.h>\n\n")
        set(rows "")
        foreach(name IN LISTS names)
            string(APPEND text "extern const pen_conduit pen_conduit_${name};\n")
            string(APPEND rows "    &pen_conduit_${name},\n")
        endforeach()
        string(APPEND text
            "\nextern const pen_conduit *const pen_builtin_conduits[];\n"
            "const pen_conduit *const pen_builtin_conduits[] = {\n${rows}    NULL,\n};\n")
    else()
        string(APPEND text "typedef int pen_no_conduits_yet;\n")
    endif()
    file(CONFIGURE OUTPUT "${path}" CONTENT "${text}" @ONLY)
endfunction()
