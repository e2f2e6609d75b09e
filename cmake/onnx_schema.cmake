# The ONNX frontend reads messages with code made from the schema in the installed `onnx` Python package, and takes the
# function bodies of standard operators from it. Both are written when the library is built (tools/onnx_schema.py); what
# is built needs neither Python nor that package.
find_package(Python 3.9 COMPONENTS Interpreter)
set(onnx_hint "The ONNX frontend is made from the schema of the Python package `onnx` (1.23 or newer). \
Install it for the interpreter that CMake uses (pip install 'onnx>=1.23'), or name another with -DPython_EXECUTABLE=...")
if(NOT Python_Interpreter_FOUND)
  message(FATAL_ERROR "No Python interpreter was found. ${onnx_hint}")
endif()
execute_process(COMMAND ${Python_EXECUTABLE} -c "import onnx; print(onnx.__version__)" OUTPUT_VARIABLE onnx_version
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE onnx_error RESULT_VARIABLE onnx_missing)
if(onnx_missing)
  message(FATAL_ERROR "${Python_EXECUTABLE} cannot import onnx: ${onnx_error}${onnx_hint}")
endif()
if(onnx_version VERSION_LESS 1.23)
  message(FATAL_ERROR "${Python_EXECUTABLE} has onnx ${onnx_version}. ${onnx_hint}")
endif()
message(STATUS "ONNX schema: onnx ${onnx_version} of ${Python_EXECUTABLE}")

# tw_onnx_schema(target): adds the generated sources to `target`.
function(tw_onnx_schema target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/onnx_schema)
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/tools/onnx_schema.py)
  set(pages ${folder}/messages.h ${folder}/messages.cc ${folder}/message_writers.h ${folder}/message_writers.cc
      ${folder}/functions.cc ${folder}/opsets.cc)
  set(stamp ${folder}/onnx-${onnx_version})  # a new version of the package writes the sources again
  add_custom_command(OUTPUT ${pages} ${stamp}
                     COMMAND ${Python_EXECUTABLE} ${script} messages ${folder}
                     COMMAND ${Python_EXECUTABLE} ${script} functions ${folder}
                     COMMAND ${Python_EXECUTABLE} ${script} opsets ${folder}
                     COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
                     DEPENDS ${script} COMMENT "Writing the ONNX schema of onnx ${onnx_version}" VERBATIM)
  target_sources(${target} PRIVATE ${pages})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${folder}>)
endfunction()
