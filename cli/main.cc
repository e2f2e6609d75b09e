// tilewright: runs, looks into, checks and times models and bytecode programs without Python.
#include "cli/command.h"

int main(int argc, char** argv) {
  using namespace tilewright;
  CLI::App app("Compiles dynamic tensor programs while they run.", "tilewright");
  app.set_version_flag("--version", std::string("tilewright ") + TILEWRIGHT_VERSION);
  app.require_subcommand(1);
  cli::Outcome outcome;
  cli::add_inspect(app, outcome);
  cli::add_verify(app, outcome);
  cli::add_run(app, outcome);
  cli::add_export(app, outcome);
  cli::add_bench(app, outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : info(ErrorKind::kInvalidArgument).exit_code;
  }
  return outcome.exit_code;
}
