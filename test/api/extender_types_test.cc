#include "api/extender_types.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/extender_reader.h"
#include "test/api/padded_body.h"
#include "test/api/text_files.h"

namespace offcut::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The text without blanks outside strings, as kube-scheduler's compact bodies are.
std::string Compact(std::string_view text) {
  std::string compact;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) in_string = !in_string;
    if (in_string || (text[i] != ' ' && text[i] != '\n')) compact += text[i];
  }
  return compact;
}

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text;
}

// Reads the body by `read`, and prints what was read; an error stands for itself.
template <typename Read>
std::string Again(Read read, const std::string& body) {
  ExtenderReader reader;
  const PaddedBody padded(body);
  const auto value = (reader.*read)(padded.view());
  return value ? Print(*value) : "error: " + value.error().message;
}

std::string WireSample(const std::string& name) {
  return Compact(ReadTextFile(DataPath("wire-samples/" + name)));
}

template <typename Read>
void ExpectRoundTrip(Read read, const std::string& body) {
  EXPECT_EQ(Again(read, body), body);
  // Keys of the envelope come back in their own case, values as they were: lower too.
  EXPECT_EQ(Lower(Again(read, Lower(body))), Lower(body));
}

TEST(ExtenderTypesTest, Case1EveryBodyComesBackWithItsExactKeys) {
  ExpectRoundTrip(&ExtenderReader::ReadArgs, WireSample("filter-args-nodes.json"));
  ExpectRoundTrip(&ExtenderReader::ReadArgs, WireSample("filter-args-nodenames.json"));
  ExpectRoundTrip(&ExtenderReader::ReadFilterResult, WireSample("filter-result-nodenames.json"));
  ExpectRoundTrip(&ExtenderReader::ReadHostPriorityList, WireSample("prioritize-result.json"));
  ExpectRoundTrip(&ExtenderReader::ReadPreemptionArgs, WireSample("preempt-args-victims.json"));
  ExpectRoundTrip(&ExtenderReader::ReadPreemptionArgs, WireSample("preempt-args-metavictims.json"));
  ExpectRoundTrip(&ExtenderReader::ReadPreemptionResult, WireSample("preempt-result.json"));
  ExpectRoundTrip(&ExtenderReader::ReadBindingArgs, WireSample("bind-args.json"));
  ExpectRoundTrip(&ExtenderReader::ReadBindingResult, WireSample("bind-result-error.json"));
}

TEST(ExtenderTypesTest, Case1ALowerCaseCopyReadsAsTheSameValue) {
  EXPECT_EQ(Again(&ExtenderReader::ReadArgs, R"({"pod":{},"nodes":null,"nodenames":["n1"]})"),
            R"({"Pod":{},"Nodes":null,"NodeNames":["n1"]})");
  EXPECT_EQ(Again(&ExtenderReader::ReadArgs,
                  R"({"pod":{},"nodes":{"METADATA":{},"ITEMS":[{"Metadata":{"NAME":"n1"}}]}})"),
            R"({"Pod":{},"Nodes":{"metadata":{},"items":[{"Metadata":{"NAME":"n1"}}]},)"
            R"("NodeNames":null})");
  EXPECT_EQ(Again(&ExtenderReader::ReadFilterResult,
                  R"({"nodenames":["n1"],"failednodes":{"n2":"no"},)"
                  R"("failedandunresolvablenodes":{"n3":"never"},"error":"e"})"),
            R"({"Nodes":null,"NodeNames":["n1"],"FailedNodes":{"n2":"no"},)"
            R"("FailedAndUnresolvableNodes":{"n3":"never"},"Error":"e"})");
  EXPECT_EQ(Again(&ExtenderReader::ReadHostPriorityList, R"([{"host":"n1","score":7}])"),
            R"([{"Host":"n1","Score":7}])");
  EXPECT_EQ(Again(&ExtenderReader::ReadPreemptionArgs,
                  R"({"pod":{},"nodenametovictims":{"n":{"pods":[{"metadata":{"uid":"u"}}],)"
                  R"("numpdbviolations":2}},"nodenametometavictims":null})"),
            R"({"Pod":{},"NodeNameToVictims":{"n":{"Pods":[{"metadata":{"uid":"u"}}],)"
            R"("NumPDBViolations":2}},"NodeNameToMetaVictims":null})");
  EXPECT_EQ(Again(&ExtenderReader::ReadPreemptionResult,
                  R"({"nodenametometavictims":{"n":{"pods":[{"uid":"u"}],"numpdbviolations":1}}})"),
            R"({"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"u"}],"NumPDBViolations":1}}})");
  EXPECT_EQ(Again(&ExtenderReader::ReadBindingArgs,
                  R"({"podname":"p","podnamespace":"ns","poduid":"u","node":"n"})"),
            R"({"PodName":"p","PodNamespace":"ns","PodUID":"u","Node":"n"})");
  EXPECT_EQ(Again(&ExtenderReader::ReadBindingResult, R"({"error":"e"})"), R"({"Error":"e"})");
}

