#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {

Result<DType> to_dtype(std::int64_t elem_type) {
  switch (static_cast<schema::TensorProtoDataType>(elem_type)) {
#define ELEM_TYPE(NAME, Name)                \
  case schema::TensorProtoDataType::k##NAME: \
    return DType::k##Name;
#include "tilewright/frontends/onnx/elem_types.def"
#undef ELEM_TYPE
    default:
      return fail(ErrorKind::kUnsupported, "element type {} ({}) has no counterpart",
                  schema::name_of_elem_type(elem_type), elem_type);
  }
}

std::optional<std::int64_t> elem_type_of(DType dtype) {
  switch (dtype) {
#define ELEM_TYPE(NAME, Name) \
  case DType::k##Name:        \
    return static_cast<std::int64_t>(schema::TensorProtoDataType::k##NAME);
#include "tilewright/frontends/onnx/elem_types.def"
#undef ELEM_TYPE
    default:
      return std::nullopt;
  }
}

}  // namespace tilewright::onnx
