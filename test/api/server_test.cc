// The server over real sockets. No test sleeps: each waits for what it expects on a socket, and a
// read that gets nothing for 30 s fails. Limits of a few ms are inputs of the tests that run into
// them.
#include "api/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rapidcheck.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace offcut::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kPatience{30};

struct Reply {
  int status = 0;    // 0: the connection ended before a whole response came
  std::string head;  // with the status line
  std::string body;
};

// One blocking connection.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(socket_); }

  bool IsConnected() const { return connected_; }

  // False: the peer no longer takes it.
  bool Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  Reply Receive(bool with_body = true) {
    Reply reply;
    const std::optional<std::size_t> head_end = ReceiveUntil("\r\n\r\n");
    if (!head_end) return reply;
    reply.head = received_.substr(0, *head_end);
    received_.erase(0, *head_end);
    const std::size_t length = with_body ? ContentLength(reply.head) : 0;
    while (received_.size() < length) {
      if (!ReceiveSome()) return {};
    }
    reply.body = received_.substr(0, length);
    received_.erase(0, length);
    reply.status = std::atoi(reply.head.substr(std::string_view("HTTP/1.1 ").size()).c_str());
    return reply;
  }

  Reply Ask(std::string_view request) {
    Send(request);
    return Receive();
  }

  // Waits until the peer closes, and drops what it still sends.
  bool WaitForClose() {
    while (ReceiveSome()) received_.clear();
    return !timed_out_;
  }

  void CloseSend() const { ::shutdown(socket_, SHUT_WR); }

 private:
  static std::size_t ContentLength(const std::string& head) {
    constexpr std::string_view field = "\r\nContent-Length: ";
    const std::size_t at = head.find(field);
    if (at == std::string::npos) return 0;
    std::size_t length = 0;
    std::from_chars(head.data() + at + field.size(), head.data() + head.size(), length);
    return length;
  }

  std::optional<std::size_t> ReceiveUntil(std::string_view end) {
    for (;;) {
      const std::size_t at = received_.find(end);
      if (at != std::string::npos) return at + end.size();
      if (!ReceiveSome()) return std::nullopt;
    }
  }

  bool ReceiveSome() {
    std::array<char, 65536> bytes;
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) timed_out_ = true;
    if (count <= 0) return false;
    received_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }

  const int socket_;
  bool connected_ = false;
  bool timed_out_ = false;
  std::string received_;
};

std::string Post(std::string_view body, std::string_view more_fields = "") {
  return "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string{more_fields} + "\r\n" + std::string{body};
}

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

HttpResponse Ok(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

void Echo(const HttpRequest& request, const Respond& respond) {
  respond(Ok(std::string{request.body}));
}

std::unique_ptr<Server> StartServer(HttpHandler handler, ServerSettings settings = {},
                                    ServerEvents events = {}) {
  auto server = Server::Start(std::move(settings), std::move(handler), std::move(events));
  EXPECT_TRUE(server.has_value()) << server.error().message;
  return *std::move(server);
}

steady_clock::time_point Soon() { return steady_clock::now() + kPatience; }

// Holds every request back until the test answers it.
class HeldRequests {
 public:
  struct Held {
    HttpRequest request;
    Respond respond;
  };

  HttpHandler Handler() {
    return [this](const HttpRequest& request, Respond respond) {
      const std::lock_guard lock(mutex_);
      held_.push_back({request, std::move(respond)});
      arrived_.notify_all();
    };
  }

  Held Take() {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, kPatience, [this] { return !held_.empty(); })) {
      throw std::runtime_error("no request came");
    }
    Held held = std::move(held_.front());
    held_.erase(held_.begin());
    return held;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Held> held_;
};

// ---- Requests ----------------------------------------------------------------------------------

TEST(ServerTest, AnswersManyRequestsOnOneConnection) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  for (int i = 0; i < 500; ++i) {
    const std::string body = "request " + std::to_string(i);
    ASSERT_EQ(client.Ask(Post(body)).body, body);
  }
}

TEST(ServerTest, HandsOverWhatTheRequestSaid) {
  std::string seen;
  const auto server = StartServer([&seen](const HttpRequest& request, const Respond& respond) {
    seen.append(request.method).append("|").append(request.target).append("|");
    seen.append(request.content_type).append("|").append(request.body);
    respond({});
  });
  Client client(server->Port());
  client.Ask(
      "POST /v1/filter?x=1 HTTP/1.1\r\nHost: a\r\nContent-Type: "
      "application/json\r\nContent-Length: 2\r\n\r\n"
      "{}");
  EXPECT_EQ(seen, "POST|/v1/filter?x=1|application/json|{}");
}

