#include "cli/command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace tilewright::cli {

namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

int report(const Error& error, bool json) {
  const ErrorKindInfo& kind = info(error.kind);
  if (json) {
    print_json({{"error", {{"kind", kind.text}, {"message", error.message}, {"exit_code", kind.exit_code}}}});
  } else {
    std::fprintf(stderr, "tilewright: %s: %s\n", kind.text, error.message.c_str());
  }
  return kind.exit_code;
}

}  // namespace

void on_run(CLI::App& command, Outcome& outcome, std::function<Status(bool)> body) {
  const auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "print one JSON object instead of text");
  command.callback([json, &outcome, body = std::move(body)] {
    const Status status = body(*json);
    if (!status.ok()) outcome.exit_code = report(status.error(), *json);
  });
}

Result<std::vector<std::uint8_t>> read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) return fail(ErrorKind::kNotFound, "{}: {}", path, std::strerror(errno));
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint8_t> chunk(1 << 16);
  while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    bytes.insert(bytes.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (std::ferror(file.get())) return fail(ErrorKind::kNotFound, "{}: {}", path, std::strerror(errno));
  return bytes;
}

Status write_file(const std::string& path, std::string_view bytes) {
  const File file(std::fopen(path.c_str(), "wb"));
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) {
    return fail(ErrorKind::kInvalidArgument, "{}: cannot write: {}", path, std::strerror(errno));
  }
  return {};
}

bool is_text(const std::vector<std::uint8_t>& bytes) {
  const auto head = bytes.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(bytes.size(), 4096));
  return std::all_of(bytes.begin(), head,
                     [](std::uint8_t byte) { return byte >= 32 || byte == '\n' || byte == '\t' || byte == '\r'; });
}

void print_json(const Json& value) {
  std::printf("%s\n", value.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace tilewright::cli
