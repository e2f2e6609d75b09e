#include "cli/model.h"

#include "cli/command.h"

namespace tilewright::cli {

Result<std::unique_ptr<Graph>> read_graph(const std::string& path) {
  TW_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  if (!is_text(bytes)) return fail(ErrorKind::kUnsupported, "{}: not a graph in text form", path);
  auto graph = parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!graph.ok()) return std::move(graph).error().in(path);
  if (Status good = verify(**graph); !good.ok()) return std::move(good).error().in(path);
  return graph;
}

Result<std::unique_ptr<runtime::Session>> open_session(const std::string& path,
                                                       const runtime::SessionOptions& options) {
  TW_ASSIGN(std::unique_ptr<Graph> graph, read_graph(path));
  auto session = runtime::Session::compile(std::move(graph), options);
  if (!session.ok()) return std::move(session).error().in(path);
  return session;
}

}  // namespace tilewright::cli