TEST(ServerTest, PutsReadablePaddingBehindTheBody) {
  const auto server = StartServer([](const HttpRequest& request, const Respond& respond) {
    respond(Ok(std::string(request.body.data() + request.body.size(), kBodyPaddingBytes)));
  });
  Client client(server->Port());
  const std::string zeros(kBodyPaddingBytes, '\0');
  EXPECT_EQ(client.Ask(kGet).body, zeros);
  EXPECT_EQ(client.Ask(Post(std::string(100'000, 'x'))).body, zeros);
  EXPECT_EQ(client.Ask(Post("x")).body, zeros);
}

TEST(ServerTest, ReadsABodyOfNoBytes) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  const Reply reply = client.Ask(Post(""));
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Content-Length: 0\r\n"));
}

// The body is read in steps of 64 KiB first, and the response exceeds what a socket takes at once.
TEST(ServerTest, EchoesABodyOfManyMegabytes) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  std::string body;
  body.resize(20'000'003, 'x');
  for (std::size_t i = 0; i < body.size(); i += 997) body[i] = static_cast<char>('a' + i % 26);
  for (int i = 0; i < 2; ++i) {
    const Reply reply = client.Ask(Post(body));
    ASSERT_EQ(reply.body.size(), body.size());
    ASSERT_TRUE(reply.body == body);
  }
}

// Pieces of 1 to 40 bytes, of a request that is long or chunked.
std::vector<std::string_view> Cut(std::string_view bytes) {
  std::vector<std::string_view> pieces;
  while (!bytes.empty()) {
    const std::size_t size =
        std::min(bytes.size(), static_cast<std::size_t>(*rc::gen::inRange(1, 40)));
    pieces.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return pieces;
}

TEST(ServerTest, ReadsARequestHoweverItIsCut) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  rc::check("one connection, any body, any cuts", [&client](const std::string& body) {
    const std::string request = Post(body);
    for (const std::string_view piece : Cut(request)) client.Send(piece);
    RC_ASSERT(client.Receive().body == body);
  });
}

std::string Hex(std::size_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), number, 16).ptr;
  return {digits.begin(), end};
}

TEST(ServerTest, ReadsAChunkedBodyHoweverItIsCut) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  rc::check("one connection, any chunks, any cuts", [&](const std::vector<std::string>& chunks) {
    std::string request = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    std::string body;
    for (const std::string& chunk : chunks) {
      if (chunk.empty()) continue;  // would be the last chunk
      request += Hex(chunk.size()) + ";name=value\r\n" + chunk + "\r\n";
      body += chunk;
    }
    request += *rc::gen::element<std::string>("0\r\n\r\n", "0\r\nTrailer: x\r\n\r\n");
    for (const std::string_view piece : Cut(request)) client.Send(piece);
    RC_ASSERT(client.Receive().body == body);
  });
}

// "0\r\n" alone is enough to begin the last chunk; Beast asserts that a byte is missing then.
TEST(ServerTest, ReadsAnEmptyChunkedBodyByteByByte) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  const std::string request =
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "0\r\n\r\n";
  for (int i = 0; i < 20; ++i) {
    for (const char byte : request) client.Send({&byte, 1});
    ASSERT_EQ(client.Receive().status, 200);
  }
}

TEST(ServerTest, AnswersPipelinedRequestsInTheirOrder) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ncc\r\n0\r\n\r\n";
  client.Send(Post("a") + Post("") + chunked + std::string{kGet} + Post(std::string(50'000, 'e')));
  EXPECT_EQ(client.Receive().body, "a");
  EXPECT_EQ(client.Receive().body, "");
  EXPECT_EQ(client.Receive().body, "cc");
  EXPECT_EQ(client.Receive().body, "");
  EXPECT_EQ(client.Receive().body, std::string(50'000, 'e'));
}

TEST(ServerTest, AnswersPipelinedRequestsInTheirOrderWhenAnswersComeLater) {
  HeldRequests held;
  const auto server = StartServer(held.Handler());
  Client client(server->Port());
  client.Send(Post("a") + Post("b"));
  auto first = held.Take();
  EXPECT_EQ(first.request.body, "a");
  first.respond(Ok("1"));
  auto second = held.Take();
  EXPECT_EQ(second.request.body, "b");
  second.respond(Ok("2"));
  EXPECT_EQ(client.Receive().body, "1");
  EXPECT_EQ(client.Receive().body, "2");
}

TEST(ServerTest, AnswersAClientThatHasFinishedSending) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  client.Send(Post("last words"));
  client.CloseSend();
  EXPECT_EQ(client.Receive().body, "last words");
  EXPECT_TRUE(client.WaitForClose());
}

TEST(ServerTest, TellsAClientThatWaitsToGoOn) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 100);
  EXPECT_EQ(client.Ask("body").body, "body");
}

TEST(ServerTest, RefusesABodyTooLargeInsteadOfTellingTheClientToGoOn) {
  const auto server = StartServer(Echo, {.body_bytes_max = 3});
  Client client(server->Port());
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 413);
}

