// Damaged models and files of external data: each is an error or a graph that verifies; under the sanitizers this also
// looks for reads beyond the bytes. TILEWRIGHT_FUZZ_CORPUS names a folder of more models (tests/fuzz/onnx_corpus.py
// makes one that holds every operator).
#include <filesystem>
#include <fstream>

#include "tilewright/base/fuzz_testing.h"
#include "tilewright/frontends/onnx/load.h"
#include "tilewright/frontends/onnx/model_testing.h"

namespace tilewright::onnx {
namespace {
using namespace testing;

std::string whole_model() {
  const std::string branch = field(5, field(1, "then_branch") + field(6, node("Relu", {"x"}, {"t"}) + output("t"))) +
                             field(5, field(1, "else_branch") + field(6, node("Neg", {"x"}, {"e"}) + output("e")));
  const std::string body = field(1, "F") + field(10, "own") + field(4, "a") + field(5, "b") +
                           field(7, field(1, "a") + field(2, "b") + field(4, "Mish"));
  return model(node("Shape", {"x"}, {"s"}) + node("Reshape", {"x", "s"}, {"r"}) + node("If", {"c"}, {"i"}, branch) +
               node("Slice", {"r", "a", "b", "axes"}, {"l"}) + node("Add", {"l", "l"}, {"y"}) +
               field(1, field(1, "y") + field(2, "z") + field(4, "F") + field(7, "own")) + initializer("a", {0}) +
               initializer("b", {2}) + initializer("axes", {1}) + input("x", 1, dim("B") + dim(8)) + input("c", 9, "") +
               output("z") + output("i")) +
         field(25, body);
}

std::vector<std::string> models() {
  std::vector<std::string> out{whole_model()};
  const char* folder = std::getenv("TILEWRIGHT_FUZZ_CORPUS");
  if (folder == nullptr) return out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx" || entry.file_size() > 1 << 16) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return out;
}

bool is_error_or_graph(const std::string& bytes, const std::string& path = {}) {
  const auto owner = std::make_shared<std::string>(bytes);
  const auto imported = import_bytes({*owner, owner}, path);
  if (!imported.ok()) {
    EXPECT_FALSE(imported.error().message.empty());
    return false;
  }
  const Status good = verify(*imported->graph);
  EXPECT_TRUE(good.ok()) << good.error().message;
  return true;
}

TEST(OnnxFuzz, TheWholeModelIsGood) {
  const std::string bytes = whole_model();
  const auto owner = std::make_shared<std::string>(bytes);
  const auto imported = import_bytes({*owner, owner});
  ASSERT_TRUE(imported.ok()) << imported.error().message;
}

TEST(OnnxFuzz, EveryPrefixIsAnErrorOrAGraph) {
  const std::string bytes = whole_model();
  for (std::size_t size = 0; size < bytes.size(); ++size) is_error_or_graph(bytes.substr(0, size));
}

TEST(OnnxFuzz, ChangedBytesAreAnErrorOrAGraph) {
  const std::vector<std::string> corpus = models();
  std::uint64_t imported = 0;
  tilewright::testing::FuzzRun run;
  while (run.next()) {
    std::string damaged = corpus[run.below(corpus.size())];
    if (run.below(4) == 0) {  // a piece of another model
      const std::string& other = corpus[run.below(corpus.size())];
      damaged.insert(run.below(damaged.size()), other, run.below(other.size()), run.below(60));
    }
    damage(damaged, run);
    imported += is_error_or_graph(damaged);
  }
  EXPECT_GT(imported, run.rounds() / 100);
}

// A weight of two floats in a file beside the model: where it lies is damaged, and the file.
std::string external_weight(std::string_view location, std::string_view offset, std::string_view length) {
  const auto entry = [](std::string_view key, std::string_view value) {
    return field(13, field(1, key) + field(2, value));
  };
  const std::string tensor = field(1, std::int64_t{2}) + field(2, std::int64_t{1}) + field(8, "w") +
                             entry("location", location) + entry("offset", offset) + entry("length", length) +
                             field(14, std::int64_t{1});
  return model(node("Add", {"x", "w"}, {"y"}) + field(5, tensor) + input("x", 1, dim(2)) + output("y"));
}

TEST(OnnxExternalDataFuzz, DamagedPlacesAndFilesAreAnErrorOrAGraph) {
  const std::string folder = ::testing::TempDir() + "external-" + std::to_string(std::random_device()());
  std::filesystem::create_directories(folder + "/sub");
  static constexpr std::string_view kLocations[] = {"w",           "sub/w", "sub",     "..",  "../w",   "sub/../w",
                                                    "/etc/passwd", "",      "missing", "./w", "sub//w", "w/"};
  static constexpr std::string_view kNumbers[] = {"0",
                                                  "1",
                                                  "4",
                                                  "8",
                                                  "9",
                                                  "",
                                                  "-1",
                                                  "4096",
                                                  "18446744073709551615",
                                                  "18446744073709551616",
                                                  "9223372036854775807",
                                                  "0x8",
                                                  " 8",
                                                  "8 "};
  std::uint64_t imported = 0;
  tilewright::testing::FuzzRun run;
  while (run.next()) {
    for (const char* name : {"/w", "/sub/w"})
      std::ofstream(folder + name, std::ios::binary) << std::string(run.below(24), '\x3f');
    const auto number = [&] { return run.below(2) == 0 ? kNumbers[0] : kNumbers[run.below(std::size(kNumbers))]; };
    std::string bytes = external_weight(run.below(2) == 0 ? "w" : kLocations[run.below(std::size(kLocations))],
                                        number(), run.below(2) == 0 ? "8" : number());
    if (run.below(2) == 0) damage(bytes, run);
    imported += is_error_or_graph(bytes, folder + "/model.onnx");
  }
  std::filesystem::remove_all(folder);
  EXPECT_GT(imported, run.rounds() / 100);
}

}  // namespace
}  // namespace tilewright::onnx
