#include "api/document.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Writes a tree on one line with the place of every key and value, so that a test can show all of
// it: {key@line:column=value@line:column ...}.
std::string Show(const Value& value);

std::string ShowAt(Position position) {
  return "@" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

struct Shower {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool boolean) const { return boolean ? "true" : "false"; }
  std::string operator()(std::int64_t integer) const { return std::to_string(integer); }
  std::string operator()(double number) const { return "double " + std::to_string(number); }
  std::string operator()(const std::string& text) const { return Quoted(text); }
  std::string operator()(const List& list) const {
    std::string shown = "[";
    for (const Value& item : list) shown += (shown.size() > 1 ? " " : "") + Show(item);
    return shown + "]";
  }
  std::string operator()(const Object& object) const {
    std::string shown = "{";
    for (const Member& member : object) {
      shown += (shown.size() > 1 ? " " : "") + member.key + ShowAt(member.position) + "=" +
               Show(member.value);
    }
    return shown + "}";
  }
};

std::string Show(const Value& value) {
  return std::visit(Shower{}, value.content) + ShowAt(value.position);
}

std::string Read(std::string_view text) {
  const auto document = ReadDocument(text);
  if (!document) {
    const DocumentError& error = document.error();
    return "error" + ShowAt(error.position) + " " + error.pointer + ": " + error.message;
  }
  std::string shown = Show(document->root);
  for (const DocumentError& error : document->duplicate_keys) {
    shown += " duplicate" + ShowAt(error.position) + " " + error.pointer;
  }
  return shown;
}

// The one scalar of a YAML text, without its place.
std::string ReadScalar(std::string_view scalar) {
  const auto document = ReadDocument("k: " + std::string(scalar));
  if (!document) return document.error().message;
  return std::visit(Shower{}, std::get<Object>(document->root.content).at(0).value.content);
}

// 123456789012345
// a:              line 1
//   b: [1, {c: x}]
//   d: y
TEST(DocumentTest, PlacesKeysAndValuesOfNestedBlockAndFlowYaml) {
  EXPECT_EQ(Read("a:\n  b: [1, {c: x}]\n  d: y\n"),
            "{a@1:1={b@2:3=[1@2:7 {c@2:11=\"x\"@2:14}@2:10]@2:6 d@3:3=\"y\"@3:6}@2:3}@1:1");
}

TEST(DocumentTest, PlacesItemsOfABlockList) {
  EXPECT_EQ(Read("- a\n-\n  - b: 1\n    c: 2\n"),
            "[\"a\"@1:3 [{b@3:5=1@3:8 c@4:5=2@4:8}@3:5]@3:3]@1:1");
}

TEST(DocumentTest, PlacesKeysAndValuesOfJsonIndentedWithTabs) {
  EXPECT_EQ(Read("{\n\t\"a\": {\"b\":\t[1, true],\n\t\t\"c\":null}, \"d\" : -2.5e0\n}\n"),
            "{a@2:2={b@2:8=[1@2:14 true@2:17]@2:13 c@3:3=null@3:7}@2:7 "
            "d@3:14=double -2.500000@3:20}@1:1");
}

// The backslashes before the quotation mark are two and an escaped mark: the string goes on.
TEST(DocumentTest, KeepsItsPlaceAfterEscapesInJsonStrings) {
  EXPECT_EQ(Read(R"({"a\\\"":"x]}, \"","b":"\/A"})"),
            R"({a\"@1:2="x]}, \""@1:10 b@1:20="/A"@1:24}@1:1)");
}

TEST(DocumentTest, CountsColumnsInBytesInBothFormats) {
  EXPECT_EQ(Read("é: ü"), "{é@1:1=\"ü\"@1:5}@1:1");
  EXPECT_EQ(Read(R"({"é":"ü"})"), "{é@1:2=\"ü\"@1:7}@1:1");
}

TEST(DocumentTest, LeavesOutAByteOrderMarkWhenItCounts) {
  EXPECT_EQ(Read("\xEF\xBB\xBF{\"a\":1}"), "{a@1:2=1@1:6}@1:1");
  EXPECT_EQ(Read("\xEF\xBB\xBF"
                 "a: 1"),
            "{a@1:1=1@1:4}@1:1");
}

TEST(DocumentTest, CountsAWindowsLineEndAsOneLine) {
  EXPECT_EQ(Read("a: 1\r\nb: 2\r\n"), "{a@1:1=1@1:4 b@2:1=2@2:4}@1:1");
  EXPECT_EQ(Read("{\"a\":1,\r\n\"b\":2}"), "{a@1:2=1@1:6 b@2:1=2@2:5}@1:1");
}

