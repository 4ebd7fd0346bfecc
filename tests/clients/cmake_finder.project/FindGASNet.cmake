# SPDX-License-Identifier: BSD-3-Clause
# A finder as task runtimes have: it searches a root for fragments of make, tells networks and thread modes from their paths,
# lets make expand them, and picks the -I, -D, -L and -l words out by regular expressions.
#   GASNet_ROOT_DIR   where to look          GASNet_CONDUIT      the network wanted
#   GASNet_FOUND, GASNet_CONDUITS, GASNet_INCLUDE_DIRS, GASNet_DEFINES, GASNet_LIBRARIES
file(GLOB_RECURSE _fragments "${GASNet_ROOT_DIR}/include/*-conduit/*.mak")
set(GASNet_CONDUITS "")
foreach(_fragment IN LISTS _fragments)
    if(_fragment MATCHES "/([a-z0-9]+)-conduit/([a-z0-9]+)-(seq|par|parsync)\\.mak$")
        set(_net "${CMAKE_MATCH_1}")
        if(NOT _net STREQUAL CMAKE_MATCH_2)
            message(FATAL_ERROR "${_fragment} is in the folder of another network")
        endif()
        if(_net MATCHES "gemini|aries|mxm|psm|shm") # Cray's shmem by its old name, among others
            continue() # not supported by this project
        endif()
        list(APPEND GASNet_CONDUITS "${_net}")
    endif()
endforeach()
list(REMOVE_DUPLICATES GASNet_CONDUITS)
if(NOT GASNet_CONDUIT IN_LIST GASNet_CONDUITS)
    message(FATAL_ERROR "GASNet: no ${GASNet_CONDUIT}, but ${GASNet_CONDUITS}")
endif()

find_library(_gasnet_library "gasnet-${GASNet_CONDUIT}-par" HINTS "${GASNet_ROOT_DIR}/lib" NO_DEFAULT_PATH)
find_path(_gasnet_header gasnetex.h HINTS "${GASNet_ROOT_DIR}/include" NO_DEFAULT_PATH)
set(_probe "${CMAKE_CURRENT_BINARY_DIR}/gasnet_probe.mk")
file(WRITE "${_probe}" "include ${GASNet_ROOT_DIR}/include/${GASNet_CONDUIT}-conduit/${GASNet_CONDUIT}-par.mak
gasnet-cflags:
\t@echo $(GASNET_CPPFLAGS) $(GASNET_CFLAGS)
gasnet-libs:
\t@echo $(GASNET_LDFLAGS) $(GASNET_LIBS)
gasnet-ld-requires-mpi:
\t@echo $(GASNET_LD_REQUIRES_MPI)
")
foreach(_what IN ITEMS cflags libs ld-requires-mpi)
    execute_process(COMMAND make -s -f "${_probe}" gasnet-${_what} OUTPUT_VARIABLE _${_what}
        OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(_ld-requires-mpi)
    message(FATAL_ERROR "${GASNet_CONDUIT} needs MPI to link")
endif()
string(REGEX MATCHALL "-I[^ ]+" GASNet_INCLUDE_DIRS "${_cflags}")
string(REGEX REPLACE "-I" "" GASNet_INCLUDE_DIRS "${GASNet_INCLUDE_DIRS}")
string(REGEX MATCHALL "-D[^ ]+" GASNet_DEFINES "${_cflags}")
string(TOUPPER "${GASNet_CONDUIT}" _upper)
list(APPEND GASNet_DEFINES "-DUSE_GASNET_CONDUIT_${_upper}=1" "-DGASNET_CONDUIT_${_upper}=1")

# Every -l becomes the file of a library where one of the -L folders, or the system, has it.
string(REGEX MATCHALL "-L[^ ]+" _folders "${_libs}")
string(REGEX REPLACE "-L" "" _folders "${_folders}")
string(REGEX MATCHALL "(^| )-l[^ ]+" _names "${_libs}")
set(GASNet_LIBRARIES "")
foreach(_name IN LISTS _names)
    string(REGEX REPLACE "^ ?-l" "" _name "${_name}")
    find_library(_file_${_name} "${_name}" HINTS ${_folders})
    if(_file_${_name})
        list(APPEND GASNet_LIBRARIES "${_file_${_name}}")
    else()
        message(FATAL_ERROR "-l${_name} of GASNET_LIBS is not found in ${_folders}")
    endif()
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GASNet DEFAULT_MSG _gasnet_library _gasnet_header GASNet_LIBRARIES)