TEST(ExtenderTypesTest, EveryKeyIsPrintedOfAnEmptyValue) {
  EXPECT_EQ(Print(ExtenderArgs()), R"({"Pod":null,"Nodes":null,"NodeNames":null})");
  EXPECT_EQ(Print(ExtenderFilterResult()),
            R"({"Nodes":null,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},)"
            R"("Error":""})");
  EXPECT_EQ(Print(HostPriorityList()), "[]");
  EXPECT_EQ(Print(ExtenderPreemptionArgs()),
            R"({"Pod":null,"NodeNameToVictims":null,"NodeNameToMetaVictims":null})");
  EXPECT_EQ(Print(ExtenderPreemptionResult()), R"({"NodeNameToMetaVictims":{}})");
  EXPECT_EQ(Print(ExtenderBindingArgs()),
            R"({"PodName":"","PodNamespace":"","PodUID":"","Node":""})");
  EXPECT_EQ(Print(ExtenderBindingResult()), R"({"Error":""})");
}

TEST(ExtenderTypesTest, PrintsTextsWithWhatJsonMustEscapeAndNoMore) {
  std::string out;
  AppendJsonString(out, std::string_view("a\"b\\c\n\x01\x1f<>&/\x7f\0é\u2028", 19));
  EXPECT_EQ(out, "\"a\\\"b\\\\c\\u000a\\u0001\\u001f<>&/\x7f\\u0000é\u2028\"");
}

// The scan takes eight bytes at a time: every byte at every place of a text, against the rule.
TEST(ExtenderTypesTest, EscapesAByteWhereverItStands) {
  for (int value = 0; value < 0x80; ++value) {
    const char byte = static_cast<char>(value);
    for (std::size_t before = 0; before < 17; ++before) {
      std::string text(before, 'a');
      text += byte;
      text += "\x80 bbbbbbb";
      const bool is_escaped = value < 0x20 || byte == '"' || byte == '\\';
      std::string out;
      AppendJsonString(out, text);
      EXPECT_EQ(out.size() > text.size() + 2, is_escaped) << value << " after " << before;
      if (!is_escaped) {
        EXPECT_EQ(out, '"' + text + '"');
      }
    }
  }
}

TEST(ExtenderTypesTest, Case43ReadsTextsThatGoHasEscapedForHtml) {
  ExtenderReader reader;
  const PaddedBody body(
      R"({"PodName":"a\u003cb\u003e\u0026\u2028","PodUID":"\u0075","Node":"\ud83d\ude00"})");
  const auto args = reader.ReadBindingArgs(body.view());
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(args->pod_name, "a<b>&\u2028");
  EXPECT_EQ(args->pod_uid, "u");
  EXPECT_EQ(args->node, "😀");
}

TEST(ExtenderTypesTest, AKeyWrittenWithEscapesIsThatKey) {
  EXPECT_EQ(Again(&ExtenderReader::ReadArgs, R"({"Pod":{},"\u004eodeNames":["n"]})"),
            R"({"Pod":{},"Nodes":null,"NodeNames":["n"]})");
}

TEST(ExtenderTypesTest, TheLastOfSeveralMembersOfOneNameCounts) {
  EXPECT_EQ(Again(&ExtenderReader::ReadArgs,
                  R"({"Pod":{"a":1},"NodeNames":["n1"],"pod":{},"nodeNAMES":["n2"]})"),
            R"({"Pod":{},"Nodes":null,"NodeNames":["n2"]})");
  EXPECT_EQ(Again(&ExtenderReader::ReadArgs, R"({"Pod":{},"NodeNames":["n1"],"NodeNames":null})"),
            R"({"Pod":{},"Nodes":null,"NodeNames":null})");
  EXPECT_EQ(Again(&ExtenderReader::ReadBindingArgs, R"({"Node":"n1","Node":null})"),
            R"({"PodName":"","PodNamespace":"","PodUID":"","Node":""})");
  EXPECT_EQ(Again(&ExtenderReader::ReadPreemptionResult,
                  R"({"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"u"}]},"n":null}})"),
            R"({"NodeNameToMetaVictims":{"n":{"Pods":[],"NumPDBViolations":0}}})");
}

