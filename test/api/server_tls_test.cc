// The server over TLS, with certificates made on the spot: who may come in, and that what holds for
// plain HTTP holds here. No test sleeps.
#include <chrono>
#include <cstddef>
#include <expected>
#include <future>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "api/server.h"
#include "api/tls_files.h"
#include "test/testing/certificates.h"
#include "test/testing/temporary_folder.h"
#include "test/testing/tls_client.h"

namespace offcut::api {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

std::string Post(std::string_view body) {
  return "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + std::string{body};
}

HttpResponse Ok(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

void Echo(const HttpRequest& request, const Respond& respond) {
  respond(Ok(std::string{request.body}));
}

std::chrono::steady_clock::time_point Soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds{30};
}

ServerTlsSettings Certified(const CertifiedKey& certified) {
  return {.certificate_chain = {"certificate", certified.certificate},
          .private_key = {"key", certified.key},
          .client_authorities = std::nullopt};
}

std::expected<std::unique_ptr<Server>, Error> TryStart(ServerTlsSettings tls) {
  ServerSettings settings;
  settings.tls = std::move(tls);
  return Server::Start(settings, Echo);
}

class ServerTlsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Server> Start(HttpHandler handler = Echo, ServerSettings settings = {}) {
    settings.tls = Certified(authority_.Issue("IP:127.0.0.1"));
    return StartAs(std::move(settings), std::move(handler));
  }

  // Only clients with a certificate of `clients_` come in.
  std::unique_ptr<Server> StartMutual() {
    ServerSettings settings;
    settings.tls = Certified(authority_.Issue("IP:127.0.0.1"));
    settings.tls->client_authorities = NamedPem{"authorities", clients_.Pem()};
    return StartAs(std::move(settings), Echo);
  }

  TlsClientSettings Trusting() const {
    return {.authorities = authority_.Pem(), .certified = std::nullopt};
  }

  TlsClientSettings As(const CertifiedKey& certified) const {
    return {.authorities = authority_.Pem(), .certified = certified};
  }

  const CertificateAuthority authority_{"servers"};
  const CertificateAuthority clients_{"clients"};

 private:
  static std::unique_ptr<Server> StartAs(ServerSettings settings, HttpHandler handler) {
    auto server = Server::Start(std::move(settings), std::move(handler));
    EXPECT_TRUE(server.has_value()) << server.error().message;
    return *std::move(server);
  }
};

TEST_F(ServerTlsTest, AnswersManyRequestsOnOneConnection) {
  const auto server = Start();
  TlsClient client(server->Port(), Trusting());
  ASSERT_EQ(client.ShakeHands(), "");
  for (int i = 0; i < 200; ++i) {
    const std::string body = "request " + std::to_string(i);
    ASSERT_EQ(client.Ask(Post(body)), body);
  }
}

TEST_F(ServerTlsTest, SpeaksTls12AndNothingOlder) {
  const auto server = Start();
  TlsClientSettings settings = Trusting();
  settings.version_max = TLS1_2_VERSION;
  TlsClient good(server->Port(), settings);
  ASSERT_EQ(good.ShakeHands(), "");
  EXPECT_EQ(good.Ask(Post("1.2")), "1.2");
  settings.version_max = TLS1_1_VERSION;
  TlsClient old(server->Port(), settings);
  EXPECT_THAT(old.ShakeHands(), HasSubstr("protocol version"));
}

// Many records each way; the answer does not fit into what a socket takes at once.
TEST_F(ServerTlsTest, EchoesBodiesOfEverySizeAroundARecord) {
  const auto server = Start();
  TlsClient client(server->Port(), Trusting());
  ASSERT_EQ(client.ShakeHands(), "");
  for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 16'000, 16'383, 16'384,
                                                                   16'385, 70'000, 9'000'001}) {
    const std::string body(size, 'x');
    const auto reply = client.Ask(Post(body));
    ASSERT_TRUE(reply == body) << size << " " << client.Error();
  }
}

