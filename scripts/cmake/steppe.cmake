# SPDX-License-Identifier: Apache-2.0
#
# Language level, warnings, libraries and the three functions that every folder is described with.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(STEPPE_WERROR "Treat warnings as errors" OFF)
option(STEPPE_SANITIZE "Build with the address and undefined-behaviour sanitizers" OFF)

find_program(CCACHE ccache)
if(CCACHE)
  # ccache takes precompiled headers only when told that their time stamps do not matter.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  add_compile_options(-fpch-preprocess)
endif()
find_program(MOLD mold)

# Rounding is part of the contract between compiler and models: no fused multiply-add behind our back.
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
                    -ffp-contract=off)
if(STEPPE_WERROR)
  add_compile_options(-Werror)
endif()
if(STEPPE_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(SC REQUIRED IMPORTED_TARGET systemc tlm)

# SystemC of Debian is built as C++17 and refuses to link with C++20 unless told so.
add_library(steppe_systemc INTERFACE)
target_link_libraries(steppe_systemc INTERFACE PkgConfig::SC)
target_compile_definitions(steppe_systemc INTERFACE SC_CPLUSPLUS=201703L SC_INCLUDE_DYNAMIC_PROCESSES)
add_library(steppe::systemc ALIAS steppe_systemc)

# One precompiled SystemC, reused by every library and test that links it.
file(WRITE ${CMAKE_BINARY_DIR}/systemc_pch.cpp "")
add_library(steppe_systemc_pch OBJECT ${CMAKE_BINARY_DIR}/systemc_pch.cpp)
target_link_libraries(steppe_systemc_pch PUBLIC steppe::systemc fmt::fmt)
target_precompile_headers(steppe_systemc_pch PRIVATE <systemc> <tlm> <fmt/format.h> <vector> <string>)

function(_steppe_common target)
  cmake_parse_arguments(ARG "SYSTEMC" "" "SOURCES;DEPS" ${ARGN})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(${target} PUBLIC ${ARG_DEPS} fmt::fmt nlohmann_json::nlohmann_json)
  if(ARG_SYSTEMC)
    target_link_libraries(${target} PUBLIC steppe::systemc)
    target_precompile_headers(${target} REUSE_FROM steppe_systemc_pch)
  endif()
endfunction()

# steppe_library(models_noc [SYSTEMC] SOURCES … [DEPS …]) defines the target steppe::models_noc.
function(steppe_library name)
  cmake_parse_arguments(ARG "SYSTEMC" "" "SOURCES;DEPS" ${ARGN})
  add_library(steppe_${name} STATIC ${ARG_SOURCES})
  add_library(steppe::${name} ALIAS steppe_${name})
  _steppe_common(steppe_${name} ${ARGN})
endfunction()

# steppe_schema(workloads_package package.fbs) gives a library the header that flatc makes of a schema.
function(steppe_schema library file)
  find_program(FLATC flatc REQUIRED)
  get_filename_component(name ${file} NAME_WE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/schema)
  add_custom_command(
    OUTPUT ${folder}/${name}_generated.h
    COMMAND ${FLATC} --cpp --cpp-std c++17 --scoped-enums -o ${folder} ${CMAKE_CURRENT_SOURCE_DIR}/${file}
    DEPENDS ${file}
    COMMENT "Schema ${file}" VERBATIM)
  target_sources(steppe_${library} PRIVATE ${folder}/${name}_generated.h)
  # Not ours to warn about.
  target_include_directories(steppe_${library} SYSTEM PRIVATE ${folder})
endfunction()

# steppe_program(steppe [SYSTEMC] SOURCES … [DEPS …]) puts an executable into bin/.
function(steppe_program name)
  cmake_parse_arguments(ARG "SYSTEMC" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  _steppe_common(${name} ${ARGN})
endfunction()

# steppe_test(noc_test [SYSTEMC] SOURCES … [DEPS …]): doctest cases, each a ctest test in a process of
# its own, since a process holds one SystemC simulation.
function(steppe_test name)
  cmake_parse_arguments(ARG "SYSTEMC" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SYSTEMC)
    set(main $<TARGET_OBJECTS:steppe_test_sc_main>)
  else()
    set(main $<TARGET_OBJECTS:steppe_test_main>)
  endif()
  add_executable(${name} ${ARG_SOURCES} ${main})
  _steppe_common(${name} ${ARGN})
  target_link_libraries(${name} PUBLIC doctest::doctest)
  doctest_discover_tests(${name} TEST_PREFIX "${name}: " PROPERTIES TIMEOUT 300
                         SKIP_REGULAR_EXPRESSION "skipped: ")
endfunction()

# Adds those of the named subfolders that are there.
function(steppe_subdirectories)
  foreach(folder ${ARGN})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()
