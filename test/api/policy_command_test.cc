#include "api/policy_command.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/document.h"
#include "api/policy_error.h"
#include "api/policy_schema.h"

namespace offcut::api {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::array<std::string_view, 1> kStrategies = {"best-fit"};
constexpr std::string_view kValid = "apiVersion: offcut.dev/v1alpha1\nkind: Policy\n";

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

// Validates files of the given texts, named p0.yaml, p1.yaml and so on in a folder of this test.
class PolicyCommandTest : public ::testing::Test {
 protected:
  PolicyCommandTest() {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("offcut-policy-command-") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  ~PolicyCommandTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(std::string_view text) {
    const auto path = folder_ / ("p" + std::to_string(written_++) + ".yaml");
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  static Outcome Run(const std::vector<std::string>& files,
                     PolicyReport report = PolicyReport::kText, std::string_view stdin_text = "",
                     const std::vector<std::string>& snapshot_files = {}) {
    std::istringstream in{std::string(stdin_text)};
    std::ostringstream out;
    std::ostringstream err;
    const int exit_code =
        ValidatePolicies({.files = files, .snapshot_files = snapshot_files, .report = report},
                         kStrategies, in, out, err);
    return {exit_code, out.str(), err.str()};
  }

  std::filesystem::path folder_;
  int written_ = 0;
};

TEST_F(PolicyCommandTest, ExitsWith0WhereAllFilesAreValid) {
  const std::string file = Write(kValid);
  const Outcome outcome = Run({file, file});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, file + ": valid\n" + file + ": valid\n");
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(PolicyCommandTest, ExitsWith1AndALineForEachErrorWhereOneIsInvalid) {
  const std::string valid = Write(kValid);
  const std::string invalid = Write(std::string(kValid) + "packing: {strateg: x, ties: 1}\n");
  const Outcome outcome = Run({invalid, valid});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out,
            invalid +
                ":3:11: error unknown-field: /packing/strateg: there is no such field (did "
                "you mean \"strategy\"?)\n" +
                invalid +
                ":3:29: error wrong-type: /packing/ties: got the number 1, allowed "
                "\"strict\" or \"name\"\n" +
                valid + ": valid\n");
}

TEST_F(PolicyCommandTest, LeavesOutThePointerOfTheWholeDocument) {
  const std::string file = Write("");
  EXPECT_EQ(Run({file}).out, file + ":1:1: error syntax: the document is empty\n");
}

TEST_F(PolicyCommandTest, ExitsWith2WhereAFileCannotBeReadAndStillJudgesTheOthers) {
  const std::string invalid = Write("kind: Policy\n");
  const Outcome outcome = Run({(folder_ / "absent").string(), folder_.string(), invalid});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("absent: No such file or directory\n"));
  EXPECT_THAT(outcome.err, HasSubstr(folder_.string() + ": Is a directory\n"));
  EXPECT_THAT(outcome.out, StartsWith(invalid + ":1:1: error missing-field: /apiVersion"));
}

TEST_F(PolicyCommandTest, ExitsWith2WhereNoFileIsNamed) {
  const Outcome outcome = Run({});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "no policy file is named\n");
}

TEST_F(PolicyCommandTest, ReadsADashFromStandardInput) {
  EXPECT_EQ(Run({"-"}, PolicyReport::kText, kValid).out, "<stdin>: valid\n");
  const Outcome outcome = Run({"-"}, PolicyReport::kText, "[]");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, StartsWith("<stdin>:1:1: error wrong-type: got a list"));
}

TEST_F(PolicyCommandTest, ReadsNoMoreThanTheLimitAndOneByte) {
  std::istringstream in(std::string(kMaxDocumentBytes + 100, '#'));
  std::ostringstream out;
  EXPECT_EQ(ValidatePolicies({.files = {"-"}}, kStrategies, in, out, out), 1);
  EXPECT_THAT(out.str(), HasSubstr("error too-large"));
  EXPECT_EQ(in.tellg(), static_cast<std::streamoff>(kMaxDocumentBytes + 1));
}

TEST_F(PolicyCommandTest, KeepsALineFeedInAKeyOffTheOutput) {
  const std::string file = Write(std::string(kValid) + "\"a\\nb\": 1\n");
  EXPECT_EQ(Run({file}).out, file + ":3:1: error unknown-field: /a\\nb: there is no such field\n");
}

