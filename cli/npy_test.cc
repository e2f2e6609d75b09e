// .npy files: what is written is what is read, and no damage is more than an error.
#include "cli/npy.h"

#include "tilewright/base/fuzz_testing.h"

namespace tilewright::cli {
namespace {

std::vector<std::uint8_t> file_of(std::string_view header, std::size_t data = 0) {
  std::string text = "\x93NUMPY";
  text += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  text += header;
  text.append(data, '\x01');
  return {text.begin(), text.end()};
}

std::string error_of(std::string_view header, std::size_t data = 0) {
  const auto tensor = parse_npy(file_of(header, data));
  return tensor.ok() ? "read" : tensor.error().message;
}

TEST(Npy, AHeaderThatEndsBeforeItsTypeIsAnError) {
  EXPECT_EQ(error_of("{'shape': (2,), 'fortran_order': False, 'descr':"), "the header ends before the element type");
}

TEST(Npy, AnEmptyTensorOfHugeAxesIsAnError) {
  EXPECT_EQ(error_of("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904, 8), }"),
            "the shape is too large");
}

TEST(Npy, AnEmptyTensorIsRead) {
  const auto tensor = parse_npy(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }"));
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_EQ(tensor->count(), 0);
}

TEST(NpyFuzz, DamagedFilesAreAnErrorOrATensor) {
  static constexpr std::string_view kTypes[] = {"<f4", "<f8", "<f2", "|i1", "|b1", "<i8", ">f4", "<u2", "", "<"};
  static constexpr std::string_view kShapes[] = {"(2, 3)",
                                                 "(6,)",
                                                 "()",
                                                 "(0, 5)",
                                                 "(-1,)",
                                                 "(99999999999999999999,)",
                                                 "(4294967296, 4294967296)",
                                                 "(0, 9223372036854775807, 8)",
                                                 "(",
                                                 ""};
  std::uint64_t read = 0;
  tilewright::testing::FuzzRun run;
  while (run.next()) {
    const auto pick = [&](const auto& list) { return list[run.below(2) == 0 ? 0 : run.below(std::size(list))]; };
    std::string header = "{'descr': '" + std::string(pick(kTypes)) +
                         "', 'fortran_order': False, 'shape': " + std::string(pick(kShapes)) + ", }";
    std::vector<std::uint8_t> bytes = file_of(header, run.below(2) == 0 ? 24 : run.below(64));
    if (run.below(4) != 0) damage(bytes, run);
    const auto tensor = parse_npy(bytes);
    if (!tensor.ok()) {
      ASSERT_FALSE(tensor.error().message.empty());
      continue;
    }
    ++read;
    ASSERT_LE(tensor->bytes(), static_cast<std::int64_t>(bytes.size()));
  }
  EXPECT_GT(read, run.rounds() / 100);
}

}  // namespace
}  // namespace tilewright::cli