// ---- Responses ---------------------------------------------------------------------------------

TEST(ServerTest, LeavesTheBodyOutOfTheAnswerToHead) {
  const auto server =
      StartServer([](const HttpRequest&, const Respond& respond) { respond(Ok("four")); });
  Client client(server->Port());
  client.Send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.Receive(/*with_body=*/false).head, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_EQ(client.Ask(kGet).body, "four");
}

TEST(ServerTest, SendsTheFieldsOfTheResponse) {
  const auto server = StartServer([](const HttpRequest&, const Respond& respond) {
    respond({.status = 405,
             .content_type = "text/plain",
             .body = "no",
             .allow = "POST",
             .retry_after_s = 7});
  });
  Client client(server->Port());
  const Reply reply = client.Ask(kGet);
  EXPECT_THAT(reply.head, HasSubstr("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(reply.head, HasSubstr("\r\nContent-Type: text/plain\r\n"));
  EXPECT_THAT(reply.head, HasSubstr("\r\nAllow: POST\r\n"));
  EXPECT_THAT(reply.head, HasSubstr("\r\nRetry-After: 7\r\n"));
  EXPECT_THAT(reply.head, HasSubstr("\r\nDate: "));
  EXPECT_EQ(reply.body, "no");
}

TEST(ServerTest, SendsNoLengthWhereTheStatusAllowsNoBody) {
  const auto server = StartServer([](const HttpRequest&, const Respond& respond) {
    HttpResponse response = Ok("not to be sent");
    response.status = 204;
    respond(std::move(response));
  });
  Client client(server->Port());
  EXPECT_THAT(client.Ask(kGet).head, Not(HasSubstr("Content-Length")));
  EXPECT_EQ(client.Ask(kGet).status, 204);
}

TEST(ServerTest, ClosesWhereTheClientAsksForIt) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  const Reply reply = client.Ask(Post("x", "Connection: close\r\n"));
  EXPECT_EQ(reply.body, "x");
  EXPECT_THAT(reply.head, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.WaitForClose());
}

TEST(ServerTest, ClosesAfterAnAnswerToHttp10) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  EXPECT_EQ(client.Ask("GET / HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_TRUE(client.WaitForClose());
}

TEST(ServerTest, KeepsAnHttp10ConnectionThatAsksForIt) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  const std::string get = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  EXPECT_THAT(client.Ask(get).head, HasSubstr("Connection: keep-alive\r\n"));
  EXPECT_EQ(client.Ask(get).status, 200);
}

// ---- Refusals ----------------------------------------------------------------------------------

// The client sends nothing of the body, so the answer cannot come from having read it.
TEST(ServerTest, RefusesALengthOverTheLimitBeforeTheBodyComes) {
  const auto server = StartServer(Echo, {.body_bytes_max = 100});
  Client client(server->Port());
  const Reply reply = client.Ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n");
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.body, R"({"error":"body exceeds 100 bytes"})");
  EXPECT_THAT(reply.head, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.WaitForClose());
}

TEST(ServerTest, TakesABodyAtTheLimit) {
  const auto server = StartServer(Echo, {.body_bytes_max = 100});
  Client client(server->Port());
  EXPECT_EQ(client.Ask(Post(std::string(100, 'x'))).status, 200);
}

// Go's client takes a failed write for a failed request. 6 MiB do not fit into the sockets'
// buffers, so somebody must take them, although the server has made up its mind after the header.
TEST(ServerTest, RefusesABodySoThatItsSenderCanFinishAndReadTheAnswer) {
  const auto server = StartServer(Echo, {.body_bytes_max = 100, .linger_timeout = kPatience});
  Client client(server->Port());
  EXPECT_TRUE(client.Send(Post(std::string(std::size_t{6} * 1024 * 1024, 'x'))));
  EXPECT_EQ(client.Receive().status, 413);
}

// 60 and 60 bytes are 120; neither chunk alone is over 100.
TEST(ServerTest, RefusesChunksThatTogetherExceedTheLimit) {
  const auto server = StartServer(Echo, {.body_bytes_max = 100});
  Client client(server->Port());
  const std::string chunk = "3c\r\n" + std::string(60, 'x') + "\r\n";
  const Reply reply = client.Ask(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk);
  EXPECT_EQ(reply.status, 413);
  EXPECT_TRUE(client.WaitForClose());
}