// A key, a value and a name of a pool, each with what would turn or steer a terminal's line.
TEST_F(PolicyCommandTest, LetsNoTextOfThePolicySteerTheTerminal) {
  const std::string file = Write(
      std::string(kValid) +
      "\"k\\u202ey\": 1\npacking: {strategy: \"s\\x9b31m\"}\n"
      "tenants: [{name: a, quotas: [{pool: \"p\\e[2J\\u2066\", guarantee: {devices: 1}}]}]\n");
  const std::string out = Run({file}).out;
  EXPECT_THAT(out, HasSubstr(R"(/k\u202ey: )"));
  EXPECT_THAT(out, HasSubstr(R"(s\u009b31m)"));
  EXPECT_THAT(out, HasSubstr(R"(p\u001b[2J\u2066)"));
  for (const char* raw : {"\u202e", "\u009b", "\x1b", "\u2066"}) {
    EXPECT_THAT(out, ::testing::Not(HasSubstr(raw)));
  }
}

TEST_F(PolicyCommandTest, ReportsAllFilesInOneJsonObject) {
  const std::string valid = Write(kValid);
  const std::string invalid = Write(std::string(kValid) + "packin: {}\nx: 1\n");
  const std::string absent = (folder_ / "absent").string();
  const Outcome outcome = Run({valid, invalid, absent}, PolicyReport::kJson);
  EXPECT_EQ(outcome.exit_code, 2);
  using Json = nlohmann::json;
  const Json expected = {
      {"valid", false},
      {"files",
       {{{"file", valid}, {"valid", true}, {"errors", Json::array()}},
        {{"file", invalid},
         {"valid", false},
         {"errors",
          {{{"line", 3},
            {"column", 1},
            {"pointer", "/packin"},
            {"code", "unknown-field"},
            {"message", "there is no such field"},
            {"suggestion", "packing"}},
           {{"line", 4},
            {"column", 1},
            {"pointer", "/x"},
            {"code", "unknown-field"},
            {"message", "there is no such field"}}}}},
        {{"file", absent}, {"valid", false}, {"cannotRead", "No such file or directory"}}}}};
  EXPECT_EQ(Json::parse(outcome.out), expected);
}

// Two nodes of two A100-40GB and of one T4.
constexpr std::string_view kCluster = R"(apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: a, labels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}
  status: {allocatable: {nvidia.com/gpu: "2", cpu: "8", memory: 64Gi, pods: "110"}}
- apiVersion: v1
  kind: Node
  metadata: {name: t, labels: {nvidia.com/gpu.product: Tesla-T4}}
  status: {allocatable: {nvidia.com/gpu: "1", cpu: "8", memory: 64Gi, pods: "110"}}
)";

std::string Guarantees(std::string_view a100, std::string_view all) {
  return std::string(kValid) +
         "pools: [{name: a100, models: [A100*]}]\n"
         "tenants:\n"
         "- {name: x, namespaces: [x], quotas: [{pool: a100, guarantee: {devices: " +
         std::string(a100) +
         "}}]}\n"
         "- {name: y, namespaces: [y], quotas: [{pool: a100, guarantee: {devices: \"1/2\"}}, "
         "{pool: \"*\", guarantee: {devices: " +
         std::string(all) + "}}]}\n";
}

TEST_F(PolicyCommandTest, NamesGuaranteesOfRootsBeyondTheCluster) {
  const std::string cluster = Write(kCluster);
  const std::string fits = Write(Guarantees("\"3/2\"", "3"));
  EXPECT_EQ(Run({fits}, PolicyReport::kText, "", {cluster}).out, fits + ": valid\n");
  const std::string beyond = Write(Guarantees("2", "4"));
  const Outcome outcome = Run({beyond}, PolicyReport::kText, "", {cluster});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, beyond +
                             ":5:1: error beyond-cluster: /tenants: the tenants without parent are "
                             "guaranteed 4 GPUs of all pools together, which has 3 GPUs\n" +
                             beyond +
                             ":5:1: error beyond-cluster: /tenants: the tenants without parent are "
                             "guaranteed 5/2 GPUs of pool \"a100\", which has 2 GPUs\n");
}

TEST_F(PolicyCommandTest, WarnsOfAPoolThatNoNodeHasAGpuOf) {
  const std::string file = Write(std::string(kValid) +
                                 "pools:\n- {name: t4, models: [Tesla-T4]}\n"
                                 "- {name: b200, models: [B200*]}\n");
  const Outcome outcome = Run({file}, PolicyReport::kText, "", {Write(kCluster)});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out,
            file + ":5:3: warning empty-pool: /pools/1: no node has a GPU of pool \"b200\"\n" +
                file + ": valid\n");
}