TEST_F(ServerTlsTest, AnswersPipelinedRequestsOfOneRecord) {
  const auto server = Start();
  TlsClient client(server->Port(), Trusting());
  ASSERT_EQ(client.ShakeHands(), "");
  client.Send(Post("one") + Post("two") + Post("three"));
  EXPECT_EQ(client.Receive(), "one");
  EXPECT_EQ(client.Receive(), "two");
  EXPECT_EQ(client.Receive(), "three");
}

TEST_F(ServerTlsTest, IsRefusedByAClientThatTrustsAnotherAuthority) {
  const auto server = Start();
  TlsClient client(server->Port(), {.authorities = clients_.Pem(), .certified = std::nullopt});
  EXPECT_THAT(client.ShakeHands(), HasSubstr("certificate verify failed"));
  TlsClient next(server->Port(), Trusting());
  ASSERT_EQ(next.ShakeHands(), "");
  EXPECT_EQ(next.Ask(Post("x")), "x");
}

TEST_F(ServerTlsTest, SaysThatNothingFollowsWhenItCloses) {
  const auto server = Start();
  TlsClient client(server->Port(), Trusting());
  ASSERT_EQ(client.ShakeHands(), "");
  EXPECT_EQ(client.Ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), "");
  EXPECT_TRUE(client.EndsInGoodOrder());
}

// ---- Mutual TLS --------------------------------------------------------------------------------

TEST_F(ServerTlsTest, TakesAClientWithACertificateOfTheAuthority) {
  const auto server = StartMutual();
  TlsClient client(server->Port(), As(clients_.Issue("DNS:kube-scheduler")));
  ASSERT_EQ(client.ShakeHands(), "");
  EXPECT_EQ(client.Ask(Post("x")), "x");
}

// In TLS 1.3 the client's handshake is over before the server has looked at its certificate: the
// refusal meets its first read. A request sent meanwhile must not destroy it.
TEST_F(ServerTlsTest, RefusesAClientWithoutACertificate) {
  const auto server = StartMutual();
  TlsClient client(server->Port(), Trusting());
  client.ShakeHands();
  EXPECT_EQ(client.Ask(Post("x")), std::nullopt);
  EXPECT_THAT(client.Error(), HasSubstr("certificate required"));
  TlsClientSettings settings = Trusting();
  settings.version_max = TLS1_2_VERSION;
  TlsClient older(server->Port(), settings);
  EXPECT_THAT(older.ShakeHands(), HasSubstr("handshake failure"));
}

TEST_F(ServerTlsTest, RefusesAClientOfAnotherAuthority) {
  const auto server = StartMutual();
  const CertificateAuthority stranger("clients");
  TlsClient client(server->Port(), As(stranger.Issue("DNS:kube-scheduler")));
  client.ShakeHands();
  EXPECT_EQ(client.Ask(Post("x")), std::nullopt);
  EXPECT_THAT(client.Error(), AnyOf(HasSubstr("unknown ca"), HasSubstr("decrypt error"),
                                    HasSubstr("bad certificate")));
}

TEST_F(ServerTlsTest, TakesClientsOfAnyOfSeveralAuthorities) {
  const CertificateAuthority second("second");
  ServerTlsSettings tls = Certified(authority_.Issue("IP:127.0.0.1"));
  tls.client_authorities = NamedPem{"authorities", clients_.Pem() + second.Pem()};
  const auto server = TryStart(std::move(tls));
  ASSERT_TRUE(server.has_value());
  for (const auto& certified : {clients_.Issue("DNS:a"), second.Issue("DNS:b")}) {
    TlsClient client((*server)->Port(), As(certified));
    ASSERT_EQ(client.ShakeHands(), "");
    EXPECT_EQ(client.Ask(Post("x")), "x");
  }
}

// ---- Limits ------------------------------------------------------------------------------------

TEST_F(ServerTlsTest, ClosesOnPlainBytes) {
  const auto server = Start();
  TlsClient client(server->Port(), Trusting());
  ASSERT_TRUE(client.SendRaw(kGet));
  EXPECT_TRUE(client.WaitForRawClose());
}