TEST(ServerTest, RefusesChunkExtensionsWithoutEnd) {
  const auto server = StartServer(Echo, {.header_bytes_max = 1000});
  Client client(server->Port());
  const Reply reply =
      client.Ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;" +
                 std::string(2000, 'x'));
  EXPECT_EQ(reply.status, 431);
}

TEST(ServerTest, RefusesABadRequestLine) {
  const auto server = StartServer(Echo);
  for (const std::string_view request :
       {"hello\r\n\r\n", "GET / HTTP/3.0\r\n\r\n", "GET /a b HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02"
        "\r\n\r\n"}) {
    Client client(server->Port());
    const Reply reply = client.Ask(request);
    EXPECT_EQ(reply.status, 400) << request;
    EXPECT_THAT(reply.body, ::testing::StartsWith(R"({"error":"malformed HTTP request)"));
    EXPECT_TRUE(client.WaitForClose());
  }
}

TEST(ServerTest, RefusesAHeaderOverTheLimit) {
  const auto server = StartServer(Echo, {.header_bytes_max = 1000});
  Client client(server->Port());
  const Reply reply =
      client.Ask("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(2000, 'x') + "\r\n\r\n");
  EXPECT_EQ(reply.status, 431);
  EXPECT_TRUE(client.WaitForClose());
}

// As a proxy is asked. Only who sends it knows what it calls us.
TEST(ServerTest, TakesATargetInAbsoluteForm) {
  const auto server = StartServer([](const HttpRequest& request, const Respond& respond) {
    respond(Ok(std::string(request.target)));
  });
  Client client(server->Port());
  const auto seen = [&](const std::string& target) {
    return client.Ask("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n").body;
  };
  EXPECT_EQ(seen("http://a/v1/filter?x=1"), "/v1/filter?x=1");
  EXPECT_EQ(seen("HTTPS://user@a:8443/v1"), "/v1");
  EXPECT_EQ(seen("http://a"), "/");
  EXPECT_EQ(seen("http://a?x"), "?x");
  EXPECT_EQ(seen("/http://a/v1"), "/http://a/v1");
  EXPECT_EQ(seen("ftp://a/v1"), "ftp://a/v1");
}

TEST(ServerTest, WantsOneHost) {
  const auto server = StartServer(Echo);
  for (const std::string head : {"GET / HTTP/1.1\r\n"
                                 "\r\n",
                                 "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                                 "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"}) {
    Client client(server->Port());
    const Reply reply = client.Ask(head);
    EXPECT_EQ(reply.status, 400) << head;
    EXPECT_THAT(reply.body, HasSubstr("Host"));
    EXPECT_TRUE(client.WaitForClose());
  }
  EXPECT_EQ(Client(server->Port()).Ask("GET / HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_EQ(Client(server->Port()).Ask("GET / HTTP/1.1\r\nHost:\r\n\r\n").status, 200);
}

// "GET / HTTP/1.1\r\n" 16, "Host: a\r\n" 9, "\r\n" 2, and lines of 6: 27 + 6 x 162 = 999.
TEST(ServerTest, CountsEveryByteOfAHeaderHoweverItComes) {
  const auto server = StartServer(Echo, {.header_bytes_max = 999});
  std::string lines;
  for (int i = 0; i < 162; ++i) lines += "X: y\r\n";
  const auto status_of = [&](const std::string& header, std::size_t piece_bytes) {
    Client client(server->Port());
    for (std::size_t at = 0; at < header.size(); at += piece_bytes) {
      client.Send(header.substr(at, piece_bytes));
    }
    return client.Receive().status;
  };
  for (const std::size_t piece_bytes : {std::size_t{100}, std::size_t{5000}}) {
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n", piece_bytes), 200);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: ab\r\n" + lines + "\r\n", piece_bytes), 431);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\n" + lines + lines, piece_bytes), 431);
  }
}

// Where the body ends must not be a matter of opinion, or a proxy before us can be fooled.
TEST(ServerTest, RefusesALengthBesideChunks) {
  const auto server = StartServer(Echo);
  Client client(server->Port());
  EXPECT_EQ(client
                .Ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: "
                     "chunked\r\n\r\n"
                     "0\r\n\r\n")
                .status,
            400);
}

TEST(ServerTest, RefusesTransferCodingsOtherThanChunked) {
  const auto server = StartServer(Echo);
  for (const std::string coding : {"gzip", "gzip, chunked", "identity"}) {
    Client client(server->Port());
    const Reply reply = client.Ask("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + coding +
                                   "\r\n\r\n0\r\n\r\n");
    EXPECT_EQ(reply.status, 501) << coding;
    EXPECT_TRUE(client.WaitForClose());
  }
}

TEST(ServerTest, SurvivesAnyBytes) {
  const auto server = StartServer(Echo);
  rc::check("any bytes, then a request of another client", [&server](const std::string& tail) {
    Client client(server->Port());
    client.Send(*rc::gen::element<std::string>(
        "", "G", "POST / HTTP/1.1\r\nHost: a\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"));
    for (const std::string_view piece : Cut(tail)) client.Send(piece);
    client.CloseSend();
    RC_ASSERT(client.WaitForClose());
    Client other(server->Port());
    RC_ASSERT(other.Ask(Post("x")).body == "x");
  });
}

// ---- Time --------------------------------------------------------------------------------------

TEST(ServerTest, ClosesOnAHeaderThatDoesNotEnd) {
  const auto server = StartServer(Echo, {.read_timeout = milliseconds{5}});
  Client client(server->Port());
  client.Send("POST / HT");
  EXPECT_TRUE(client.WaitForClose());
}

// The limit is on the whole header: a byte now and then does not renew it.
TEST(ServerTest, ClosesOnAHeaderThatDribbles) {
  const auto server = StartServer(Echo, {.read_timeout = milliseconds{50}});
  Client client(server->Port());
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nX: ");
  std::atomic<bool> closed = false;
  const std::jthread dribble([&] {
    const steady_clock::time_point end = Soon();
    while (!closed && steady_clock::now() < end) client.Send("x");
  });
  EXPECT_TRUE(client.WaitForClose());
  closed = true;
}

TEST(ServerTest, ClosesOnABodyThatDoesNotEnd) {
  const auto server = StartServer(Echo, {.read_timeout = milliseconds{5}});
  Client client(server->Port());
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbod");
  EXPECT_TRUE(client.WaitForClose());
}

TEST(ServerTest, ClosesOnChunksThatDoNotEnd) {
  const auto server = StartServer(Echo, {.read_timeout = milliseconds{5}});
  Client client(server->Port());
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbo");
  EXPECT_TRUE(client.WaitForClose());
}

TEST(ServerTest, ClosesAnIdleConnection) {
  const auto server = StartServer(Echo, {.idle_timeout = milliseconds{5}});
  Client never_used(server->Port());
  EXPECT_TRUE(never_used.WaitForClose());
}

TEST(ServerTest, ClosesAConnectionThatHasBecomeIdle) {
  const auto server = StartServer(Echo, {.idle_timeout = milliseconds{200}});
  Client client(server->Port());
  EXPECT_EQ(client.Ask(Post("x")).body, "x");
  EXPECT_TRUE(client.WaitForClose());
}

// Each request begins the idle time anew: requests for twice that time, one after the other.
TEST(ServerTest, Case39KeepsAConnectionThatIsUsedBeforeItsIdleTimeEnds) {
  constexpr milliseconds idle_timeout{1000};
  const auto server = StartServer(Echo, {.idle_timeout = idle_timeout});
  Client client(server->Port());
  const steady_clock::time_point end = steady_clock::now() + 2 * idle_timeout;
  while (steady_clock::now() < end) ASSERT_EQ(client.Ask(Post("x")).body, "x");
}

// The idle time does not run while the handler works.
TEST(ServerTest, DoesNotCountAHandlersTimeAsIdle) {
  HeldRequests held;
  const auto server = StartServer(
      held.Handler(), {.idle_timeout = milliseconds{1}, .read_timeout = milliseconds{1000}});
  Client client(server->Port());
  Client witness(server->Port());  // closed for idleness, while the other waits for its answer
  client.Send(Post("x"));
  auto request = held.Take();
  ASSERT_TRUE(witness.WaitForClose());
  request.respond(Ok("late"));
  EXPECT_EQ(client.Receive().body, "late");
}

// 64 MiB fit in no socket buffer. That the connection is gone shows in Drain().
TEST(ServerTest, ClosesOnAClientThatDoesNotReadItsAnswer) {
  const auto server = StartServer(
      [](const HttpRequest&, const Respond& respond) {
        std::string body;
        body.resize(std::size_t{64} * 1024 * 1024, 'x');
        respond(Ok(std::move(body)));
      },
      {.write_timeout = milliseconds{20}});
  Client client(server->Port());
  client.Send(kGet);
  ASSERT_TRUE(server->Drain(Soon()));
  EXPECT_EQ(client.Receive().status, 0);
}

// ---- Handlers ----------------------------------------------------------------------------------

TEST(ServerTest, CallsTheHandlerOnOneThread) {
  std::set<std::thread::id> threads;
  const auto server = StartServer([&threads](const HttpRequest&, const Respond& respond) {
    threads.insert(std::this_thread::get_id());
    respond({});
  });
  std::vector<std::unique_ptr<Client>> clients;
  clients.reserve(8);
  for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<Client>(server->Port()));
  for (const auto& client : clients) client->Send(kGet);
  for (const auto& client : clients) EXPECT_EQ(client->Receive().status, 200);
  server->Stop();
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST(ServerTest, AnswersOthersWhileOneAnswerIsStillOut) {
  HeldRequests held;
  const auto server = StartServer([&held](const HttpRequest& request, Respond respond) {
    if (request.target == "/x") return respond(Ok("quick"));
    held.Handler()(request, std::move(respond));
  });
  Client slow(server->Port());
  slow.Send(Post("bind"));
  auto request = held.Take();
  Client quick(server->Port());
  EXPECT_EQ(quick.Ask(kGet).body, "quick");
  EXPECT_EQ(request.request.body, "bind");
  std::jthread([&] { request.respond(Ok("bound")); }).join();
  EXPECT_EQ(slow.Receive().body, "bound");
}

TEST(ServerTest, Answers500ForAHandlerThatThrowsAndKeepsTheConnection) {
  const auto server = StartServer([](const HttpRequest& request, const Respond& respond) {
    if (request.body == "throw") throw std::runtime_error("from a library");
    if (request.body == "throw 1") throw 1;
    Echo(request, respond);
  });
  Client client(server->Port());
  for (const std::string body : {"throw", "throw 1"}) {
    const Reply reply = client.Ask(Post(body));
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(reply.body, R"({"error":"internal error"})");
    EXPECT_EQ(client.Ask(Post("x")).body, "x");
  }
}

// The first request's Respond is kept, and called while the second request is out.
TEST(ServerTest, IgnoresTheAnswerOfAHandlerThatHasThrown) {
  HeldRequests held;
  const auto server = StartServer([&held](const HttpRequest& request, const Respond& respond) {
    held.Handler()(request, respond);
    if (request.body == "throw") throw std::runtime_error("from a library");
  });
  Client client(server->Port());
  EXPECT_EQ(client.Ask(Post("throw")).status, 500);
  auto thrown = held.Take();
  client.Send(Post("the next"));
  auto next = held.Take();
  EXPECT_EQ(thrown.request.body, "throw");  // its memory is still its own
  thrown.respond(Ok("too late"));
  next.respond(Ok("right"));
  EXPECT_EQ(client.Receive().body, "right");
}

TEST(ServerTest, IgnoresASecondAnswer) {
  const auto server = StartServer([](const HttpRequest& request, const Respond& respond) {
    respond(Ok("first " + std::string{request.body}));
    respond(Ok("second " + std::string{request.body}));
  });
  Client client(server->Port());
  EXPECT_EQ(client.Ask(Post("1")).body, "first 1");
  EXPECT_EQ(client.Ask(Post("2")).body, "first 2");
}

TEST(ServerTest, Answers500ForAHandlerThatForgetsToAnswer) {
  const auto server = StartServer([](const HttpRequest&, const Respond&) {});
  Client client(server->Port());
  EXPECT_EQ(client.Ask(kGet).status, 500);
}

// ---- Peers that vanish -------------------------------------------------------------------------

// Drain() tells that nothing is left of the connection.
TEST(ServerTest, ForgetsAClientThatVanishesInItsBody) {
  const auto server = StartServer(Echo);
  {
    const Client client(server->Port());
    client.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf");
  }
  Client other(server->Port());
  EXPECT_EQ(other.Ask(Post("x")).body, "x");
  EXPECT_TRUE(server->Drain(Soon()));
}

TEST(ServerTest, ForgetsAClientThatVanishesBeforeItsAnswer) {
  HeldRequests held;
  const auto server = StartServer(held.Handler());
  {
    const Client client(server->Port());
    client.Send(Post("x"));
  }
  auto request = held.Take();
  EXPECT_EQ(request.request.body, "x");
  request.respond(Ok("to nobody"));
  EXPECT_TRUE(server->Drain(Soon()));
}

TEST(ServerTest, IgnoresAnAnswerAfterItHasGone) {
  HeldRequests held;
  auto server = StartServer(held.Handler());
  Client client(server->Port());
  client.Send(Post("still readable"));
  auto request = held.Take();
  server->Stop();
  server.reset();
  EXPECT_TRUE(client.WaitForClose());
  EXPECT_EQ(request.request.body, "still readable");
  EXPECT_EQ(request.request.target, "/echo");
  request.respond(Ok("to nobody"));
}

// Many answers from another thread while the server goes: for the sanitizers.
TEST(ServerTest, TakesAnswersWhileItStops) {
  for (int round = 0; round < 20; ++round) {
    HeldRequests held;
    auto server = StartServer(held.Handler());
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<HeldRequests::Held> requests;
    for (int i = 0; i < 8; ++i) {
      clients.push_back(std::make_unique<Client>(server->Port()));
      clients.back()->Send(Post("x"));
      requests.push_back(held.Take());
    }
    std::latch go(2);
    std::jthread responder([&] {
      go.arrive_and_wait();
      for (auto& request : requests) request.respond(Ok("x"));
    });
    go.arrive_and_wait();
    server.reset();
    for (const auto& client : clients) EXPECT_TRUE(client->WaitForClose());
  }
}

// ---- Connections -------------------------------------------------------------------------------

TEST(ServerTest, ShedsAConnectionOverTheLimit) {
  std::atomic<int> accepted = 0;
  std::atomic<int> shed = 0;
  const auto server =
      StartServer(Echo, {.connections_max = 2},
                  {.connection_accepted = [&] { ++accepted; }, .connection_shed = [&] { ++shed; }});
  Client first(server->Port());
  Client second(server->Port());
  ASSERT_EQ(first.Ask(kGet).status, 200);
  ASSERT_EQ(second.Ask(kGet).status, 200);
  Client third(server->Port());
  const Reply reply = third.Ask(kGet);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, R"({"error":"too many connections"})");
  EXPECT_THAT(reply.head, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_TRUE(third.WaitForClose());
  EXPECT_EQ(first.Ask(kGet).status, 200);
  EXPECT_EQ(accepted, 2);
  EXPECT_EQ(shed, 1);
}

// The first body takes 1 MiB of the 1.5 until it is answered; the second wants 1 MiB, the third
// next to nothing.
TEST(ServerTest, ShedsABodyThatWouldTakeTooMuchMemoryWithAllOthers) {
  HeldRequests held;
  const auto server = StartServer(held.Handler(), {.bodies_bytes_max = 3U << 19U});
  const std::string big(1U << 20U, 'x');
  Client first(server->Port());
  first.Send(Post(big));
  const auto first_held = held.Take();
  Client second(server->Port());
  const Reply shed = second.Ask(Post(big));
  EXPECT_EQ(shed.status, 503);
  EXPECT_THAT(shed.head, HasSubstr("Retry-After: 1\r\n"));
  Client third(server->Port());
  third.Send(Post("small"));
  held.Take().respond(Ok("third"));
  EXPECT_EQ(third.Receive().status, 200);
  first_held.respond(Ok("first"));
  EXPECT_EQ(first.Receive().status, 200);
  Client fourth(server->Port());
  fourth.Send(Post(big));
  held.Take().respond(Ok("fourth"));
  EXPECT_EQ(fourth.Receive().status, 200);
}

TEST(ServerTest, AcceptsAgainOnceAConnectionHasGone) {
  const auto server = StartServer(Echo, {.connections_max = 1});
  {
    Client first(server->Port());
    ASSERT_EQ(first.Ask(Post("x", "Connection: close\r\n")).status, 200);
    ASSERT_TRUE(first.WaitForClose());
  }
  // The server may need a moment to see that the client has closed, too.
  const steady_clock::time_point end = Soon();
  int status = 0;
  while (status != 200 && steady_clock::now() < end)
    status = Client(server->Port()).Ask(kGet).status;
  EXPECT_EQ(status, 200);
}

TEST(ServerTest, TellsWhatItRefused) {
  std::promise<int> refused;
  const auto server =
      StartServer(Echo, {}, {.request_refused = [&](int status) { refused.set_value(status); }});
  Client client(server->Port());
  client.Ask("hello\r\n\r\n");
  EXPECT_EQ(refused.get_future().get(), 400);
}

TEST(ServerTest, ChoosesAFreePortWhereNoneIsGiven) {
  const auto one = StartServer(Echo);
  const auto other = StartServer(Echo);
  EXPECT_NE(one->Port(), 0);
  EXPECT_NE(one->Port(), other->Port());
}

TEST(ServerTest, RefusesAPortThatIsTaken) {
  const auto server = StartServer(Echo);
  const auto other = Server::Start({.port = server->Port()}, Echo);
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().kind, ErrorKind::kUnavailable);
  EXPECT_THAT(other.error().message, HasSubstr("cannot listen: "));
}

TEST(ServerTest, RefusesAnAddressThatIsNone) {
  const auto server = Server::Start({.address = "localhost"}, Echo);
  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error().kind, ErrorKind::kBadRequest);
}

