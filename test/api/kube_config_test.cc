// Kubeconfigs as kubectl reads them, and what a pod is given.
#include "api/kube_config.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/temporary_folder.h"

namespace offcut::api {
namespace {

using ::testing::HasSubstr;

// "Q0E=", "Q0VSVA==" and "S0VZ" are CA, CERT and KEY.
constexpr std::string_view kTwoContexts = R"(apiVersion: v1
kind: Config
current-context: first
clusters:
- name: one
  cluster: {server: "https://one.example:6443/base/", certificate-authority-data: Q0E=}
- name: two
  cluster:
    server: http://127.0.0.1:8001
    tls-server-name: kubernetes
contexts:
- name: first
  context: {cluster: one, user: robot, namespace: gpu}
- name: second
  context: {cluster: two}
users:
- name: robot
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ, token: " secret\n"}
)";

std::expected<KubeConfig, Error> Read(std::string_view text, const std::string& context = "") {
  const TemporaryFolder folder;
  return ReadKubeconfig(folder.Write("config", text), context);
}

std::string ErrorOf(const std::expected<KubeConfig, Error>& config) {
  return config.has_value() ? "no error" : config.error().message;
}

// A kubeconfig of one context whose cluster and user have these members.
std::string WithMembers(const std::string& cluster, const std::string& user) {
  return "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
         "clusters: [{name: k, cluster: {server: 'https://h'" +
         cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n";
}

TEST(KubeConfigTest, TakesTheCurrentContextWhereNoneIsNamed) {
  const auto config = Read(kTwoContexts);
  ASSERT_TRUE(config) << config.error().message;
  KubeConfig expected;
  expected.host = "one.example";
  expected.port = 6443;
  expected.base_path = "/base";
  expected.authorities.pem = "CA";
  expected.client_certificate.pem = "CERT";
  expected.client_key.pem = "KEY";
  expected.token = "secret";
  expected.name_space = "gpu";
  EXPECT_EQ(*config, expected);
}

TEST(KubeConfigTest, TakesTheContextThatIsNamed) {
  const auto config = Read(kTwoContexts, "second");
  ASSERT_TRUE(config) << config.error().message;
  KubeConfig expected;
  expected.tls = false;
  expected.host = "127.0.0.1";
  expected.port = 8001;
  expected.tls_server_name = "kubernetes";
  EXPECT_EQ(*config, expected);
}

TEST(KubeConfigTest, ReadsJson) {
  const auto config = Read(
      R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
"clusters":[{"name":"k","cluster":{"server":"https://h:1","insecure-skip-tls-verify":true}}],
"users":[{"name":"u","user":{"token":"t"}}]})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->insecure_skip_tls_verify);
  EXPECT_EQ(config->token, "t");
}

TEST(KubeConfigTest, LooksForRelativeFilesBesideTheKubeconfig) {
  const TemporaryFolder folder;
  const std::string path =
      folder.Write("config", WithMembers(", certificate-authority: pki/ca.pem",
                                         "client-certificate: /etc/c.pem, client-key: ../k.pem, "
                                         "tokenFile: ./token"));
  const auto config = ReadKubeconfig(path, "");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->authorities.file, folder.Path() + "/pki/ca.pem");
  EXPECT_EQ(config->client_certificate.file, "/etc/c.pem");
  EXPECT_EQ(folder.Path() + "/token", config->token_file);
  EXPECT_EQ(config->client_key.file.find(".."), std::string::npos);
}

TEST(KubeConfigTest, PrefersInlineDataToAFile) {
  const auto config =
      Read(WithMembers(", certificate-authority: /ca.pem, certificate-authority-data: Q0E=", ""));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->authorities, (PemSource{.pem = "CA", .file = {}}));
}