TEST_F(ServerTlsTest, ClosesOnAHandshakeThatDoesNotBegin) {
  const auto server = Start(Echo, {.handshake_timeout = milliseconds{20}});
  const TlsClient client(server->Port(), Trusting());
  EXPECT_TRUE(client.WaitForRawClose());
}

// The first bytes of a record of 512 that never comes.
TEST_F(ServerTlsTest, ClosesOnAHandshakeThatDoesNotEnd) {
  const auto server = Start(Echo, {.handshake_timeout = milliseconds{20}});
  const TlsClient client(server->Port(), Trusting());
  ASSERT_TRUE(client.SendRaw({"\x16\x03\x01\x02\x00\x01", 6}));
  EXPECT_TRUE(client.WaitForRawClose());
}

TEST_F(ServerTlsTest, ClosesAnIdleConnection) {
  const auto server = Start(Echo, {.idle_timeout = milliseconds{20}});
  TlsClient client(server->Port(), Trusting());
  ASSERT_EQ(client.ShakeHands(), "");
  EXPECT_TRUE(client.WaitForRawClose());
}

TEST_F(ServerTlsTest, ClosesOnABodyThatDoesNotEnd) {
  const auto server = Start(Echo, {.read_timeout = milliseconds{20}});
  TlsClient client(server->Port(), Trusting());
  ASSERT_EQ(client.ShakeHands(), "");
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf");
  EXPECT_TRUE(client.WaitForRawClose());
}