TEST(DocumentTest, PlacesAValueThatIsLeftOutAtItsKey) {
  EXPECT_EQ(Read("a:\n  b:\n  c: ~\n"), "{a@1:1={b@2:3=null@2:3 c@3:3=null@3:6}@2:3}@1:1");
}

TEST(DocumentTest, TypesPlainScalarsByTheCoreSchema) {
  EXPECT_EQ(ReadScalar("true"), "true");
  EXPECT_EQ(ReadScalar("False"), "false");
  EXPECT_EQ(ReadScalar("NULL"), "null");
  EXPECT_EQ(ReadScalar("+12"), "12");
  EXPECT_EQ(ReadScalar("-12"), "-12");
  EXPECT_EQ(ReadScalar("012"), "12");   // octal in YAML 1.1
  EXPECT_EQ(ReadScalar("0o17"), "15");  // 8 + 7
  EXPECT_EQ(ReadScalar("0xfF"), "255");
  EXPECT_EQ(ReadScalar("1.5"), "double 1.500000");
  EXPECT_EQ(ReadScalar("-.5E+1"), "double -5.000000");
  EXPECT_EQ(ReadScalar("2."), "double 2.000000");
}

TEST(DocumentTest, KeepsAsAStringWhatTheCoreSchemaDoesNotType) {
  for (const std::string_view text :
       {"yes", "off", "tRUE", "1_000", "+-1", "1e", "0x", "0b1", ".", "1.2.3", "2026-01-01"}) {
    EXPECT_EQ(ReadScalar(text), Quoted(text));
  }
}

TEST(DocumentTest, KeepsQuotedAndBlockScalarsAsStrings) {
  EXPECT_EQ(ReadScalar("'true'"), "\"true\"");
  EXPECT_EQ(ReadScalar("\"12\""), "\"12\"");
  EXPECT_EQ(ReadScalar("''"), "\"\"");
  EXPECT_EQ(ReadScalar("|\n  12\n"), "\"12\\n\"");
}

TEST(DocumentTest, MakesADoubleOfAnIntegerBeyond64Bits) {
  EXPECT_EQ(Read("[9223372036854775807, 9223372036854775808, -9223372036854775809]"),
            "[9223372036854775807@1:2 double 9223372036854775808.000000@1:23 "
            "double -9223372036854775808.000000@1:44]@1:1");
  EXPECT_EQ(ReadScalar("9223372036854775808"), "double 9223372036854775808.000000");
}

TEST(DocumentTest, RefusesANumberThatNoDoubleHolds) {
  EXPECT_THAT(Read("{\"a\": 1e999}"), HasSubstr("error@1:7 /a: number overflow"));
  EXPECT_EQ(Read("a: 1e999"), "error@1:4 /a: the number is too large, or not a number");
  EXPECT_EQ(Read("a: .nan"), "error@1:4 /a: the number is too large, or not a number");
  EXPECT_EQ(Read("a: -.inf"), "error@1:4 /a: the number is too large, or not a number");
  const std::string digits(400, '9');
  EXPECT_EQ(Read("a: " + digits), "error@1:4 /a: the number is too large, or not a number");
}

TEST(DocumentTest, TellsEveryDuplicateKeyAndItsPlace) {
  EXPECT_EQ(Read(R"({"a": 1, "b": {"c": 1, "c": 2}, "a": 3})"),
            "{a@1:2=1@1:7 b@1:10={c@1:16=1@1:21 c@1:24=2@1:29}@1:15 a@1:33=3@1:38}@1:1 "
            "duplicate@1:24 /b/c duplicate@1:33 /a");
  EXPECT_EQ(Read("a: 1\nb:\n- a: 1\n  a: 2\n"),
            "{a@1:1=1@1:4 b@2:1=[{a@3:3=1@3:6 a@4:3=2@4:6}@3:3]@3:1}@1:1 duplicate@4:3 /b/0/a");
}

TEST(DocumentTest, TellsABoundedNumberOfDuplicateKeys) {
  std::string text;
  for (std::size_t i = 0; i < kMaxDuplicateKeys + 10; ++i) text += "a: 1\n";
  const auto document = ReadDocument(text);
  ASSERT_TRUE(document);
  EXPECT_THAT(document->duplicate_keys, SizeIs(kMaxDuplicateKeys));
}

TEST(DocumentTest, RefusesAnAnchorAnAliasAndATag) {
  EXPECT_EQ(Read("a: &x 1\nb: *x\n"), "error@1:4 /a: anchors are not supported");
  EXPECT_THAT(Read("a: *x\n"), HasSubstr("error@1:4"));
  EXPECT_EQ(Read("a: !!str 1"), "error@1:4 /a: tags are not supported");
  EXPECT_EQ(Read("a: !x {b: 1}"), "error@1:4 /a: tags are not supported");
}

