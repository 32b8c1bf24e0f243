#include "api/declared_memory.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "test/api/object_text.h"

namespace offcut::api {
namespace {

using scheduler::DeclaredMemory;
using testing::JsonString;
using testing::PodFromText;

std::string PodWithAnnotation(const std::string& value, const std::string& spec = "{}") {
  return R"({"metadata": {"name": "p", "uid": "u", "annotations": {"offcut.dev/gpu-memory": )" +
         JsonString(value) + R"(}}, "spec": )" + spec + "}";
}

// One container of a GPU for each environment, a JSON array, after one that asks for none.
std::string PodWithEnvironments(const std::string& first, const std::string& second,
                                const std::string& of_no_gpu = "[]") {
  const std::string gpu = R"("resources": {"limits": {"nvidia.com/gpu": 1}})";
  return R"({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "c", "env": )" +
         of_no_gpu + R"(}, {"name": "a", )" + gpu + R"(, "env": )" + first +
         R"(}, {"name": "b", )" + gpu + R"(, "env": )" + second + "}]}}";
}

std::string Share(const std::string& value) {
  return R"([{"name": "OTHER", "value": "1"}, {"name": "VLLM_GPU_MEMORY_UTILIZATION", "value": )" +
         JsonString(value) + "}]";
}

DeclaredMemory DeclaredBy(const std::string& json) {
  const auto parsed = PodFromText(json);
  EXPECT_TRUE(parsed) << json;
  return parsed ? parsed->pod.declared_memory : DeclaredMemory{};
}

TEST(DeclaredMemoryTest, ReadsMibWithAndWithoutSuffixAndGib) {
  EXPECT_EQ(DeclaredBy(PodWithAnnotation("8000")).mib, 8000);
  EXPECT_EQ(DeclaredBy(PodWithAnnotation(" 8000Mi ")).mib, 8000);
  EXPECT_EQ(DeclaredBy(PodWithAnnotation("8Gi")).mib, 8 * 1024);
}

TEST(DeclaredMemoryTest, RefusesAnAnnotationThatIsNoAmountOfAGpu) {
  for (const char* text : {"", "0", "8G", "8gi", "-1", "1.5Gi", "Gi", "99999999999", "1000000Gi"}) {
    const auto parsed = PodFromText(PodWithAnnotation(text));
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message.find("offcut.dev/gpu-memory"), std::string::npos) << text;
  }
}

TEST(DeclaredMemoryTest, DropsAMalformedAnnotationOfAPodThatStandsOnANode) {
  const auto parsed = PodFromText(PodWithAnnotation("much", R"({"nodeName": "n"})"));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->pod.declared_memory, DeclaredMemory{});
  EXPECT_EQ(parsed->warnings.size(), 1U);
}

TEST(DeclaredMemoryTest, SuggestsTheAnnotationForAMisspeltOne) {
  const auto parsed = PodFromText(
      R"({"metadata": {"name": "p", "uid": "u", "annotations": {"offcut.dev/gpu-memroy": "1"}}})");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("did you mean offcut.dev/gpu-memory?"), std::string::npos);
}

TEST(DeclaredMemoryTest, TakesTheLargestVllmShareOfTheContainersThatAskForGpus) {
  EXPECT_EQ(DeclaredBy(PodWithEnvironments(Share("0.3"), Share("0.45"), Share("0.9"))),
            (DeclaredMemory{.mib = 0, .share_millionths = 450'000}));
}

TEST(DeclaredMemoryTest, LeavesAShareThatVllmWouldRefuseAlone) {
  for (const char* text : {"0", "1.5", "-0.5", "half", "1e-1", "", "."}) {
    EXPECT_EQ(DeclaredBy(PodWithEnvironments(Share(text), "[]")), DeclaredMemory{}) << text;
  }
  EXPECT_EQ(DeclaredBy(PodWithEnvironments(R"("no list")", R"([{"name": 7}, 8])")),
            DeclaredMemory{});
  EXPECT_EQ(DeclaredBy(PodWithEnvironments(
                R"([{"name": "VLLM_GPU_MEMORY_UTILIZATION", "valueFrom": {}}])", "[]")),
            DeclaredMemory{});
}

TEST(ParseShareTest, CountsMillionthsAndRoundsUpWhatIsBeyond) {
  EXPECT_EQ(ParseShareMillionths("0.25"), 250'000);
  EXPECT_EQ(ParseShareMillionths(".5"), 500'000);
  EXPECT_EQ(ParseShareMillionths("1"), 1'000'000);
  EXPECT_EQ(ParseShareMillionths("01.000"), 1'000'000);
  EXPECT_EQ(ParseShareMillionths("0.333333"), 333'333);
  EXPECT_EQ(ParseShareMillionths("0.3333331"), 333'334);
  EXPECT_EQ(ParseShareMillionths("0.00000000000000001"), 1);
  EXPECT_EQ(ParseShareMillionths("1.000001"), std::nullopt);
  EXPECT_EQ(ParseShareMillionths("11"), std::nullopt);
}

}  // namespace
}  // namespace offcut::api
