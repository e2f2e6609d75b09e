# tw_cpu_levels(vm/cpu): compiles the sources of tilewright/vm/cpu/level once per ISA level, each with its own flags and with
# TW_LEVEL set to the namespace of the level. The level is chosen at start; nothing outside these objects may use the wide
# instructions, so the sources must not instantiate shared inline code (standard containers and the like).
function(tw_cpu_levels folder)
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tilewright/${folder}/level/*.cc)
  list(FILTER sources EXCLUDE REGEX "(_test|_bench)\\.cc$")
  if(NOT sources)
    return()
  endif()
  # Conversions between dtypes are plain loops that the compiler vectorises; at -O2 g++ 12 leaves most of them scalar.
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/tilewright/${folder}/level/pack_copy.cc
                              ${CMAKE_CURRENT_SOURCE_DIR}/tilewright/${folder}/level/dot_copy.cc PROPERTIES COMPILE_OPTIONS -O3)
  # Strides are any number of bytes: elements may lie at odd addresses, and where an axis has one element, or there is
  # nothing to read, an address that is never used may wrap around. Every access is AddressSanitizer's to check.
  if(TILEWRIGHT_SANITIZE MATCHES "undefined")
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=alignment -fno-sanitize=pointer-overflow)
  endif()
  set(flags_portable "")
  set(flags_avx2 -march=x86-64-v3 -mtune=znver3)
  set(flags_avx512 -march=x86-64-v4 -mavx512vnni -mavx512bf16 -mtune=znver3 -mprefer-vector-width=512
                   -Wno-uninitialized -Wno-maybe-uninitialized)  # g++ 12 warns about its own intrinsics
  set(levels portable)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND levels avx2 avx512)
  endif()
  foreach(level ${levels})
    add_library(tw_${name}_${level} OBJECT ${sources})
    target_link_libraries(tw_${name}_${level} PRIVATE tw_options tw_isa)
    string(TOUPPER ${level} upper)
    target_compile_definitions(tw_${name}_${level} PRIVATE TW_LEVEL=${level} TW_LEVEL_${upper}=1)
    if(TILEWRIGHT_SANITIZE)  # sanitizers keep frames alive, so strip programs run from a loop instead of by tail calls
      target_compile_definitions(tw_${name}_${level} PRIVATE TW_STRIP_LOOP=1)
    endif()
    target_compile_options(tw_${name}_${level} PRIVATE ${flags_${level}} -fno-math-errno -fno-trapping-math
                           -ffp-contract=off -foptimize-sibling-calls)
    target_sources(tw_${name} PRIVATE $<TARGET_OBJECTS:tw_${name}_${level}>)
  endforeach()
endfunction()
