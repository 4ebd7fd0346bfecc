# SPDX-License-Identifier: BSD-3-Clause
# <datadir>/penstock/gasnet-build: what clients take for the tree in which GASNet was built. They run
# its config.status and Makefiles, and include its .mak files. nets: the installed conduit names.
set(tree "${CMAKE_INSTALL_DATADIR}/penstock/gasnet-build")
string(REGEX REPLACE "[^/]+" ".." PEN_TREE_UP "${tree}")
list(JOIN nets " " PEN_NETS)

# tree_link(<name below the tree> <installed file>): a relative link.
function(tree_link name file)
    get_filename_component(folder "${name}" DIRECTORY)
    get_filename_component(last "${name}" NAME)
    string(REGEX REPLACE "[^/]+" ".." up "${tree}/${folder}")
    string(REGEX REPLACE "/+$" "" up "${up}")
    file(MAKE_DIRECTORY "${out}/gasnet-build/${folder}")
    file(CREATE_LINK "${up}/${file}" "${out}/gasnet-build/${name}" SYMBOLIC)
    install(FILES "${out}/gasnet-build/${name}" DESTINATION "${tree}/${folder}")
endfunction()

install(FILES "${PROJECT_SOURCE_DIR}/include/gasnet_config.h" DESTINATION "${tree}")
configure_file(build_tree/Makefile "${out}/gasnet-build/Makefile" @ONLY)
install(FILES "${out}/gasnet-build/Makefile" DESTINATION "${tree}")
foreach(name IN ITEMS config.status link-installed)
    configure_file(build_tree/${name}.in "${out}/gasnet-build/${name}" @ONLY)
    install(PROGRAMS "${out}/gasnet-build/${name}" DESTINATION "${tree}")
endforeach()
foreach(PEN_NET IN LISTS nets)
    configure_file(build_tree/conduit/Makefile "${out}/gasnet-build/${PEN_NET}-conduit/Makefile" @ONLY)
    install(FILES "${out}/gasnet-build/${PEN_NET}-conduit/Makefile"
        DESTINATION "${tree}/${PEN_NET}-conduit")
    foreach(mode IN ITEMS seq par parsync)
        tree_link(${PEN_NET}-conduit/${PEN_NET}-${mode}.mak
            ${CMAKE_INSTALL_INCLUDEDIR}/${PEN_NET}-conduit/${PEN_NET}-${mode}.mak)
    endforeach()
    foreach(folder IN ITEMS bin contrib) # where launchers are in such a tree depends on its release
        tree_link(${folder}/gasnetrun_${PEN_NET} ${CMAKE_INSTALL_BINDIR}/gasnetrun_${PEN_NET})
    endforeach()
endforeach()
foreach(folder IN ITEMS bin other/amudp)
    tree_link(${folder}/amudprun ${CMAKE_INSTALL_BINDIR}/amudprun)
endforeach()