TEST(ServerTest, RefusesALimitOfZero) {
  const auto server = Server::Start({.connections_max = 0}, Echo);
  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error().message, "connections_max is out of range");
}

// ---- Drain -------------------------------------------------------------------------------------

// These clients wait for Drain() before they close, so the server would wait for them in vain.
const ServerSettings kShortLinger{.linger_timeout = milliseconds{20}};

// Returns once no connection is taken any more.
void WaitUntilRefused(std::uint16_t port) {
  const steady_clock::time_point end = Soon();
  while (Client(port).IsConnected()) ASSERT_LT(steady_clock::now(), end);
}

TEST(ServerTest, DrainAnswersWhatIsInFlightAndTakesNothingNew) {
  HeldRequests held;
  const auto server = StartServer(held.Handler(), kShortLinger);
  Client client(server->Port());
  client.Send(Post("x"));
  auto request = held.Take();
  auto drained = std::async(std::launch::async, [&] { return server->Drain(Soon()); });
  WaitUntilRefused(server->Port());
  request.respond(Ok("answered"));
  const Reply reply = client.Receive();
  EXPECT_EQ(reply.body, "answered");
  EXPECT_THAT(reply.head, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.WaitForClose());
  EXPECT_TRUE(drained.get());
}

TEST(ServerTest, DrainAnswersEveryPipelinedRequestThatHasCome) {
  HeldRequests held;
  const auto server = StartServer(held.Handler(), kShortLinger);
  Client client(server->Port());
  client.Send(Post("1") + Post("2"));
  auto first = held.Take();
  auto drained = std::async(std::launch::async, [&] { return server->Drain(Soon()); });
  WaitUntilRefused(server->Port());
  first.respond(Ok("one"));
  held.Take().respond(Ok("two"));
  EXPECT_EQ(client.Receive().body, "one");
  EXPECT_EQ(client.Receive().body, "two");
  EXPECT_TRUE(client.WaitForClose());
  EXPECT_TRUE(drained.get());
}