TEST(ExtenderTypesTest, NullReadsAsAbsent) {
  EXPECT_EQ(Again(&ExtenderReader::ReadArgs, R"({"Pod":null,"Nodes":null,"NodeNames":null})"),
            Again(&ExtenderReader::ReadArgs, "{}"));
  EXPECT_EQ(Again(&ExtenderReader::ReadArgs, R"({"Nodes":{"metadata":null,"items":null}})"),
            R"({"Pod":null,"Nodes":{"metadata":{},"items":[]},"NodeNames":null})");
  EXPECT_EQ(Again(&ExtenderReader::ReadPreemptionArgs,
                  R"({"NodeNameToMetaVictims":{"a":null,"b":{"Pods":null}}})"),
            R"({"Pod":null,"NodeNameToVictims":null,"NodeNameToMetaVictims":)"
            R"({"a":{"Pods":[],"NumPDBViolations":0},"b":{"Pods":[],"NumPDBViolations":0}}})");
}

TEST(ExtenderTypesTest, ANodeThatComesTwiceStandsOnceAtItsFirstPlace) {
  ExtenderReader reader;
  const PaddedBody names(R"({"NodeNames":["b","a","b","c","a"]})");
  EXPECT_THAT(*reader.ReadArgs(names.view())->node_names, ElementsAre("b", "a", "c"));
  const PaddedBody nodes(R"({"Nodes":{"items":[{"metadata":{"name":"b"},"x":1},)"
                         R"({"metadata":{"name":"a"}},{"metadata":{"name":"b"},"x":2}]}})");
  const auto args = reader.ReadArgs(nodes.view());
  EXPECT_THAT(args->nodes->names, ElementsAre("b", "a"));
  EXPECT_THAT(args->nodes->items,
              ElementsAre(R"({"metadata":{"name":"b"},"x":1})", R"({"metadata":{"name":"a"}})"));
}

TEST(ExtenderTypesTest, AFullNodeIsKeptByteForByte) {
  const std::string node = R"({ "metadata" : {"name":"n\u0031"} , "x":[1.50,{}] })";
  ExtenderReader reader;
  const PaddedBody body(R"({"Nodes":{"items":[ )" + node + "  ,\n " + node + " ] }\n}");
  const auto args = reader.ReadArgs(body.view());
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_THAT(args->nodes->names, ElementsAre("n1"));
  EXPECT_THAT(args->nodes->items, ElementsAre(node));
}

struct Unsound {
  std::string body;
  std::string error;
};

TEST(ExtenderTypesTest, NamesTheMemberThatIsWrong) {
  const std::vector<Unsound> cases = {
      {R"({"Pod":5})", "Pod has the wrong type"},
      {R"({"Pod":[]})", "Pod has the wrong type"},
      {R"({"Nodes":[]})", "Nodes has the wrong type"},
      {R"({"Nodes":{"items":{}}})", "Nodes.items has the wrong type"},
      {R"({"Nodes":{"items":[{"metadata":{"name":"a"}},null]}})",
       "Nodes.items[1] has the wrong type"},
      {R"({"Nodes":{"items":[{"metadata":{}}]}})", "Nodes.items[0].metadata.name is missing"},
      {R"({"Nodes":{"items":[{"metadata":null}]}})", "Nodes.items[0].metadata is missing"},
      {R"({"Nodes":{"items":[{"metadata":{"name":""}}]}})",
       "Nodes.items[0].metadata.name is empty"},
      {R"({"Nodes":{"items":[{"metadata":{"name":7}}]}})",
       "Nodes.items[0].metadata.name has the wrong type"},
      {R"({"NodeNames":"n"})", "NodeNames has the wrong type"},
      {R"({"NodeNames":["a",null]})", "NodeNames[1] has the wrong type"},
      {R"({"NodeNames":["a",""]})", "NodeNames[1] is empty"},
      {R"({"NodeNames":["a",{}]})", "NodeNames[1] has the wrong type"},
      {R"([])", "the body has the wrong type"},
  };
  for (const auto& [body, error] : cases) {
    EXPECT_EQ(Again(&ExtenderReader::ReadArgs, body), "error: " + error) << body;
  }
}

