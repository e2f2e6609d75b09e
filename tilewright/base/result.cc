#include "tilewright/base/result.h"

namespace tilewright {

const ErrorKindInfo& info(ErrorKind kind) {
  static constexpr ErrorKindInfo kInfos[] = {
#define ERROR_KIND(Name, text, exit_code, http_status, python) {text, exit_code, http_status, python},
#include "tilewright/base/error_kinds.def"
#undef ERROR_KIND
  };
  return kInfos[static_cast<int>(kind)];
}

}  // namespace tilewright
