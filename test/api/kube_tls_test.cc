// Who the server is, and who we are: TLS against a server with certificates made on the spot.
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/kube_client.h"
#include "test/testing/certificates.h"
#include "test/testing/kube_calls.h"
#include "test/testing/scripted_server.h"
#include "test/testing/temporary_folder.h"

namespace offcut::api {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

void AnswerAll(Peer& peer, int) {
  while (peer.ReadRequest()) peer.Send(Reply(200, "secure"));
}

ServerTls Certified(const CertificateAuthority& authority, const std::string& names) {
  return {.certified = authority.Issue(names), .client_authorities = {}};
}

KubeConfig TlsConfig(std::uint16_t port, const std::string& authorities) {
  KubeConfig config;
  config.host = "127.0.0.1";
  config.port = port;
  config.authorities.pem = authorities;
  return config;
}

// The body, or why there is none.
std::string TextOf(const KubeResult& result) {
  return result ? result->body : result.error().message;
}

std::string AskOnce(const KubeConfig& config) {
  return TextOf(Ask(*StartClient(config), Get("/")));
}

TEST(KubeTlsTest, TrustsAServerWhoseCertificateIsForItsAddress) {
  const CertificateAuthority authority("authority");
  ScriptedServer server(AnswerAll, Certified(authority, "DNS:kubernetes,IP:127.0.0.1"));
  EXPECT_EQ(AskOnce(TlsConfig(server.Port(), authority.Pem())), "secure");
}

TEST(KubeTlsTest, TrustsAServerWhoseCertificateIsForItsName) {
  const CertificateAuthority authority("authority");
  ScriptedServer server(AnswerAll, Certified(authority, "DNS:localhost"));
  KubeConfig config = TlsConfig(server.Port(), authority.Pem());
  config.host = "localhost";
  EXPECT_EQ(AskOnce(config), "secure");
}

TEST(KubeTlsTest, ChecksForTheNameThatIsGivenInstead) {
  const CertificateAuthority authority("authority");
  ScriptedServer server(AnswerAll, Certified(authority, "DNS:kubernetes"));
  KubeConfig config = TlsConfig(server.Port(), authority.Pem());
  config.tls_server_name = "kubernetes";
  EXPECT_EQ(AskOnce(config), "secure");
}

TEST(KubeTlsTest, TakesAnyOfSeveralAuthorities) {
  const CertificateAuthority old_one("old");
  const CertificateAuthority new_one("new");
  ScriptedServer server(AnswerAll, Certified(new_one, "IP:127.0.0.1"));
  EXPECT_EQ(AskOnce(TlsConfig(server.Port(), old_one.Pem() + new_one.Pem())), "secure");
}

TEST(KubeTlsTest, RefusesAServerOfAnotherAuthority) {
  const CertificateAuthority ours("authority");
  const CertificateAuthority other("authority");
  ScriptedServer server(AnswerAll, Certified(other, "IP:127.0.0.1"));
  const auto client = StartClient(TlsConfig(server.Port(), ours.Pem()));
  const KubeResult result = Ask(*client, Post("/", "{}"));
  ASSERT_FALSE(result);
  EXPECT_FALSE(result.error().may_have_acted);
  EXPECT_THAT(result.error().message, HasSubstr("certificate is not valid for 127.0.0.1"));
}

TEST(KubeTlsTest, RefusesACertificateForSomebodyElse) {
  const CertificateAuthority authority("authority");
  ScriptedServer server(AnswerAll, Certified(authority, "DNS:other,IP:127.0.0.2"));
  EXPECT_THAT(AskOnce(TlsConfig(server.Port(), authority.Pem())),
              HasSubstr("not valid for 127.0.0.1: IP address mismatch"));
  KubeConfig config = TlsConfig(server.Port(), authority.Pem());
  config.tls_server_name = "kubernetes";
  EXPECT_THAT(AskOnce(config), HasSubstr("not valid for kubernetes: hostname mismatch"));
}

TEST(KubeTlsTest, TrustsAnyoneWhereItIsToldTo) {
  const CertificateAuthority authority("authority");
  ScriptedServer server(AnswerAll, Certified(authority, "DNS:other"));
  KubeConfig config = TlsConfig(server.Port(), "");
  EXPECT_THAT(AskOnce(config), HasSubstr("not valid"));  // no authority of the system signed it
  config.insecure_skip_tls_verify = true;
  EXPECT_EQ(AskOnce(config), "secure");
}

TEST(KubeTlsTest, ShowsItsCertificateToAServerThatAsks) {
  const CertificateAuthority authority("authority");
  ScriptedServer server(AnswerAll, ServerTls{.certified = authority.Issue("IP:127.0.0.1"),
                                             .client_authorities = authority.Pem()});
  KubeConfig config = TlsConfig(server.Port(), authority.Pem());
  EXPECT_NE(AskOnce(config), "secure");
  const CertifiedKey client = authority.Issue("DNS:offcut");
  config.client_certificate.pem = client.certificate;
  config.client_key.pem = client.key;
  EXPECT_EQ(AskOnce(config), "secure");
}

TEST(KubeTlsTest, KeepsAConnectionForTheNextCall) {
  const CertificateAuthority authority("authority");
  ScriptedServer server(AnswerAll, Certified(authority, "IP:127.0.0.1"));
  const auto client = StartClient(TlsConfig(server.Port(), authority.Pem()));
  for (int i = 0; i < 10; ++i) ASSERT_EQ(TextOf(Ask(*client, Post("/", "{}"))), "secure");
  EXPECT_EQ(server.Connections(), 1);
}

TEST(KubeTlsTest, SendsNoChangeOnAConnectionThatIsKnownToBeClosed) {
  const CertificateAuthority authority("authority");
  std::promise<void> closed;
  ScriptedServer server(
      [&closed](Peer& peer, int number) {
        peer.ReadRequest();
        peer.Send(Reply(201, "secure"));
        peer.Close();
        if (number == 0) closed.set_value();
      },
      Certified(authority, "IP:127.0.0.1"));
  const auto client = StartClient(TlsConfig(server.Port(), authority.Pem()));
  ASSERT_EQ(TextOf(Ask(*client, Post("/", "{}"))), "secure");
  closed.get_future().wait();
  EXPECT_EQ(TextOf(Ask(*client, Post("/", "{}"))), "secure");
}

TEST(KubeTlsTest, SendsAndReadsBodiesOfManyRecords) {
  const CertificateAuthority authority("authority");
  ScriptedServer server(
      [](Peer& peer, int) {
        while (const auto request = peer.ReadRequest()) peer.Send(Reply(200, request->body));
      },
      Certified(authority, "IP:127.0.0.1"));
  const auto client = StartClient(TlsConfig(server.Port(), authority.Pem()));
  std::string body;
  for (int i = 0; i < 400'000; ++i) body += std::to_string(i);
  EXPECT_TRUE(TextOf(Ask(*client, Post("/", body))) == body);
}

TEST(KubeTlsTest, ConnectsAnewWhenTheAuthoritiesHaveChanged) {
  const CertificateAuthority old_one("old");
  const CertificateAuthority new_one("new");
  const TemporaryFolder folder;
  ScriptedServer server(AnswerAll, Certified(old_one, "IP:127.0.0.1"));
  KubeConfig config = TlsConfig(server.Port(), "");
  config.authorities.file = folder.Write("ca.crt", old_one.Pem());
  KubeClientSettings settings;
  settings.credentials_recheck = milliseconds{1};
  const auto client = StartClient(config, settings);
  EXPECT_EQ(TextOf(Ask(*client, Get("/"))), "secure");
  folder.Write("ca.crt", new_one.Pem());
  // The kept connection is not used any more, and a new one finds a stranger.
  std::string text = "secure";
  for (int i = 0; i < 1000 && text == "secure"; ++i) text = TextOf(Ask(*client, Get("/")));
  EXPECT_THAT(text, HasSubstr("not valid"));
}

TEST(KubeTlsTest, TellsAServerThatSpeaksNoTls) {
  ScriptedServer server([](Peer& peer, int) { peer.Send("HTTP/1.0 400 Bad Request\r\n\r\n"); });
  const CertificateAuthority authority("authority");
  EXPECT_THAT(AskOnce(TlsConfig(server.Port(), authority.Pem())), HasSubstr("cannot connect"));
}

TEST(KubeTlsTest, GivesUpAHandshakeThatDoesNotEnd) {
  ScriptedServer server([](Peer& peer, int) { peer.WaitForClose(); });
  const CertificateAuthority authority("authority");
  KubeClientSettings settings;
  settings.connect_timeout = milliseconds{20};
  const auto client = StartClient(TlsConfig(server.Port(), authority.Pem()), settings);
  const KubeResult result = Ask(*client, Post("/", "{}"));
  EXPECT_FALSE(result.error().may_have_acted);
  EXPECT_THAT(result.error().message, HasSubstr("nothing came within 20 ms"));
}

}  // namespace
}  // namespace offcut::api