TEST(ExtenderTypesTest, NamesTheVictimThatIsWrong) {
  const std::vector<Unsound> cases = {
      {R"({"NodeNameToMetaVictims":[]})", "NodeNameToMetaVictims has the wrong type"},
      {R"({"NodeNameToMetaVictims":{"n":[]}})", "NodeNameToMetaVictims[n] has the wrong type"},
      {R"({"NodeNameToMetaVictims":{"n":{"Pods":[null]}}})",
       "NodeNameToMetaVictims[n].Pods[0] has the wrong type"},
      {R"({"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":"u"},{}]}}})",
       "NodeNameToMetaVictims[n].Pods[1].UID is missing"},
      {R"({"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":8}]}}})",
       "NodeNameToMetaVictims[n].Pods[0].UID has the wrong type"},
      {R"({"NodeNameToMetaVictims":{"":{}}})", "NodeNameToMetaVictims has an empty node name"},
      {R"({"NodeNameToVictims":{"n":{"Pods":[{"metadata":{}}]}}})",
       "NodeNameToVictims[n].Pods[0].metadata.uid is missing"},
      {R"({"NodeNameToVictims":{"n":{"NumPDBViolations":"1"}}})",
       "NodeNameToVictims[n].NumPDBViolations has the wrong type"},
  };
  for (const auto& [body, error] : cases) {
    EXPECT_EQ(Again(&ExtenderReader::ReadPreemptionArgs, body), "error: " + error) << body;
  }
}

// Go refuses any of these for an int64, too.
TEST(ExtenderTypesTest, ANumberMustBeAnIntegerToken) {
  for (const std::string number :
       {"7.0", "1e1", "9223372036854775808", "\"7\"", "07", "+7", "7x"}) {
    EXPECT_THAT(
        Again(&ExtenderReader::ReadHostPriorityList, R"([{"Host":"n","Score":)" + number + "}]"),
        HasSubstr("error: [0].Score"))
        << number;
  }
}

// simdjson's on-demand reader would take these, since it only counts brackets in what it skips.
TEST(ExtenderTypesTest, WhatIsIgnoredMustBeSoundToo) {
  for (const std::string value :
       {"nul", "tru", "1.2.3", "[1,,2]", "{\"a\" 1}", "[1 2}", R"("\u12x4")", R"({"a":"\q"})", "01",
        "{\"a\":1,}", "[", "}", "", "x"}) {
    for (const std::string& body :
         {R"({"Extra":)" + value + R"(,"Pod":{}})",
          R"({"Pod":{"x":)" + value + R"(},"NodeNames":[]})",
          R"({"Nodes":{"kind":)" + value + R"(,"items":[]}})",
          R"({"Nodes":{"items":[{"metadata":{"name":"n"},"x":)" + value + "}]}}"}) {
      EXPECT_THAT(Again(&ExtenderReader::ReadArgs, body), HasSubstr("error: ")) << body;
    }
  }
}

TEST(ExtenderTypesTest, SoundMembersThatAreNotKnownAreIgnored) {
  for (const std::string value :
       {"null", "true", "-1.5e3", "\"s\"", "[1,[2],{}]", R"({"a":[]})", "{}", "[]"}) {
    EXPECT_EQ(
        Again(&ExtenderReader::ReadArgs, R"({"x":)" + value + R"(,"Pod":{},"y":)" + value + "}"),
        R"({"Pod":{},"Nodes":null,"NodeNames":null})")
        << value;
  }
}

TEST(ExtenderTypesTest, NothingMayFollowTheBodysValue) {
  for (const std::string tail : {"{}", "}", "]", "x", ",", "\"\"", "null"}) {
    EXPECT_THAT(Again(&ExtenderReader::ReadArgs, R"({"Pod":{}} )" + tail), HasSubstr("error: "))
        << tail;
  }
  EXPECT_EQ(Again(&ExtenderReader::ReadArgs, " {\"Pod\":{}} \r\n\t"),
            R"({"Pod":{},"Nodes":null,"NodeNames":null})");
}

TEST(ExtenderTypesTest, RefusesABodyThatIsCutAnywhere) {
  const std::vector<std::string> samples = {WireSample("filter-args-nodes.json"),
                                            WireSample("preempt-args-victims.json"),
                                            WireSample("preempt-args-metavictims.json")};
  ExtenderReader reader;
  for (const std::string& sample : samples) {
    for (std::size_t size = 0; size < sample.size(); ++size) {
      for (const char padding : {'}', ']', ' ', '\0', '"'}) {
        const PaddedBody body(std::string_view(sample).substr(0, size), padding);
        ASSERT_FALSE(reader.ReadArgs(body.view())) << body.view();
        ASSERT_FALSE(reader.ReadPreemptionArgs(body.view())) << body.view();
      }
    }
  }
}

