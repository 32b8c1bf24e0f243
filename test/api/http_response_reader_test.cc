#include "api/http_response_reader.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/line_splitter.h"
#include "test/testing/scripted_server.h"

namespace offcut::api {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kHeaderBytesMax = 1000;

struct Reading {
  int status = 0;
  bool is_done = false;
  bool keeps_alive = false;
  int retry_after_s = 0;
  std::string body;
  std::string error;
  std::size_t left_over = 0;  // bytes behind the response
  bool operator==(const Reading&) const = default;
};

Reading Read(const std::vector<std::string>& pieces, bool to_the_end = false) {
  HttpResponseReader reader(kHeaderBytesMax);
  Reading reading;
  const TakeBytes take = [&reading](std::string_view bytes) {
    reading.body += bytes;
    return true;
  };
  for (const std::string& piece : pieces) {
    const auto used = reader.Put(piece, take);
    if (!used) {
      reading.error = used.error();
      return reading;
    }
    reading.left_over += piece.size() - *used;
  }
  if (to_the_end) {
    const auto ended = reader.PutEnd();
    if (!ended) reading.error = ended.error();
  }
  reading.is_done = reader.IsDone();
  if (!reader.HasHead()) return reading;
  reading.status = reader.Status();
  reading.keeps_alive = reader.KeepsAlive();
  reading.retry_after_s = reader.RetryAfterS();
  return reading;
}

std::vector<std::string> Cut(const std::string& text) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    pieces.push_back(text.substr(at, *rc::gen::inRange<std::size_t>(1, 12)));
    at += pieces.back().size();
  }
  return pieces;
}

TEST(HttpResponseReaderTest, ReadsABodyOfKnownLength) {
  const Reading reading = Read({Reply(200, "body") + "HTTP"});
  EXPECT_EQ(reading.status, 200);
  EXPECT_EQ(reading.body, "body");
  EXPECT_TRUE(reading.is_done);
  EXPECT_TRUE(reading.keeps_alive);
  EXPECT_EQ(reading.left_over, 4U);
}

TEST(HttpResponseReaderTest, ReadsAResponseWithoutABody) {
  EXPECT_TRUE(Read({Reply(200, "")}).is_done);
  EXPECT_TRUE(Read({"HTTP/1.1 204 No Content\r\n\r\n"}).is_done);
  EXPECT_TRUE(Read({"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"}).is_done);
}

TEST(HttpResponseReaderTest, ReadsToTheEndWhereNothingElseSaysHowLong) {
  const std::string text = "HTTP/1.0 200 OK\r\n\r\nbody";
  EXPECT_FALSE(Read({text}).is_done);
  const Reading reading = Read({text}, /*to_the_end=*/true);
  EXPECT_TRUE(reading.is_done);
  EXPECT_FALSE(reading.keeps_alive);
  EXPECT_EQ(reading.body, "body");
}

TEST(HttpResponseReaderTest, TakesTheResponseBehindInterimOnes) {
  const Reading reading =
      Read({"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n" + Reply(201, "x")});
  EXPECT_EQ(reading.status, 201);
  EXPECT_EQ(reading.body, "x");
}

TEST(HttpResponseReaderTest, ReadsWhenToComeAgain) {
  EXPECT_EQ(Read({Reply(429, "", "Retry-After: 7\r\n")}).retry_after_s, 7);
  EXPECT_EQ(Read({Reply(429, "", "Retry-After: 99999999\r\n")}).retry_after_s,
            HttpResponseReader::kRetryAfterMaxS);
  EXPECT_EQ(Read({Reply(429, "", "Retry-After: Wed, 21 Oct 2015\r\n")}).retry_after_s, 0);
}

TEST(HttpResponseReaderTest, KnowsAConnectionThatEndsWithTheResponse) {
  EXPECT_FALSE(Read({Reply(200, "", "Connection: close\r\n")}).keeps_alive);
}

// What a watch needs: the event is there although the end of its chunk is not.
TEST(HttpResponseReaderTest, HandsOverBytesBeforeTheEndOfTheirChunk) {
  EXPECT_EQ(Read({ChunkedHead(), "5\r\nline\n"}).body, "line\n");
  EXPECT_EQ(Read({ChunkedHead(), "5\r\nli"}).body, "li");
}

