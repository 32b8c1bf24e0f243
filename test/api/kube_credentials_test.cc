// Files that are replaced while we run.
#include "api/kube_credentials.h"

#include <chrono>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/certificates.h"
#include "test/testing/temporary_folder.h"

namespace offcut::api {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

const KubeCredentials::TimePoint kStart{seconds{1000}};

std::expected<KubeCredentials, Error> Load(const KubeConfig& config) {
  return KubeCredentials::Load(config, kStart, minutes{1});
}

KubeConfig WithTokenFile(const std::string& path) {
  KubeConfig config;
  config.tls = false;
  config.token_file = path;
  return config;
}

TEST(KubeCredentialsTest, ReadsTheTokenAgainAfterAMinute) {
  const TemporaryFolder folder;
  auto credentials = Load(WithTokenFile(folder.Write("token", " one \n")));
  ASSERT_TRUE(credentials) << credentials.error().message;
  folder.Write("token", "two");
  EXPECT_EQ(credentials->Token(kStart + seconds{59}), "one");
  EXPECT_EQ(credentials->Token(kStart + seconds{60}), "two");
}

TEST(KubeCredentialsTest, KeepsTheTokenWhileItsFileCannotBeRead) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("token", "one");
  auto credentials = Load(WithTokenFile(path));
  ASSERT_TRUE(credentials);
  std::filesystem::remove(path);
  EXPECT_EQ(credentials->Token(kStart + minutes{1}), "one");
  folder.Write("token", "\n");
  EXPECT_EQ(credentials->Token(kStart + minutes{2}), "one");
  folder.Write("token", "a\r\nX: forged");
  EXPECT_EQ(credentials->Token(kStart + minutes{3}), "one");
  EXPECT_FALSE(credentials->ReplaceToken("one", kStart + minutes{3}));
}

TEST(KubeCredentialsTest, ReadsTheTokenAtOnceWhenItWasRefused) {
  const TemporaryFolder folder;
  auto credentials = Load(WithTokenFile(folder.Write("token", "one")));
  ASSERT_TRUE(credentials);
  EXPECT_FALSE(credentials->ReplaceToken("one", kStart));
  folder.Write("token", "two");
  EXPECT_TRUE(credentials->ReplaceToken("one", kStart));
  EXPECT_EQ(credentials->Token(kStart), "two");
}

TEST(KubeCredentialsTest, PrefersTheFileAndFallsBackOnTheTokenGiven) {
  const TemporaryFolder folder;
  KubeConfig config = WithTokenFile(folder.Path() + "/token");
  EXPECT_THAT(Load(config).error().message, HasSubstr(folder.Path() + "/token"));
  config.token = "given";
  auto credentials = Load(config);
  ASSERT_TRUE(credentials);
  EXPECT_EQ(credentials->Token(kStart), "given");
  folder.Write("token", "from the file");  // blanks within: no token
  EXPECT_EQ(credentials->Token(kStart + minutes{1}), "given");
  folder.Write("token", "file");
  EXPECT_EQ(credentials->Token(kStart + minutes{2}), "file");
}

TEST(KubeCredentialsTest, RefusesATokenThatWouldForgeAHeader) {
  KubeConfig config;
  config.tls = false;
  config.token = "a\r\nX: y";
  EXPECT_FALSE(Load(config));
}

TEST(KubeCredentialsTest, MakesANewContextWhenTheAuthoritiesChange) {
  const CertificateAuthority first("first");
  const CertificateAuthority second("second");
  const TemporaryFolder folder;
  KubeConfig config;
  config.authorities.file = folder.Write("ca.crt", first.Pem());
  auto credentials = Load(config);
  ASSERT_TRUE(credentials) << credentials.error().message;
  const TlsContext context = credentials->Tls(kStart);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(credentials->Tls(kStart + minutes{1}), context);  // nothing has changed
  folder.Write("ca.crt", first.Pem() + second.Pem());
  EXPECT_EQ(credentials->Tls(kStart + seconds{90}), context);
  const TlsContext changed = credentials->Tls(kStart + minutes{2});
  EXPECT_NE(changed, context);
  folder.Write("ca.crt", "rubbish");
  EXPECT_EQ(credentials->Tls(kStart + minutes{3}), changed);
}

TEST(KubeCredentialsTest, KeepsTheContextWhileHalfOfAPairIsReplaced) {
  const CertificateAuthority authority("authority");
  const CertifiedKey old_pair = authority.Issue("DNS:old");
  const CertifiedKey new_pair = authority.Issue("DNS:new");
  const TemporaryFolder folder;
  KubeConfig config;
  config.authorities.pem = authority.Pem();
  config.client_certificate.file = folder.Write("tls.crt", old_pair.certificate);
  config.client_key.file = folder.Write("tls.key", old_pair.key);
  auto credentials = Load(config);
  ASSERT_TRUE(credentials) << credentials.error().message;
  const TlsContext context = credentials->Tls(kStart);
  folder.Write("tls.crt", new_pair.certificate);
  EXPECT_EQ(credentials->Tls(kStart + minutes{1}), context);
  folder.Write("tls.key", new_pair.key);
  EXPECT_NE(credentials->Tls(kStart + minutes{2}), context);
}

TEST(KubeCredentialsTest, NamesTheFileThatIsWrong) {
  const TemporaryFolder folder;
  KubeConfig config;
  config.authorities.file = folder.Path() + "/ca.crt";
  EXPECT_THAT(Load(config).error().message, HasSubstr(folder.Path() + "/ca.crt"));
  folder.Write("ca.crt", "rubbish");
  EXPECT_THAT(Load(config).error().message, HasSubstr(folder.Path() + "/ca.crt"));
  config.authorities.file.clear();
  config.authorities.pem = "rubbish";
  EXPECT_THAT(Load(config).error().message, HasSubstr("the certificate authority (inline)"));
}

}  // namespace
}  // namespace offcut::api
