# cmake --install: one archive libtilewright.a made of the objects of every layer, the headers, and a CMake package, so that
# find_package(tilewright) gives the target tilewright::tilewright. Components: library (this file), tools (the command),
# python (the extension, used by the wheel).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(objects)
foreach(layer base tensor graph passes frontends_onnx isa compiler vm_reference vm_cpu runtime vm_cpu_portable vm_cpu_avx2 vm_cpu_avx512)
  if(TARGET tw_${layer})
    get_target_property(kind tw_${layer} TYPE)
    if(NOT kind STREQUAL "INTERFACE_LIBRARY")
      list(APPEND objects $<TARGET_OBJECTS:tw_${layer}>)
    endif()
  endif()
endforeach()
if(SKBUILD)
  return()  # a wheel holds the extension and the command only
endif()
add_library(tilewright STATIC ${objects})
set_target_properties(tilewright PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME tilewright)
target_compile_features(tilewright INTERFACE cxx_std_20)
target_link_libraries(tilewright INTERFACE Threads::Threads)
target_include_directories(tilewright INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(tilewright::tilewright ALIAS tilewright)

# For other languages: the C interface (runtime/c_api.h) in a shared library; everything else in it is hidden.
add_library(tilewright_c SHARED EXCLUDE_FROM_ALL ${objects})
set_target_properties(tilewright_c PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(tilewright_c PRIVATE Threads::Threads)
install(TARGETS tilewright_c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library OPTIONAL)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
install(TARGETS tilewright EXPORT tilewright ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT tilewright NAMESPACE tilewright:: DESTINATION ${package_folder} COMPONENT library)
install(DIRECTORY tilewright DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
file(CONFIGURE OUTPUT tilewright-config.cmake @ONLY CONTENT [=[
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_path(TILEWRIGHT_FMT_INCLUDE fmt/core.h)
if(NOT TILEWRIGHT_FMT_INCLUDE)
  set(tilewright_FOUND FALSE)
  set(tilewright_NOT_FOUND_MESSAGE "tilewright's headers include fmt/core.h, which was not found (Debian: libfmt-dev)")
  return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/tilewright.cmake")
target_include_directories(tilewright::tilewright SYSTEM INTERFACE ${TILEWRIGHT_FMT_INCLUDE})
]=])
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tilewright-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tilewright-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tilewright-config-version.cmake
        DESTINATION ${package_folder} COMPONENT library)