TEST_F(ServerTlsTest, RefusesABodySoThatItsSenderCanReadTheAnswer) {
  const auto server = Start(Echo, {.body_bytes_max = 100});
  TlsClient client(server->Port(), Trusting());
  ASSERT_EQ(client.ShakeHands(), "");
  EXPECT_THAT(client.Ask(Post(std::string(500'000, 'x'))).value_or(client.Error()),
              HasSubstr("body exceeds 100 bytes"));
}

TEST_F(ServerTlsTest, TellsAConnectionOverTheLimit) {
  const auto server = Start(Echo, {.connections_max = 1});
  TlsClient first(server->Port(), Trusting());
  ASSERT_EQ(first.ShakeHands(), "");
  TlsClient second(server->Port(), Trusting());
  ASSERT_EQ(second.ShakeHands(), "");
  EXPECT_THAT(second.Receive().value_or(second.Error()), HasSubstr("too many connections"));
  EXPECT_EQ(first.Ask(Post("x")), "x");
}

// ---- Drain -------------------------------------------------------------------------------------

TEST_F(ServerTlsTest, DrainAnswersWhatIsInFlight) {
  std::promise<Respond> arrived;
  const auto server = Start(
      [&arrived](const HttpRequest&, Respond respond) { arrived.set_value(std::move(respond)); });
  TlsClient client(server->Port(), Trusting());
  ASSERT_EQ(client.ShakeHands(), "");
  client.Send(kGet);
  const Respond respond = arrived.get_future().get();
  ASSERT_FALSE(server->Drain(std::chrono::steady_clock::now()));  // has begun
  respond(Ok("answered"));
  EXPECT_EQ(client.Receive(), "answered");
  EXPECT_TRUE(client.EndsInGoodOrder());
  EXPECT_TRUE(server->Drain(Soon()));
}

// All of them lie decrypted, or in OpenSSL, or in the kernel, when the drain begins: each request
// is a record of its own, and the handler of the first holds the listener's thread until all are
// sent.
TEST_F(ServerTlsTest, DrainAnswersEveryRequestThatHasCome) {
  std::promise<void> entered;
  std::promise<void> leave;
  const auto server = Start([&](const HttpRequest& request, const Respond& respond) {
    if (request.body == "hold") {
      entered.set_value();
      leave.get_future().wait();
    }
    Echo(request, respond);
  });
  TlsClient client(server->Port(), Trusting());
  ASSERT_EQ(client.ShakeHands(), "");
  client.Send(Post("hold"));
  entered.get_future().wait();
  for (int i = 0; i < 50; ++i) client.Send(Post(std::to_string(i)));
  ASSERT_FALSE(server->Drain(std::chrono::steady_clock::now()));  // has begun
  leave.set_value();
  EXPECT_EQ(client.Receive(), "hold");
  for (int i = 0; i < 50; ++i) ASSERT_EQ(client.Receive(), std::to_string(i));
  EXPECT_TRUE(client.EndsInGoodOrder());
  EXPECT_TRUE(server->Drain(Soon()));
}

TEST_F(ServerTlsTest, DrainClosesConnectionsThatAskNothing) {
  const auto server = Start();
  TlsClient used(server->Port(), Trusting());
  ASSERT_EQ(used.ShakeHands(), "");
  ASSERT_EQ(used.Ask(Post("x")), "x");
  const TlsClient silent(server->Port(), Trusting());  // and never shakes hands
  EXPECT_TRUE(server->Drain(Soon()));
  EXPECT_TRUE(used.WaitForRawClose());
  EXPECT_TRUE(silent.WaitForRawClose());
}

// ---- Certificates that are none ----------------------------------------------------------------

TEST_F(ServerTlsTest, StartsWithNothingThatDoesNotFit) {
  const CertifiedKey good = authority_.Issue("IP:127.0.0.1");
  const CertifiedKey other = authority_.Issue("IP:127.0.0.1");
  const auto error_of = [](ServerTlsSettings tls) {
    const auto server = TryStart(std::move(tls));
    return server ? "started" : server.error().message;
  };
  EXPECT_EQ(error_of(Certified(good)), "started");
  ServerTlsSettings tls = Certified(good);
  tls.private_key.text = other.key;
  EXPECT_THAT(error_of(tls), AllOf(HasSubstr("key: "), HasSubstr("mismatch")));
  tls.private_key.text = "no key";
  EXPECT_THAT(error_of(tls), HasSubstr("key: "));
  tls = Certified(good);
  tls.certificate_chain.text = good.key;
  EXPECT_THAT(error_of(tls), HasSubstr("certificate: "));
  tls = Certified(good);
  tls.client_authorities = NamedPem{"authorities", "no certificate"};
  EXPECT_EQ(error_of(tls), "authorities: no certificate in it");
}

TEST(TlsFilesTest, NamesTheFlagAndTheFile) {
  const TemporaryFolder folder;
  const std::string good = folder.Write("tls.crt", "certificate");
  const std::string empty = folder.Write("empty", " \n");
  const auto error_of = [](const ServerTlsFiles& files) {
    const auto tls = ReadServerTls(files);
    return tls ? "none" : tls.error().message;
  };
  EXPECT_EQ(error_of({good, "", ""}), "--tls-cert-file needs --tls-private-key-file");
  EXPECT_EQ(error_of({"", good, ""}), "--tls-private-key-file needs --tls-cert-file");
  EXPECT_EQ(error_of({"", "", good}),
            "--tls-client-ca-file needs --tls-cert-file and --tls-private-key-file");
  EXPECT_EQ(error_of({good, empty, ""}), "--tls-private-key-file: " + empty + " is empty");
  EXPECT_EQ(error_of({good, good, empty}), "--tls-client-ca-file: " + empty + " is empty");
  EXPECT_THAT(error_of({folder.Path() + "/none", good, ""}),
              AllOf(HasSubstr("--tls-cert-file: cannot read "), HasSubstr("/none: ")));
}

TEST(TlsFilesTest, NamesFlagAndFileOfWhatIsReadToo) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("tls.pem", "text");
  const auto tls = ReadServerTls({file, file, file});
  ASSERT_TRUE(tls.has_value() && tls->has_value());
  EXPECT_EQ((*tls)->certificate_chain.name, "--tls-cert-file (" + file + ")");
  EXPECT_EQ((*tls)->private_key.text, "text");
  EXPECT_EQ((*tls)->client_authorities->name, "--tls-client-ca-file (" + file + ")");
}

TEST(TlsFilesTest, IsPlainWhereNoFileIsNamed) {
  const auto tls = ReadServerTls({});
  ASSERT_TRUE(tls.has_value());
  EXPECT_FALSE(tls->has_value());
}

}  // namespace
}  // namespace offcut::api