// The listener's thread is held in the first handler until two other requests lie in the kernel:
// one on a connection that is known, one on a connection that is not even accepted.
TEST(ServerTest, DrainAnswersRequestsThatItHasNotReadYet) {
  std::promise<void> entered;
  std::promise<void> leave;
  const auto server = StartServer([&](const HttpRequest& request, const Respond& respond) {
    if (request.body == "hold") {
      entered.set_value();
      leave.get_future().wait();
    }
    Echo(request, respond);
  });
  Client known(server->Port());
  ASSERT_EQ(known.Ask(Post("x")).body, "x");
  Client holder(server->Port());
  holder.Send(Post("hold"));
  entered.get_future().wait();
  known.Send(Post("known"));
  Client unknown(server->Port());
  unknown.Send(Post("unknown"));
  ASSERT_FALSE(server->Drain(steady_clock::now()));  // has begun, and waits for the thread
  leave.set_value();
  EXPECT_EQ(holder.Receive().body, "hold");
  EXPECT_EQ(known.Receive().body, "known");
  EXPECT_EQ(unknown.Receive().body, "unknown");
  EXPECT_TRUE(holder.WaitForClose());
  EXPECT_TRUE(known.WaitForClose());
  EXPECT_TRUE(unknown.WaitForClose());
  EXPECT_TRUE(server->Drain(Soon()));
}

