#include "tilewright/frontends/onnx/texts/pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "tilewright/frontends/onnx/texts/unicode.h"

namespace tilewright::onnx {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto parsed = Pattern::parse(pattern);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() && parsed->matches(text);
}

TEST(Pattern, MatchesAllOfAText) {
  EXPECT_TRUE(matches("a+b*", "aab"));
  EXPECT_FALSE(matches("a+b*", "aabc"));
  EXPECT_TRUE(matches("(?:ab|cd){2,3}", "abcdab"));
  EXPECT_FALSE(matches("(?:ab|cd){2,3}", "ab"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_TRUE(matches(R"((\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$))", "account@gmail.com"));
  EXPECT_FALSE(matches(R"((\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$))", "account@hotmail.com"));
}

TEST(Pattern, KnowsClassesFlagsAndPlaces) {
  EXPECT_TRUE(matches("[[:alpha:]_][^0-9]*", "x_y"));
  EXPECT_TRUE(matches("(?i)HeLLo", "hEllO"));
  EXPECT_FALSE(matches("a.b", "a\nb"));
  EXPECT_TRUE(matches("(?s)a.b", "a\nb"));
  EXPECT_TRUE(matches(R"(\bab\b)", "ab"));
  EXPECT_TRUE(matches(".", "\xC3\xA9"));
  EXPECT_TRUE(matches(R"(\x41\x{42}\d)", "AB7"));
  EXPECT_TRUE(matches("a{,2}", "a{,2}"));
}

TEST(Pattern, TakesLinearTimeWhereBacktrackingDoesNot) {
  EXPECT_FALSE(matches("(a*)*b", std::string(5000, 'a')));
}

TEST(Pattern, WrongOnesAreErrorsWithTheirPlace) {
  for (const std::string_view wrong : {"(", ")", "[a", "*", "a{3,2}", "\\", "(?x)", "[b-a]", "a{2000}"}) {
    EXPECT_EQ(Pattern::parse(wrong).error().kind, ErrorKind::kInvalidArgument) << wrong;
  }
  EXPECT_EQ(Pattern::parse("a)").error().message, "the pattern is wrong at character 1: a ')' without its '('");
  EXPECT_FALSE(Pattern::parse(std::string(1000, '(')).ok());
  EXPECT_FALSE(Pattern::parse("((a{1000}){1000}){1000}").ok());
}

TEST(Unicode, LettersChangeTheirCase) {
  EXPECT_EQ(to_lower("\xC3\x84 \xCE\xA9 \xD0\x96 Z"), "\xC3\xA4 \xCF\x89 \xD0\xB6 z");
  EXPECT_EQ(to_upper("\xC3\xA4 \xCF\x89 \xD0\xB6 z"), "\xC3\x84 \xCE\xA9 \xD0\x96 Z");
  EXPECT_EQ(to_lower("\xFF\x80x"), "\xFF\x80x");  // bytes that are no UTF-8 stay
}

}  // namespace
}  // namespace tilewright::onnx
