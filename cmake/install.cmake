# What `cmake --install` puts where, and the Debian packages that CPack makes of it (docs/installing.md). Three components: `tilebeat`
# is what a user runs, `development` what a C or C++ program is built with, `python` the package of Python.
include(CMakePackageConfigHelpers)
set(TILEBEAT_BASH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/bash-completion/completions CACHE STRING
  "Folder for the completion of bash, below the prefix")
set(TILEBEAT_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING
  "Folder for the completion of zsh, below the prefix")

# Manual page, completion and the schemas that `tilebeat new` points at are what the program prints.
set(printed ${PROJECT_BINARY_DIR}/printed)
file(MAKE_DIRECTORY ${printed})
set(page ${printed}/tilebeat.1)
add_custom_command(OUTPUT ${page} ${printed}/tilebeat.bash ${printed}/_tilebeat
  COMMAND tilebeat manual > ${page}
  COMMAND tilebeat completion bash > ${printed}/tilebeat.bash
  COMMAND tilebeat completion zsh > ${printed}/_tilebeat
  DEPENDS tilebeat VERBATIM)
set(schemas)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/schemas)
foreach(kind hardware workload mapping report sweep suite whatif)
  set(file ${PROJECT_BINARY_DIR}/schemas/${kind}.schema.json)
  add_custom_command(OUTPUT ${file} COMMAND tilebeat schema ${kind} > ${file} DEPENDS tilebeat VERBATIM)
  list(APPEND schemas ${file})
endforeach()
add_custom_target(tilebeat_printed ALL DEPENDS ${page} ${printed}/tilebeat.bash ${printed}/_tilebeat ${schemas})

install(TARGETS tilebeat COMPONENT tilebeat)
# The library of C's interface goes with the command that it starts; what programs are linked by is for their development.
install(TARGETS tilebeat_shared EXPORT tilebeat-client-targets LIBRARY COMPONENT tilebeat NAMELINK_COMPONENT development)
install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tilebeat)
install(FILES ${printed}/tilebeat.bash DESTINATION ${TILEBEAT_BASH_COMPLETIONS} RENAME tilebeat COMPONENT tilebeat)
install(FILES ${printed}/_tilebeat DESTINATION ${TILEBEAT_ZSH_COMPLETIONS} COMPONENT tilebeat)
install(DIRECTORY configs models DESTINATION ${CMAKE_INSTALL_DATADIR}/tilebeat COMPONENT tilebeat)
install(FILES ${schemas} DESTINATION ${CMAKE_INSTALL_DATADIR}/tilebeat/schemas COMPONENT tilebeat)
# `tilebeat mcp` reads the pages: they lie where the program may count on them, and the folder of documents has a link to them.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/tilebeat COMPONENT tilebeat)
file(RELATIVE_PATH docs_from_docdir /${CMAKE_INSTALL_DOCDIR} /${CMAKE_INSTALL_DATADIR}/tilebeat/docs)
file(CREATE_LINK ${docs_from_docdir} ${printed}/docs SYMBOLIC)
install(FILES ${printed}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tilebeat)
install(FILES README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tilebeat)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT tilebeat)

# The Python package finds the command and the library where they are installed.
if(TARGET tilebeat_python)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/python/tilebeat DESTINATION lib/python3/dist-packages COMPONENT python
    PATTERN bundled EXCLUDE PATTERN __pycache__ EXCLUDE)
endif()

# The library: the levels from `base` to `embed` in one archive, without the command line and the readers of model files.
set(library_levels base schema workload config host reference isa program planner_language engines engine_list planner kernels observe report sim
  fabric units engines_sim engine_units system embed)
set(objects)
foreach(level IN LISTS library_levels)
  get_target_property(type tilebeat_${level} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    list(APPEND objects $<TARGET_OBJECTS:tilebeat_${level}>)
  endif()
endforeach()
add_library(tilebeat_library STATIC ${objects})
set_target_properties(tilebeat_library PROPERTIES OUTPUT_NAME tilebeat EXPORT_NAME tilebeat LINKER_LANGUAGE CXX)
target_compile_features(tilebeat_library INTERFACE cxx_std_17)
# Users see the headers of include/tilebeat alone, which know the standard library and SystemC. What the archive is linked with besides
# has no part in compiling.
target_include_directories(tilebeat_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(tilebeat_library INTERFACE PkgConfig::SYSTEMC Threads::Threads $<LINK_ONLY:fmt::fmt> $<LINK_ONLY:PkgConfig::LZ4>
  $<LINK_ONLY:PkgConfig::YAML>)

install(TARGETS tilebeat_library EXPORT tilebeat-targets ARCHIVE COMPONENT development)
install(DIRECTORY include/tilebeat DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/tilebeat COMPONENT development)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tilebeat)
install(EXPORT tilebeat-client-targets NAMESPACE tilebeat:: DESTINATION ${package} COMPONENT development)
install(EXPORT tilebeat-targets NAMESPACE tilebeat:: DESTINATION ${package} COMPONENT development)
file(RELATIVE_PATH include_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/tilebeat.pc.in ${PROJECT_BINARY_DIR}/tilebeat.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tilebeat.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
configure_package_config_file(cmake/tilebeat-config.cmake.in ${PROJECT_BINARY_DIR}/tilebeat-config.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tilebeat-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tilebeat-config.cmake ${PROJECT_BINARY_DIR}/tilebeat-config-version.cmake
  DESTINATION ${package} COMPONENT development)

set(CPACK_PACKAGE_NAME tilebeat)
set(CPACK_PACKAGE_VENDOR Tilebeat)
# Debian wants a maintainer with an address. Whoever builds packages for others is that; until somebody says
# so, the package says that it is a local build, with an address that can belong to nobody (RFC 2606).
set(TILEBEAT_PACKAGE_MAINTAINER "Local build of Tilebeat <nobody@tilebeat.invalid>"
    CACHE STRING "Maintainer of the Debian packages: Name <address>")
set(CPACK_PACKAGE_CONTACT "${TILEBEAT_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "cycle-accurate, bit-exact simulator of a neural-network processor")
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tilebeat development python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_TILEBEAT_PACKAGE_NAME tilebeat)
set(CPACK_DEBIAN_TILEBEAT_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TILEBEAT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtilebeat-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "tilebeat (= ${PROJECT_VERSION}), libsystemc-dev, libfmt-dev, liblz4-dev, libyaml-dev, pkg-config")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "cmake, g++")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tilebeat)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "tilebeat (= ${PROJECT_VERSION}), python3, python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-pandas, python3-matplotlib")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "Tilebeat from Python
NumPy arrays go in and come out of a simulated neural-network processor; tables of cycles, sweeps and plots.")
set(CPACK_DEBIAN_TILEBEAT_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION_SUMMARY}
Two JSON files go in, hardware and a layer or network; out come results, the cycles of every module, a waveform and a timeline.")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "headers and library of Tilebeat
A simulated neural-network processor as a module of a SystemC top level of one's own.")
include(CPack)