// Nine lists of nine aliases each would be 9^9 values.
TEST(DocumentTest, DoesNotExpandABillionLaughs) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias;
    for (int j = 1; j < 9; ++j) text += ", " + alias;
    text += "]\n";
  }
  EXPECT_EQ(Read(text), "error@1:5 /a0: anchors are not supported");
}

TEST(DocumentTest, RefusesAKeyThatIsNoString) {
  EXPECT_THAT(Read("? [a]\n: 1\n"), HasSubstr("error@1:3 : a key must be a string"));
  EXPECT_THAT(Read("? {a: 1}\n: 1\n"), HasSubstr("error@1:3 : a key must be a string"));
  EXPECT_THAT(Read("~: 1\n"), HasSubstr("error@1:1 : a key must be a string"));
}

TEST(DocumentTest, RefusesATextWithoutADocument) {
  EXPECT_EQ(Read(""), "error@1:1 : the document is empty");
  EXPECT_EQ(Read(" \n\t\n"), "error@1:1 : the document is empty");
  EXPECT_EQ(Read("# a comment\n"), "error@1:1 : the document is empty");
}

TEST(DocumentTest, RefusesASecondDocument) {
  EXPECT_EQ(Read("a: 1\n---\nb: 2\n"),
            "error@2:1 : the document has ended; a file holds one document");
  EXPECT_EQ(Read("- a\nb: 1\n"), "error@2:1 : the document has ended; a file holds one document");
  EXPECT_THAT(Read("{\"a\": 1}\n{\"b\": 2}"), HasSubstr("error@2:1"));
}

TEST(DocumentTest, TakesTheMarkersOfASingleDocument) {
  EXPECT_EQ(Read("%YAML 1.2\n---\na: 1\n...\n"), "{a@3:1=1@3:4}@3:1");
}

TEST(DocumentTest, HoldsTextThatBeginsWithABracketToJson) {
  EXPECT_THAT(Read("{a: 1}"), HasSubstr("error@1:2"));
  EXPECT_THAT(Read("{\"a\": 1,}"), HasSubstr("error@1:9"));
  EXPECT_THAT(Read("{\"a\": 1 // no\n}"), HasSubstr("error@1:9"));
  EXPECT_THAT(Read("{\"a\": 01}"), HasSubstr("error@1:7"));
  EXPECT_THAT(Read("[1, 2"), HasSubstr("error@1:6"));
}

// The parser has read to the end of a token when it finds it wrong: the string "b" stands at column
// 9, the literal nope at column 7.
TEST(DocumentTest, PlacesAJsonSyntaxErrorAtTheTokenThatIsWrong) {
  const std::string shown = Read("{\"a\": 1 \"b\": 2}");
  EXPECT_THAT(shown, HasSubstr("error@1:9 : syntax error"));
  EXPECT_THAT(shown, ::testing::Not(HasSubstr("json.exception")));
  EXPECT_THAT(Read("{\"a\": nope}"), HasSubstr("error@1:7"));
}

TEST(DocumentTest, TakesWhatYamlReadersMissInJson) {
  EXPECT_EQ(Read("{\"a\"\n:\n1}"), "{a@1:2=1@3:1}@1:1");
  EXPECT_EQ(Read(R"(["\ud83d\ude00"])"), "[\"\xF0\x9F\x98\x80\"@1:2]@1:1");
}

TEST(DocumentTest, PlacesAYamlSyntaxError) {
  EXPECT_THAT(Read("a:\n  b: 1\n c: 2\n"), HasSubstr("error@3:2"));
  EXPECT_THAT(Read("a: 1\n\tb: 2\n"), HasSubstr("error@2:1"));
  EXPECT_THAT(Read("a: {b: 1\n"), HasSubstr("error@2:1 /a"));
}

TEST(DocumentTest, RefusesBytesThatAreNotUtf8) {
  EXPECT_EQ(Read("a: 1\nb: \xFF\n"), "error@2:4 : the text is not UTF-8");
  EXPECT_EQ(Read("{\"a\": \"\xC3\"}"), "error@1:8 : the text is not UTF-8");
  EXPECT_EQ(Read("a: \xC0\x80"), "error@1:4 : the text is not UTF-8");          // overlong
  EXPECT_EQ(Read("a: \xE0\x80\x80"), "error@1:4 : the text is not UTF-8");      // overlong
  EXPECT_EQ(Read("a: \xED\xA0\x80"), "error@1:4 : the text is not UTF-8");      // surrogate
  EXPECT_EQ(Read("a: \xF4\x90\x80\x80"), "error@1:4 : the text is not UTF-8");  // U+110000
  EXPECT_EQ(Read("a: \xE2\x82"), "error@1:4 : the text is not UTF-8");          // cut off
  EXPECT_EQ(Read(std::string("\xFF\xFE"
                             "a\0",
                             4)),
            "error@1:1 : the text is not UTF-8");
}