TEST(ServerTest, DrainClosesIdleConnections) {
  const auto server = StartServer(Echo);
  Client used(server->Port());
  ASSERT_EQ(used.Ask(kGet).status, 200);
  EXPECT_TRUE(server->Drain(Soon()));
  EXPECT_TRUE(used.WaitForClose());
}

TEST(ServerTest, DrainReadsARequestThatHasBegunToCome) {
  const auto server = StartServer(Echo, kShortLinger);
  Client client(server->Port());
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  ASSERT_EQ(client.Receive().status, 100);  // so the header is read, and the body awaited
  auto drained = std::async(std::launch::async, [&] { return server->Drain(Soon()); });
  WaitUntilRefused(server->Port());
  EXPECT_EQ(client.Ask("body").body, "body");
  EXPECT_TRUE(client.WaitForClose());
  EXPECT_TRUE(drained.get());
}

TEST(ServerTest, DrainGivesUpAtItsDeadline) {
  HeldRequests held;
  const auto server = StartServer(held.Handler());
  Client client(server->Port());
  client.Send(Post("x"));
  auto request = held.Take();
  EXPECT_FALSE(server->Drain(steady_clock::now() + milliseconds{5}));
  server->Stop();
  EXPECT_TRUE(client.WaitForClose());
}

TEST(ServerTest, DrainAfterStopHasNothingToDo) {
  const auto server = StartServer(Echo);
  server->Stop();
  server->Stop();
  EXPECT_TRUE(server->Drain(Soon()));
}

}  // namespace
}  // namespace offcut::api
