# asphalt for CMake: find_package(asphalt), then asphalt_transform(TARGET ...).
#
#   cmake -B build -Dasphalt_DIR=$(asphalt mk --cmake)
#
#   find_package(asphalt REQUIRED)
#   asphalt_transform(TARGET solver [PASSES nonblocking motion ...] [ASSUME timers ...])
#
# What the target compiles is transformed, proved with all Fortran sources of the project, which
# CMake writes into compile_commands.json.  It needs a generator of makefiles: Ninja compiles copies
# of the sources that the preprocessor has written.

find_program(ASPHALT_EXECUTABLE asphalt REQUIRED)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

function(asphalt_transform)
  cmake_parse_arguments(arg "" "TARGET" "PASSES;ASSUME" ${ARGN})
  if(NOT arg_TARGET OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "asphalt_transform(TARGET name [PASSES ...] [ASSUME ...])")
  endif()
  if(NOT CMAKE_GENERATOR MATCHES "Makefiles")
    message(FATAL_ERROR "asphalt_transform needs a generator of makefiles: cmake -G 'Unix Makefiles'")
  endif()
  set(command ${ASPHALT_EXECUTABLE} fc --database ${CMAKE_BINARY_DIR}/compile_commands.json)
  if(arg_PASSES)
    string(REPLACE ";" "," passes "${arg_PASSES}")
    list(APPEND command --passes ${passes})
  endif()
  if(arg_ASSUME)
    string(REPLACE ";" "," assumptions "${arg_ASSUME}")
    list(APPEND command --assume ${assumptions})
  endif()
  list(APPEND command --)
  set_target_properties(${arg_TARGET} PROPERTIES EXPORT_COMPILE_COMMANDS ON
    Fortran_COMPILER_LAUNCHER "${command}")
  get_target_property(kind ${arg_TARGET} TYPE)
  if(NOT kind MATCHES "STATIC_LIBRARY|OBJECT_LIBRARY")
    string(REPLACE ";" " " words "${command}")
    set_target_properties(${arg_TARGET} PROPERTIES RULE_LAUNCH_LINK "${words}")
  endif()
endfunction()
