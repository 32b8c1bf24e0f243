// The configuration that we print for kube-scheduler: that it cannot defeat us, that the shipped
// files are it. A real kube-scheduler reads the shipped ones in test/e2e.
#include "api/kube_scheduler_config.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "binpack/gpu_model.h"

namespace offcut::api {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const KubeSchedulerSettings& settings, const scheduler::Policy& policy = {}) {
  const auto text = KubeSchedulerConfig(settings, policy);
  return text ? *text : text.error().message;
}

YAML::Node Parse(const KubeSchedulerSettings& settings, const scheduler::Policy& policy = {}) {
  return YAML::Load(TextOf(settings, policy));
}

std::string ReadSource(const std::string& path) {
  std::ifstream file(std::string(OFFCUT_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(KubeSchedulerConfigTest, IsTheShippedFile) {
  const KubeSchedulerSettings settings{.kubeconfig = "/etc/kubernetes/scheduler.conf"};
  EXPECT_EQ(ReadSource("deploy/kube-scheduler/extender.yaml"), TextOf(settings));
}

// kustomize takes no file from outside of its folder, hence the copies.
TEST(KubeSchedulerConfigTest, IsTheFileOfTheSecondScheduler) {
  const KubeSchedulerSettings settings{.scheduler_name = "offcut-scheduler",
                                       .lease_namespace = "offcut-system"};
  EXPECT_EQ(ReadSource("deploy/kustomize/second-scheduler/kube-scheduler.yaml"), TextOf(settings));
  EXPECT_EQ(ReadSource("deploy/kustomize/base/policy.yaml"),
            ReadSource("deploy/policies/default.yaml"));
}

TEST(KubeSchedulerConfigTest, RegistersEveryVerbAndIsNeverIgnored) {
  const YAML::Node config = Parse({});
  EXPECT_EQ(config["percentageOfNodesToScore"].as<int>(), 100);
  const YAML::Node extender = config["extenders"][0];
  for (const std::string verb : {"filter", "prioritize", "preempt", "bind"}) {
    EXPECT_EQ(extender[verb + "Verb"].as<std::string>(), verb);
  }
  EXPECT_FALSE(extender["ignorable"].as<bool>());
  EXPECT_TRUE(extender["nodeCacheCapable"].as<bool>());
  EXPECT_EQ(extender["weight"].as<int>(), 15);  // 10 x 15 x 10 = 1,500 > 1,400
  const YAML::Node fit = config["profiles"][0]["pluginConfig"][0];
  EXPECT_EQ(fit["name"].as<std::string>(), "NodeResourcesFit");
  EXPECT_EQ(fit["args"]["scoringStrategy"]["type"].as<std::string>(), "MostAllocated");
  EXPECT_FALSE(config["clientConnection"].IsDefined());
}

// A name twice is an error to kube-scheduler.
TEST(KubeSchedulerConfigTest, ManagesEachNameOfEachModelOnce) {
  const auto resources = ManagedResources({});
  std::set<std::string> names;
  for (const auto& resource : resources) EXPECT_TRUE(names.insert(resource.name).second);
  for (const auto& model : binpack::BuiltInModels()) {
    for (auto profile : model.profiles) {
      std::ranges::replace(profile.name, '+', '.');
      EXPECT_THAT(names, Contains("nvidia.com/mig-" + profile.name));
      EXPECT_THAT(names, Contains("nvidia.com/mig-" + profile.name + ".shared"));
    }
    for (const auto& [alias, name] : model.profile_aliases) {
      std::string spelling = alias;
      std::ranges::replace(spelling, '+', '.');
      EXPECT_THAT(names, Contains("nvidia.com/mig-" + spelling));
    }
  }
  EXPECT_THAT(names, Contains("nvidia.com/mig-1g.5gb.me"));
}

TEST(KubeSchedulerConfigTest, SaysWhatKubeSchedulerIgnoresAsThePolicyDoes) {
  const auto resources = ManagedResources({});
  EXPECT_THAT(resources, Contains(ManagedResource{"nvidia.com/gpu", false}));
  EXPECT_THAT(resources, Contains(ManagedResource{"nvidia.com/mig-1g.10gb", false}));
  EXPECT_THAT(resources, Contains(ManagedResource{"nvidia.com/gpumem", true}));
  scheduler::Policy policy;
  policy.resources.gpu_cores = "gpu.example.com/cores";
  policy.resources.ignored_by_scheduler = {"gpu.example.com/other", "nvidia.com/mig-3g.20gb"};
  const auto renamed = ManagedResources(policy.resources);
  EXPECT_THAT(renamed, Contains(ManagedResource{"gpu.example.com/cores", false}));
  EXPECT_THAT(renamed, Contains(ManagedResource{"gpu.example.com/other", true}));
  EXPECT_THAT(renamed, Contains(ManagedResource{"nvidia.com/gpumem", false}));
  EXPECT_THAT(renamed, Contains(ManagedResource{"nvidia.com/mig-3g.20gb", true}));
  EXPECT_THAT(renamed, Contains(ManagedResource{"nvidia.com/mig-1g.5gb", false}));
  EXPECT_THAT(TextOf({}, policy),
              HasSubstr("- {name: gpu.example.com/other, ignoredByScheduler: true}\n"));
}

// Who shares the default scheduler's Lease never leads while that one runs.
TEST(KubeSchedulerConfigTest, GivesASecondSchedulerALeaseOfItsOwn) {
  EXPECT_EQ(Parse({})["leaderElection"]["resourceName"].as<std::string>(), "kube-scheduler");
  const KubeSchedulerSettings second{.scheduler_name = "offcut-scheduler",
                                     .lease_namespace = "offcut-system"};
  const YAML::Node election = Parse(second)["leaderElection"];
  EXPECT_TRUE(election["leaderElect"].as<bool>());
  EXPECT_EQ(election["resourceName"].as<std::string>(), "offcut-scheduler");
  EXPECT_EQ(election["resourceNamespace"].as<std::string>(), "offcut-system");
  EXPECT_EQ(Parse(second)["profiles"][0]["schedulerName"].as<std::string>(), "offcut-scheduler");
  const YAML::Node alone = Parse({.leader_elect = false})["leaderElection"];
  EXPECT_FALSE(alone["leaderElect"].as<bool>());
  EXPECT_FALSE(alone["resourceName"].IsDefined());
}

TEST(KubeSchedulerConfigTest, ChecksWhoAnswersOverTls) {
  KubeSchedulerSettings settings{.url_prefix = "https://offcut.offcut-system.svc:8443/v1"};
  EXPECT_EQ(TextOf(settings), "--ca-file: an https:// --url-prefix needs it");
  settings.ca_file = "/etc/offcut tls/ca.crt";
  YAML::Node extender = Parse(settings)["extenders"][0];
  EXPECT_TRUE(extender["enableHTTPS"].as<bool>());
  EXPECT_EQ(extender["tlsConfig"]["caFile"].as<std::string>(), "/etc/offcut tls/ca.crt");
  EXPECT_FALSE(extender["tlsConfig"]["certFile"].IsDefined());
  settings.cert_file = "/tls.crt";
  EXPECT_EQ(TextOf(settings), "--cert-file and --key-file need each other");
  settings.key_file = "/tls.key";
  extender = Parse(settings)["extenders"][0];
  EXPECT_EQ(extender["tlsConfig"]["certFile"].as<std::string>(), "/tls.crt");
  EXPECT_EQ(extender["tlsConfig"]["keyFile"].as<std::string>(), "/tls.key");
  settings.url_prefix = "http://127.0.0.1:8080/v1";
  EXPECT_THAT(TextOf(settings), HasSubstr("need an https:// --url-prefix"));
}

TEST(KubeSchedulerConfigTest, RefusesWhatIsNoUrlAndNoName) {
  for (const std::string url :
       {"127.0.0.1:8080", "http://", "http:///v1", "http://a b", "http://:1", "http://a/v1?x",
        "ftp://a", "http://a\n", "http://a:0/v1", "http://a:65536", "http://a:-1", "http://a:80x",
        "http://a:/v1", "http://[::1/v1", "http://[::1]:70000/v1"}) {
    EXPECT_THAT(TextOf({.url_prefix = url}), HasSubstr("--url-prefix: ")) << url;
  }
  for (const std::string url :
       {"http://a", "http://a/v1:0", "http://a:65535/v1", "http://[::1]", "http://[::1]:1/v1"}) {
    EXPECT_THAT(TextOf({.url_prefix = url}), Not(HasSubstr("--url-prefix: "))) << url;
  }
  for (const std::string name : {"", "Upper", "-a", "a: b", "a\nb"}) {
    EXPECT_THAT(TextOf({.scheduler_name = name}), HasSubstr("--scheduler-name: ")) << name;
  }
}

// Names that YAML would read as something else.
TEST(KubeSchedulerConfigTest, QuotesWhatIsNoPlainText) {
  for (const std::string name : {"true", "null", "123", "1e3", "y", "0x1f", "a-1"}) {
    const YAML::Node profile = Parse({.scheduler_name = name})["profiles"][0];
    EXPECT_EQ(profile["schedulerName"].as<std::string>(), name);
    EXPECT_EQ(profile["schedulerName"].Tag() == "!", name != "a-1") << name;  // "!": quoted
  }
  EXPECT_THAT(TextOf({.kubeconfig = "/a: #b"}), HasSubstr("kubeconfig: \"/a: #b\"\n"));
  EXPECT_THAT(TextOf({}), Not(HasSubstr("\"")));
}

TEST(KubeSchedulerConfigTest, TellsAPolicyThatCannotBeRead) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(PrintKubeSchedulerConfig({.policy_file = "/does/not/exist"}, out, err), 1);
  EXPECT_EQ(out.str(), "");
  EXPECT_THAT(err.str(), HasSubstr("/does/not/exist"));
  EXPECT_EQ(PrintKubeSchedulerConfig({}, out, err), 0);
  EXPECT_EQ(out.str(), TextOf({}));
}

}  // namespace
}  // namespace offcut::api
