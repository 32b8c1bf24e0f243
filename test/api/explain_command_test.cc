#include "api/explain_command.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/testing/temporary_folder.h"

namespace offcut::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kCluster = R"({"kind": "List", "items": [
  {"kind": "Node", "metadata": {"name": "n1", "labels": {"nvidia.com/gpu.product": "NVIDIA-A10"}},
   "status": {"allocatable": {"nvidia.com/gpu": "1"}}},
  {"kind": "Node", "metadata": {"name": "n2", "labels": {"nvidia.com/gpu.product": "NVIDIA-A10"}},
   "status": {"allocatable": {"nvidia.com/gpu": "1"}}},
  {"kind": "Pod", "metadata": {"name": "odd", "namespace": "ml", "uid": "u1"},
   "spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpucores": "130"}}}]}}
]})";

class ExplainCommandTest : public ::testing::Test {
 protected:
  int Explain(const std::string& pod) {
    return ExplainPod({.pod = pod, .snapshot_files = {folder_.Write("cluster.json", kCluster)}},
                      out_, err_);
  }
  int Show(std::vector<std::string> nodes, const std::string& output = "text",
           const std::string& text = kCluster) {
    return ShowGpus({.snapshot_files = {folder_.Write("cluster.json", text)},
                     .nodes = std::move(nodes),
                     .output = output},
                    out_, err_);
  }
  int ShowTenants(const std::string& tenant = "", const std::string& output = "table") {
    return api::ShowTenants({.snapshot_files = {folder_.Write("cluster.json", kCluster)},
                             .tenant = tenant,
                             .output = output},
                            out_, err_);
  }

  TemporaryFolder folder_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ExplainCommandTest, TellsAPodThatCouldNotBeReadFromOneThatIsNotThere) {
  EXPECT_EQ(Explain("ml/odd"), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("Pod ml/odd left out: "),
                                HasSubstr("offcut: pod ml/odd could not be read: see above\n")));
  err_.str("");
  EXPECT_EQ(Explain("ml/gone"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("offcut: no pod ml/gone in the snapshot"));
}

TEST_F(ExplainCommandTest, DrawsTheNodesThatAreNamed) {
  EXPECT_EQ(Show({"n2"}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("n2  1 x "), Not(HasSubstr("n1  1 x "))));
}

TEST_F(ExplainCommandTest, SuggestsTheNodeThatWasMeant) {
  EXPECT_EQ(Show({"n22"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("no node n22 in the snapshot (did you mean \"n2\"?)"));
}

TEST_F(ExplainCommandTest, GivesProgramsEveryGpu) {
  EXPECT_EQ(Show({}, "json"), 0);
  const auto nodes = nlohmann::json::parse(out_.str());
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[1]["name"], "n2");
  EXPECT_EQ(nodes[1]["gpus"][0]["taken"], false);
}

TEST_F(ExplainCommandTest, SaysHowASnapshotIsMadeWhereAFileIsNone) {
  EXPECT_EQ(Show({}, "text", R"({"kind": "Table", "apiVersion": "meta.k8s.io/v1"})"), 1);
  EXPECT_THAT(out_.str(), IsEmpty());
  EXPECT_THAT(err_.str(), HasSubstr("holds no node that can be read; 1 object of other kinds "
                                    "(kubectl get nodes,pods -A -o json prints one)"));
}

TEST_F(ExplainCommandTest, SaysThatThePolicyNamesNoTenants) {
  EXPECT_EQ(ShowTenants(), 0);
  EXPECT_EQ(out_.str(), "no tenants: the policy names none\n");
  out_.str("");
  EXPECT_EQ(ShowTenants("", "json"), 0);
  EXPECT_EQ(nlohmann::json::parse(out_.str()), nlohmann::json::parse(R"({"items": []})"));
  EXPECT_EQ(ShowTenants("red"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("offcut: no tenant red: the policy names none\n"));
}

// team-a has one GPU and holds it; there is nobody of whom its second pod could borrow.
TEST_F(ExplainCommandTest, ShowsTheTenantsOfThePolicy) {
  constexpr const char* policy = R"({"apiVersion": "offcut.dev/v1alpha1", "kind": "Policy",
    "tenants": [{"name": "team-a", "namespaces": ["ml"],
                 "quotas": [{"pool": "default", "guarantee": {"devices": 1}}]}]})";
  constexpr const char* gpu = R"("containers": [{"name": "c",
    "resources": {"limits": {"nvidia.com/gpu": "1"}}}])";
  const auto pod = [&](const std::string& name, const std::string& node) {
    return R"({"kind": "Pod", "metadata": {"namespace": "ml", "name": ")" + name +
           R"(", "uid": ")" + name + R"("}, "spec": {"nodeName": ")" + node + "\", " + gpu + "}}";
  };
  TenantsSettings settings = {
      .snapshot_files = {folder_.Write("cluster.json", kCluster),
                         folder_.Write("pods.json", pod("runs", "n1") + pod("waits", ""))},
      .policy_file = folder_.Write("policy.json", policy)};
  EXPECT_EQ(api::ShowTenants(settings, out_, err_), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("team-a  default  devices           1     1         0"),
                                HasSubstr("\nteam-a: 1 pod waits\n"), HasSubstr("  1 quota.wait"),
                                HasSubstr("oldest: ml/waits\n")));
  out_.str("");
  settings.tenant = "team-a";
  settings.output = "json";
  EXPECT_EQ(api::ShowTenants(settings, out_, err_), 0);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["quotas"][0]["resource"], "coresPermille");
  settings.tenant = "team-b";
  EXPECT_EQ(api::ShowTenants(settings, out_, err_), 1);
  EXPECT_THAT(err_.str(), HasSubstr("no tenant team-b in the policy (did you mean \"team-a\"?)"));
}

// 25 pods without a name, one node: 20 lines, and a count of the other five.
TEST_F(ExplainCommandTest, CountsProblemsBeyondTwenty) {
  std::string text = R"({"kind": "Node", "metadata": {"name": "n1"}})";
  for (int i = 0; i < 25; ++i) text += R"({"kind": "Pod", "metadata": {}})";
  EXPECT_EQ(Show({}, "text", text), 0);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("object 20: Pod left out: "), HasSubstr("... and 5 more"),
                                Not(HasSubstr("object 21: "))));
}

}  // namespace
}  // namespace offcut::api
