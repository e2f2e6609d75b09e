// Reads an ONNX model and gives its graph: what the layers above use of this one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tilewright/graph/graph.h"

namespace tilewright::onnx {

// Bytes that stay as long as their owner does.
struct Bytes {
  std::string_view content;
  std::shared_ptr<void> owner;
};
Result<Bytes> map_file(const std::string& path);

// Keys of metadata. An input or output whose dtype only carries its element type: its name after the key, and the name
// of the type. Of a string, which i64 carries: the number after the key, and the text; 0 is the empty one.
inline constexpr std::string_view kInputElement = "tilewright.element.input.";
inline constexpr std::string_view kOutputElement = "tilewright.element.output.";
inline constexpr std::string_view kString = "tilewright.string.";

struct Imported {
  std::unique_ptr<Graph> graph;
  std::map<std::string, Tensor> weights;  // by the name of the graph input that each is the value of
  std::map<std::string, std::string> metadata;
};

// `path` is where the bytes are from: external data lies beside it. Empty: there may be none.
Result<Imported> import_bytes(Bytes bytes, const std::string& path = {});

// Whether bytes may be an ONNX model, by the first of them.
bool looks_like_model(std::string_view bytes);

// Operators that have an importer, "domain.Name" or "Name", sorted.
std::vector<std::string> operator_names();

}  // namespace tilewright::onnx