TEST(ExtenderTypesTest, RefusesTextThatIsNotUtf8) {
  for (const std::string bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82"}) {
    EXPECT_THAT(Again(&ExtenderReader::ReadArgs, R"({"NodeNames":["n)" + bad + R"("]})"),
                HasSubstr("error: "));
    EXPECT_THAT(Again(&ExtenderReader::ReadArgs, R"({"Pod":{"x":")" + bad + R"("}})"),
                HasSubstr("error: "));
  }
}

TEST(ExtenderTypesTest, RefusesNestingThatIsTooDeep) {
  const std::string deep(100'000, '[');
  for (const std::string& body :
       {deep, R"({"x":)" + deep + std::string(100'000, ']') + "}", R"({"Pod":{"x":)" + deep,
        R"({"Pod":{"x":)" + deep + std::string(100'000, ']') + "}}"}) {
    EXPECT_THAT(Again(&ExtenderReader::ReadArgs, body), HasSubstr("error: "));
  }
}

TEST(ExtenderTypesTest, EachLimitRefusesOneMoreThanItAllows) {
  ExtenderReader reader;
  const auto kind_of = [&reader](const std::string& body) {
    const PaddedBody padded(body);
    const auto args = reader.ReadArgs(padded.view());
    return args ? std::optional<ErrorKind>() : args.error().kind;
  };
  const auto names = [](std::size_t count) {
    std::string list = R"({"NodeNames":["n")";
    for (std::size_t i = 1; i < count; ++i) list += R"(,"n")";
    return list + "]}";
  };
  const auto name = [](std::size_t bytes) {
    return R"({"NodeNames":[")" + std::string(bytes, 'n') + "\"]}";
  };
  EXPECT_EQ(kind_of(names(kRequestNodesMax)), std::nullopt);
  EXPECT_EQ(kind_of(names(kRequestNodesMax + 1)), ErrorKind::kTooLarge);
  EXPECT_EQ(kind_of(name(kNameBytesMax)), std::nullopt);
  EXPECT_EQ(kind_of(name(kNameBytesMax + 1)), ErrorKind::kTooLarge);

  const auto victims = [&reader](std::size_t count, std::size_t uid_bytes) {
    const std::string victim = R"({"UID":")" + std::string(uid_bytes, 'u') + "\"}";
    std::string list = victim;
    for (std::size_t i = 1; i < count; ++i) list += "," + victim;
    const PaddedBody padded(R"({"NodeNameToMetaVictims":{"n":{"Pods":[)" + list + "]}}}");
    const auto args = reader.ReadPreemptionArgs(padded.view());
    return args ? std::optional<ErrorKind>() : args.error().kind;
  };
  EXPECT_EQ(victims(kVictimsPerNodeMax, 36), std::nullopt);
  EXPECT_EQ(victims(kVictimsPerNodeMax + 1, 36), ErrorKind::kTooLarge);
  EXPECT_EQ(victims(1, kUidBytesMax), std::nullopt);
  EXPECT_EQ(victims(1, kUidBytesMax + 1), ErrorKind::kTooLarge);
}

// What the reader keeps of a very large body goes, and what it reads next is right.
TEST(ExtenderTypesTest, ReadsASmallBodyAfterAVeryLargeOne) {
  ExtenderReader reader;
  const PaddedBody large(R"({"Pod":{"x":")" + std::string(std::size_t{40} << 20, 'x') + "\"}}");
  ASSERT_TRUE(reader.ReadArgs(large.view()));
  const PaddedBody small(R"({"NodeNames":["n"]})");
  EXPECT_THAT(*reader.ReadArgs(small.view())->node_names, ElementsAre("n"));
}

// kube-scheduler's own bytes: what it sends is what we would print of what we read, but for Pods
// and Nodes, which are spliced.
TEST(ExtenderTypesTest, RecordedBodiesComeBackByteForByte) {
  for (const std::string set :
       {"v1.34.4-names", "v1.34.4-nodes", "v1.37.2-names", "v1.37.2-nodes"}) {
    for (const auto& path : RecordedRequests(set)) {
      const std::string name = path.filename();
      const std::string body = ReadTextFile(path);
      SCOPED_TRACE(std::string(set).append("/").append(name));
      if (name.find("-bind-") != std::string::npos) {
        EXPECT_EQ(Again(&ExtenderReader::ReadBindingArgs, body), body);
      } else if (name.find("-preempt-") != std::string::npos) {
        EXPECT_EQ(Again(&ExtenderReader::ReadPreemptionArgs, body), body);
      } else if (name.find("-deleted-") == std::string::npos) {
        EXPECT_EQ(Again(&ExtenderReader::ReadArgs, body), body);
      }
    }
  }
}

}  // namespace
}  // namespace offcut::api