// yaml-cpp itself takes U+0004 for the end of the text, which would hide what follows.
TEST(DocumentTest, RefusesControlCharacters) {
  EXPECT_EQ(Read(std::string("a: 1\0b: 2", 9)),
            "error@1:5 : a control character is not allowed here");
  EXPECT_EQ(Read("a: 1\n\x04\nb: 2"), "error@2:1 : a control character is not allowed here");
  EXPECT_EQ(Read(std::string("{\"a\": \"\0\"}", 10)),
            "error@1:8 : a control character is not allowed here");
}

TEST(DocumentTest, TakesAsManyBytesAsTheLimitAndNoMore) {
  const std::string longest = "a: 1 #" + std::string(kMaxDocumentBytes - 6, 'x');
  EXPECT_EQ(Read(longest), "{a@1:1=1@1:4}@1:1");
  const auto document = ReadDocument(longest + "x");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind, ErrorKind::kTooLarge);
}

TEST(DocumentTest, TakesAsManyLevelsAsTheLimitAndNoMore) {
  const std::string open(kMaxDocumentDepth, '[');
  const std::string close(kMaxDocumentDepth, ']');
  for (const std::string before : {"", "# YAML\n"}) {
    std::string deepest = before;
    deepest.append(open).append(close);
    EXPECT_TRUE(ReadDocument(deepest));
    std::string deeper = before;
    deeper.append(open).append("[").append(close).append("]");
    const auto document = ReadDocument(deeper);
    ASSERT_FALSE(document);
    EXPECT_EQ(document.error().kind, ErrorKind::kTooLarge);
    EXPECT_EQ(document.error().position.column, static_cast<int>(kMaxDocumentDepth) + 1);
  }
}

TEST(DocumentTest, RefusesAMebibyteOfOpenBracketsOfEitherFormat) {
  for (const std::string_view before : {"", "#\n"}) {
    for (const char bracket : {'[', '{'}) {
      EXPECT_FALSE(ReadDocument(std::string(before) +
                                std::string(kMaxDocumentBytes - before.size(), bracket)));
    }
  }
  std::string dashes;
  while (dashes.size() + 2 <= kMaxDocumentBytes) dashes += "- ";
  EXPECT_FALSE(ReadDocument(dashes));
}

TEST(DocumentTest, RefusesAKeyAboveItsLimit) {
  const std::string key(kMaxKeyBytes, 'k');
  EXPECT_TRUE(ReadDocument("{\"" + key + "\": 1}"));
  const auto document = ReadDocument("{\"" + key + "k\": 1}");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind, ErrorKind::kTooLarge);
  EXPECT_FALSE(ReadDocument("\"" + key + "k\": 1"));
}

TEST(DocumentTest, BoundsTheMessageOfAParserThatQuotesItsInput) {
  const auto document = ReadDocument("[\"" + std::string(100'000, 'x'));
  ASSERT_FALSE(document);
  EXPECT_LE(document.error().message.size(), 200U);
}

TEST(DocumentTest, EscapesTildeAndSlashInPointers) {
  EXPECT_EQ(ChildPointer("/resources", "nvidia.com/gpu~1"), "/resources/nvidia.com~1gpu~01");
}

TEST(DocumentTest, CutsAQuotedTextBetweenCharacters) {
  // 63 bytes, then a character of two: the cut at 64 would halve it.
  const std::string text = std::string(63, 'x') + "é and more";
  EXPECT_EQ(Quoted(text), "\"" + std::string(63, 'x') + "\"...");
  EXPECT_EQ(Quoted("a\n\"b\""), R"("a\n\"b\"")");
}

// Whatever the bytes are, there is an answer, its place is inside of the text or just past it, and
// nothing is thrown. The alphabet is what the two grammars are made of.
TEST(DocumentTest, AnswersAnyText) {
  const std::string_view alphabet = "{}[]:,\"'-?&*!|>#%@` \n\t\\ab01.~\xC3\xA9";
  const unsigned seed = 20240601;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<std::size_t> letter(0, alphabet.size() - 1);
  std::uniform_int_distribution<std::size_t> length(0, 40);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t i = length(random); i > 0; --i) text += alphabet[letter(random)];
    const auto document = ReadDocument(text);
    if (document) continue;
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    EXPECT_GE(document.error().position.line, 1) << Quoted(text);
    EXPECT_LE(document.error().position.line, lines) << Quoted(text);
    EXPECT_GE(document.error().position.column, 1) << Quoted(text);
    EXPECT_FALSE(document.error().message.empty()) << Quoted(text);
  }
}

}  // namespace
}  // namespace offcut::api
