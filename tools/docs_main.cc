// tw_docs: prints one generated page of docs/ from the tables it is made of. ./dev docs writes the pages,
// tools/check_docs.py compares them.
#include <cstdio>
#include <string>
#include <string_view>

#include "tilewright/frontends/onnx/export/export.h"
#include "tilewright/graph/ops_doc.h"
#include "tilewright/isa/isa_doc.h"

namespace {

std::string settings_markdown() {
  std::string out =
      "# Settings\n\nGenerated from `tilewright/base/settings.def` by `./dev docs`. Environment variables, read once "
      "when the "
      "library starts.\n\n| variable | values | default | meaning |\n|---|---|---|---|\n";
#define SETTING(name, values, fallback, meaning) out += "| `" name "` | " values " | " fallback " | " meaning " |\n";
#include "tilewright/base/settings.def"
#undef SETTING
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view page = argc == 2 ? argv[1] : "";
  std::string text;
  if (page == "ops") {
    text = tilewright::ops_markdown();
  } else if (page == "isa") {
    text = tilewright::isa::isa_markdown();
  } else if (page == "onnx_export") {
    text = tilewright::onnx::export_markdown();
  } else if (page == "settings") {
    text = settings_markdown();
  } else {
    std::fputs("usage: tw_docs ops|isa|settings|onnx_export\n", stderr);
    return 2;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}
