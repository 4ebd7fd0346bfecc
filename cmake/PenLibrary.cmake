# SPDX-License-Identifier: BSD-3-Clause
# Reading src/LAYERS, and making one relocatable object of many.

# The lines of src/LAYERS name the modules; a folder that is not there yet is passed over.
function(pen_read_layers out)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/src/LAYERS")
    file(STRINGS "${PROJECT_SOURCE_DIR}/src/LAYERS" lines REGEX "^[a-z]")
    set(modules "")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "[ \t]*:.*$" "" module "${line}")
        if(module MATCHES "^(command|sim|remote|timeline|preload)$" OR module MATCHES "[/*]")
            continue()
        endif()
        if(PENSTOCK_MODULES AND NOT module IN_LIST PENSTOCK_MODULES)
            continue()
        endif()
        list(APPEND modules "${module}")
    endforeach()
    set(${out} "${modules}" PARENT_SCOPE)
endfunction()

# pen_relocatable(<output.o> OBJECTS <objects...> KEEP <names...> | KEEP_MAP <exports.map>)
# Partial link, then localise every global that is not to be kept.
function(pen_relocatable output)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "KEEP_MAP" "OBJECTS;KEEP")
    if(arg_KEEP_MAP)
        set(keep --map "${arg_KEEP_MAP}")
    else()
        set(keep --keep ${arg_KEEP})
    endif()
    set(flag "") # localising needs machine code, where objects for link-time optimisation have none
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU"
            AND (CMAKE_INTERPROCEDURAL_OPTIMIZATION OR "${CMAKE_C_FLAGS} " MATCHES "-flto[ =]"))
        set(flag --flag=-flinker-output=nolto-rel)
    endif()
    add_custom_command(OUTPUT "${output}"
        COMMAND "${PEN_PYTHON}" "${PROJECT_SOURCE_DIR}/scripts/localise" --cc "${CMAKE_C_COMPILER}"
            --nm "${CMAKE_NM}" --objcopy "${CMAKE_OBJCOPY}" ${flag} --output "${output}" ${keep}
            --objects ${arg_OBJECTS}
        DEPENDS ${arg_OBJECTS} ${arg_KEEP_MAP} "${PROJECT_SOURCE_DIR}/scripts/localise"
        COMMENT "Localising ${output}" VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

# pen_file_option(<out> <source> <KEY> <default...>): the words of a line `/* KEY: a b c */` among
# the first 30 of a file, or the default. Editing the line configures again.
function(pen_file_option out source key)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    set(words ${ARGN})
    file(STRINGS "${source}" lines LIMIT_COUNT 30)
    foreach(line IN LISTS lines)
        if(line MATCHES "^[/ ]\\* *${key}:([^*]*)")
            separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_1}")
            break()
        endif()
    endforeach()
    list(REMOVE_DUPLICATES words)
    set(${out} "${words}" PARENT_SCOPE)
endfunction()

# One client program, named like its file, in the thread mode it asks for (default SEQ).
function(pen_client_program source prefix)
    get_filename_component(name "${source}" NAME_WE)
    pen_file_option(mode "${source}" PEN_CLIENT SEQ)
    add_executable(${prefix}${name} "${source}")
    set_target_properties(${prefix}${name} PROPERTIES OUTPUT_NAME ${name})
    target_compile_definitions(${prefix}${name} PRIVATE GASNET_${mode}=1)
    target_link_libraries(${prefix}${name} PRIVATE penstock m)
endfunction()