TEST(HttpResponseReaderTest, ReadsChunksWithExtensionsAndTrailers) {
  const Reading reading =
      Read({ChunkedHead() + "A;x=\"y\"\r\n0123456789\r\n1\r\nb\r\n00\r\nT: u\r\n\r\nrest"});
  EXPECT_EQ(reading.body, "0123456789b");
  EXPECT_TRUE(reading.is_done);
  EXPECT_EQ(reading.left_over, 4U);
}

TEST(HttpResponseReaderTest, RefusesBrokenChunks) {
  for (const char* broken :
       {"x\r\n", "-1\r\n", "\r\n", "1 2\r\n", "1\r\nab\r\n", "11112222333344445\r\n", "0x1\r\n"}) {
    EXPECT_NE(Read({ChunkedHead() + broken}).error, "") << broken;
  }
  EXPECT_NE(Read({ChunkedHead() + "1;" + std::string(5000, 'x')}).error, "");
  EXPECT_NE(Read({ChunkedHead() + "0\r\n" + std::string(5000, 'x')}).error, "");
}

TEST(HttpResponseReaderTest, TellsAnEndInTheMidstOfTheResponse) {
  EXPECT_THAT(Read({}, true).error, HasSubstr("before a response"));
  EXPECT_THAT(Read({"HTTP/1.1 2"}, true).error, HasSubstr("in the midst"));
  EXPECT_THAT(Read({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"}, true).error,
              HasSubstr("in the midst"));
  EXPECT_THAT(Read({ChunkedHead() + "1\r\na\r\n"}, true).error, HasSubstr("in the midst"));
  EXPECT_EQ(Read({Reply(200, "all")}, true).error, "");
}

TEST(HttpResponseReaderTest, RefusesWhatIsNoResponse) {
  EXPECT_NE(Read({"SSH-2.0-OpenSSH\r\n\r\n"}).error, "");
  EXPECT_NE(Read({"\x15\x03\x01\r\n\r\n"}).error, "");
  EXPECT_NE(Read({"HTTP/1.1 101 Switching Protocols\r\n\r\n"}).error, "");
  EXPECT_NE(Read({"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"}).error, "");
}

TEST(HttpResponseReaderTest, LimitsTheHeader) {
  const std::string field = "X: " + std::string(kHeaderBytesMax, 'x');
  EXPECT_THAT(Read({"HTTP/1.1 200 OK\r\n" + field}).error, HasSubstr("exceeds 1000 bytes"));
}

// Requires: it is called within a property.
std::string ArbitraryResponse() {
  const auto body = *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::element('a', '\n', '\r', '0', '{')));
  std::string text = *rc::gen::element<std::string>("", "HTTP/1.1 100 Continue\r\n\r\n");
  if (*rc::gen::arbitrary<bool>()) {
    std::string whole;
    for (const std::string& part : body) whole += part;
    return text + Reply(200, whole, "Retry-After: 3\r\n") + "rest";
  }
  text += ChunkedHead();
  for (const std::string& part : body) {
    if (!part.empty()) text += Chunk(part);
  }
  return text + *rc::gen::element<std::string>("0\r\n\r\n", "0\r\nA: b\r\n\r\n", "", "zz\r\n");
}

RC_GTEST_PROP(HttpResponseReaderTest, AnyPiecesGiveTheSameResponse, ()) {
  const std::string text = ArbitraryResponse();
  const std::vector<std::string> pieces = Cut(text);
  RC_ASSERT(Read(pieces) == Read({text}));
}

RC_GTEST_PROP(HttpResponseReaderTest, AnyPiecesAndChunksOfAWatchGiveTheSameLines, ()) {
  const auto lines = *rc::gen::container<std::vector<std::string>>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))));
  std::string stream;
  for (const std::string& line : lines) stream += line + "\n";
  std::string text = ChunkedHead();
  for (const std::string& chunk : Cut(stream)) text += Chunk(chunk);

  std::vector<std::string> taken;
  LineSplitter splitter(1000);
  HttpResponseReader reader(kHeaderBytesMax);
  for (const std::string& piece : Cut(text)) {
    const auto used = reader.Put(piece, [&](std::string_view bytes) {
      return splitter.Put(bytes, [&taken](std::string_view line) {
        taken.emplace_back(line);
        return true;
      });
    });
    RC_ASSERT(used.has_value());
  }
  RC_ASSERT(taken == lines);
}

}  // namespace
}  // namespace offcut::api
