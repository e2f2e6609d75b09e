// What the subcommands share: reading a file, the two output forms (text and --json), errors as exit codes.
// A subcommand registers itself on the CLI11 app with its options and a callback that returns Status.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tilewright/base/result.h"

namespace tilewright::cli {

using Json = nlohmann::ordered_json;

// The exit code of the process: 0, or the code of the error's row in base/error_kinds.def.
struct Outcome {
  int exit_code = 0;
};

// Adds --json to `command`, and runs `body` when the command is chosen. With --json an error is printed as an object
// too. `body` gets true for --json.
void on_run(CLI::App& command, Outcome& outcome, std::function<Status(bool json)> body);

Result<std::vector<std::uint8_t>> read_file(const std::string& path);
Status write_file(const std::string& path, std::string_view bytes);
// True if `bytes` is text (a graph), false if it is one of the binary formats.
bool is_text(const std::vector<std::uint8_t>& bytes);
void print_json(const Json& value);

void add_inspect(CLI::App& app, Outcome& outcome);
void add_verify(CLI::App& app, Outcome& outcome);
void add_run(CLI::App& app, Outcome& outcome);
void add_export(CLI::App& app, Outcome& outcome);
void add_bench(CLI::App& app, Outcome& outcome);

}  // namespace tilewright::cli
