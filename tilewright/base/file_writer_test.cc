#include "tilewright/base/file_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace tilewright {
namespace {

class FileWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("file_writer_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ / name; }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::filesystem::path folder_;
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(FileWriterTest, AFinishedFileHasAllPieces) {
  FileWriter writer(path("a"));
  ASSERT_TRUE(writer.put("first ").ok());
  ASSERT_TRUE(writer.put("second").ok());
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  ASSERT_TRUE(writer.finish().ok());
  EXPECT_EQ(content_of(path("a")), "first second");
  EXPECT_EQ(count(), 1u);
}

TEST_F(FileWriterTest, WithoutFinishTheOldFileStays) {
  std::ofstream(path("a")) << "old";
  {
    FileWriter writer(path("a"));
    ASSERT_TRUE(writer.put("new").ok());
  }
  EXPECT_EQ(content_of(path("a")), "old");
  EXPECT_EQ(count(), 1u);
}

TEST_F(FileWriterTest, AFolderThatIsNotThereIsAnErrorWithThePath) {
  FileWriter writer(path("no/a"));
  EXPECT_FALSE(writer.put("x").ok());
  const Status status = writer.finish();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find(path("no/a") + ": cannot write: No such file"), std::string::npos);
}

TEST_F(FileWriterTest, AFileThatCannotTakeItsNameLeavesNothing) {
  std::filesystem::create_directory(path("a"));
  FileWriter writer(path("a"));
  ASSERT_TRUE(writer.put("x").ok());
  EXPECT_FALSE(writer.finish().ok());
  EXPECT_EQ(count(), 1u);  // the folder
}

}  // namespace
}  // namespace tilewright