// below has a namespace, and so above is reached through it.
TEST_F(PolicyCommandTest, WarnsOfATenantThatNoPodCanBeOf) {
  const std::string file = Write(std::string(kValid) +
                                 "tenants:\n"
                                 "- {name: above}\n"
                                 "- {name: below, parent: above, namespaces: [n]}\n"
                                 "- {name: nobody, parent: above}\n"
                                 "- {name: labelled, labelNamespaces: [n]}\n");
  const Outcome text = Run({file});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out,
              StartsWith(file + ":6:3: warning unreachable-tenant: /tenants/2: no pod can be of "
                                "tenant \"nobody\": "));
  EXPECT_THAT(text.out, ::testing::EndsWith(file + ": valid\n"));
  const auto json = nlohmann::json::parse(Run({file}, PolicyReport::kJson).out);
  EXPECT_EQ(json["valid"], true);
  EXPECT_EQ(json["files"][0]["errors"], nlohmann::json::array());
  EXPECT_EQ(json["files"][0]["warnings"][0]["code"], "unreachable-tenant");
}

TEST_F(PolicyCommandTest, WarnsOfLimitsThatChangeNothing) {
  const std::string file = Write(
      std::string(kValid) +
      "tenants:\n"
      "- name: all\n"
      "  weight: 2\n"
      "  quotas:\n"
      "  - {pool: default, guarantee: {devices: 8}}\n"
      "  - pool: \"*\"\n"
      "    guarantee: {devices: 8}\n"
      "    borrowingLimit: {devices: 1, memoryMiB: 1}\n"
      "    lendingLimit: {devices: 1}\n"
      "- name: a\n"
      "  parent: all\n"
      "  weight: 2\n"
      "  namespaces: [a]\n"
      "  quotas: [{pool: default, borrowingLimit: {devices: 1}, lendingLimit: {devices: 1}}]\n");
  const std::string says = ": changes nothing: tenant \"all\" has no parent, and so ";
  EXPECT_EQ(Run({file}).out,
            file + ":5:11: warning no-effect: /tenants/0/weight" + says + "borrows of nobody\n" +
                file + ":10:21: warning no-effect: /tenants/0/quotas/1/borrowingLimit" + says +
                "borrows of nobody\n" + file +
                ":11:19: warning no-effect: /tenants/0/quotas/1/lendingLimit" + says +
                "lends to nobody but those below it\n" + file + ": valid\n");
}

// A pod of lab that has no label is of no tenant, and one of shared is of a.
TEST_F(PolicyCommandTest, WarnsOfNamespacesThatAreNobodysButByLabel) {
  const std::string file = Write(std::string(kValid) +
                                 "tenants:\n"
                                 "- {name: a, namespaces: [shared]}\n"
                                 "- {name: b, labelNamespaces: [shared, lab]}\n"
                                 "- {name: c, labelNamespaces: [lab]}\n");
  EXPECT_EQ(
      Run({file}).out,
      file +
          ":5:30: warning unowned-namespace: /tenants/1/labelNamespaces: namespace \"lab\" is "
          "in no tenant's namespaces: a pod there that names none by its label is held to no "
          "quota\n" +
          file + ": valid\n");
}

TEST_F(PolicyCommandTest, SaysHowToWriteAPartOfAGpu) {
  for (const char* devices : {"0.5", "true", "[1]"}) {
    const std::string file = Write(std::string(kValid) +
                                   "tenants: [{name: a, namespaces: [a], quotas: [{pool: default, "
                                   "guarantee: {devices: " +
                                   devices + "}}]}]\n");
    EXPECT_THAT(Run({file}).out,
                HasSubstr("allowed GPUs as an integer from 0 to 1000000, or a fraction as a "
                          "string: \"1/2\"\n"))
        << devices;
  }
}

TEST_F(PolicyCommandTest, TellsErrorsHoweverManyWarningsThereAre) {
  std::string text = Guarantees("2", "3");
  for (std::size_t i = 0; i < kMaxPolicyErrors; ++i) {
    text += "- {name: nobody-" + std::to_string(i) + "}\n";
  }
  const Outcome outcome = Run({Write(text)}, PolicyReport::kText, "", {Write(kCluster)});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("error beyond-cluster"));
}

TEST_F(PolicyCommandTest, ExitsWith2WhereTheSnapshotCannotBeRead) {
  const std::string file = Write(kValid);
  const Outcome outcome = Run({file}, PolicyReport::kText, "", {(folder_ / "absent").string()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("absent"));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST_F(PolicyCommandTest, ReadsStandardInputOnce) {
  const std::string file = Write(kValid);
  EXPECT_EQ(Run({"-"}, PolicyReport::kText, kValid, {"-"}).exit_code, 2);
  EXPECT_EQ(Run({file, file}, PolicyReport::kText, kValid, {"-"}).exit_code, 2);
}

TEST_F(PolicyCommandTest, PrintsTheSchema) {
  std::ostringstream out;
  EXPECT_EQ(PrintPolicySchema(out), 0);
  EXPECT_EQ(out.str(), PolicySchema());
}

}  // namespace
}  // namespace offcut::api