TEST(KubeConfigTest, NamesWhatIsMissing) {
  EXPECT_THAT(ErrorOf(Read(kTwoContexts, "third")), HasSubstr("there is no context \"third\""));
  EXPECT_THAT(ErrorOf(Read("contexts: []")), HasSubstr("current-context is not set"));
  EXPECT_THAT(ErrorOf(Read("current-context: c\ncontexts: [{name: c, context: {cluster: k}}]")),
              HasSubstr("context \"c\": there is no cluster \"k\""));
  EXPECT_THAT(ErrorOf(Read("current-context: c\ncontexts: [{name: c, context: {}}]")),
              HasSubstr("context \"c\": cluster is missing"));
  EXPECT_THAT(ErrorOf(Read("current-context: c\n"
                           "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                           "clusters: [{name: k, cluster: {server: 'https://h'}}]")),
              HasSubstr("context \"c\": there is no user \"u\""));
  EXPECT_THAT(ErrorOf(Read("current-context: c\n"
                           "contexts: [{name: c, context: {cluster: k}}]\n"
                           "clusters: [{name: k, cluster: {}}]")),
              HasSubstr("cluster \"k\": server is missing"));
}

TEST(KubeConfigTest, NamesTheFileThatCannotBeRead) {
  const TemporaryFolder folder;
  const auto config = ReadKubeconfig(folder.Path() + "/absent", "");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(config.error().message, HasSubstr(folder.Path() + "/absent: No such file"));
  EXPECT_FALSE(ReadKubeconfig(folder.Path(), ""));  // a folder
}

TEST(KubeConfigTest, SaysWhereTheTextIsBroken) {
  EXPECT_THAT(ErrorOf(Read("a: [\n")), HasSubstr("line "));
  EXPECT_THAT(ErrorOf(Read("- a\n")), HasSubstr("an object is expected"));
  EXPECT_THAT(ErrorOf(Read("a: 1\n---\nb: 2\n")), HasSubstr("one document"));
}

TEST(KubeConfigTest, RefusesWhatItCannotObeyAndNamesTheUser) {
  EXPECT_THAT(ErrorOf(Read(WithMembers("", "exec: {command: aws}"))),
              HasSubstr("user \"u\": exec plugins are not supported"));
  EXPECT_THAT(ErrorOf(Read(WithMembers("", "auth-provider: {name: gcp}"))),
              HasSubstr("user \"u\": auth-provider plugins are not supported"));
  EXPECT_THAT(ErrorOf(Read(WithMembers("", "username: a, password: b"))),
              HasSubstr("user \"u\": passwords"));
  EXPECT_THAT(ErrorOf(Read(WithMembers("", "as: somebody"))),
              HasSubstr("user \"u\": impersonation (as)"));
  EXPECT_THAT(ErrorOf(Read(WithMembers(", proxy-url: 'http://p'", ""))),
              HasSubstr("cluster \"k\": proxy-url"));
}

TEST(KubeConfigTest, RefusesWhatContradictsItself) {
  EXPECT_THAT(ErrorOf(Read(WithMembers("", "client-certificate: c.pem"))),
              HasSubstr("needs its key"));
  EXPECT_THAT(ErrorOf(Read(WithMembers(", insecure-skip-tls-verify: true, "
                                       "certificate-authority: ca.pem",
                                       ""))),
              HasSubstr("exclude each other"));
}

TEST(KubeConfigTest, RefusesValuesOfTheWrongKind) {
  EXPECT_THAT(ErrorOf(Read(WithMembers("", "token: 123"))),
              HasSubstr("user \"u\": token must be a string"));
  EXPECT_THAT(ErrorOf(Read(WithMembers(", insecure-skip-tls-verify: 'true'", ""))),
              HasSubstr("must be true or false"));
  for (const char* wrong : {"Q0E", "Q===", "Q0E?", "====", "=0E="}) {
    EXPECT_THAT(ErrorOf(Read(
                    WithMembers(std::string(", certificate-authority-data: '") + wrong + "'", ""))),
                HasSubstr("certificate-authority-data is not base64"))
        << wrong;
  }
}

TEST(KubeConfigTest, ReadsServerUrls) {
  const auto plain = ParseServerUrl("https://h");
  ASSERT_TRUE(plain);
  EXPECT_EQ(HostAndPort(*plain), "h:443");
  const auto ipv6 = ParseServerUrl("http://[fd00::1]:8080/a/b//");
  ASSERT_TRUE(ipv6);
  EXPECT_EQ(HostAndPort(*ipv6), "[fd00::1]:8080");
  EXPECT_EQ(ipv6->host, "fd00::1");
  EXPECT_EQ(ipv6->base_path, "/a/b");
  EXPECT_EQ(ParseServerUrl("http://h")->port, 80);
}

TEST(KubeConfigTest, RefusesUrlsThatAreNone) {
  for (const char* wrong :
       {"", "h:6443", "ftp://h", "https://", "https://:1", "https://h:", "https://h:0",
        "https://h:65536", "https://h:x", "https://user@h", "https://h/a?b", "https://h/a#b",
        "https://h/a b", "https://[::1", "https://[::1]x", "https://::1", "https://h\r\nX: y"}) {
    EXPECT_FALSE(ParseServerUrl(wrong)) << wrong;
  }
}

TEST(KubeConfigTest, FindsThePodsServiceAccount) {
  const TemporaryFolder folder;
  folder.Write("token", "t");
  folder.Write("ca.crt", "ca");
  folder.Write("namespace", "offcut\n");
  const auto config = InClusterConfig(folder.Path(), "fd00::1", "443");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(HostAndPort(*config), "[fd00::1]:443");
  EXPECT_EQ(config->token_file, folder.Path() + "/token");
  EXPECT_EQ(config->authorities.file, folder.Path() + "/ca.crt");
  EXPECT_EQ(config->name_space, "offcut");
  EXPECT_EQ(HostAndPort(*InClusterConfig(folder.Path(), "10.0.0.1", "6443")), "10.0.0.1:6443");
}

TEST(KubeConfigTest, SaysThatThereIsNoPodAroundIt) {
  const TemporaryFolder folder;
  EXPECT_THAT(ErrorOf(InClusterConfig(folder.Path(), "", "")), HasSubstr("not in a pod"));
  EXPECT_THAT(ErrorOf(InClusterConfig(folder.Path(), "10.0.0.1", "443")), HasSubstr("/token"));
  folder.Write("token", "t");
  EXPECT_THAT(ErrorOf(InClusterConfig(folder.Path(), "10.0.0.1", "443")), HasSubstr("/ca.crt"));
}

}  // namespace
}  // namespace offcut::api
