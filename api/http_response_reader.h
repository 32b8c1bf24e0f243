// Reads one HTTP/1.1 response out of bytes that come in any pieces.
//
// Beast's own reading waits for bytes that a watch does not send yet: it wants the beginning of the
// next chunk to end the last one. An event must not wait for the next one, so here a body's bytes
// are handed over as they come.
// Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

namespace offcut::api {

// Takes a piece of the body. False: no more is wanted, and the reader is of no further use.
using TakeBytes = std::function<bool(std::string_view bytes)>;

// The body of Transfer-Encoding: chunked (RFC 9112, section 7.1).
class ChunkDecoder {
 public:
  // Takes `bytes` up to the body's end and returns how many those were. The error is a text.
  std::expected<std::size_t, std::string> Put(std::string_view bytes, const TakeBytes& take);
  bool IsDone() const { return state_ == State::kDone; }

  // Of a chunk's size with its extensions, and of all trailers.
  static constexpr std::size_t kLineBytesMax = 4096;

 private:
  enum class State { kSize, kBytes, kBytesEnd, kTrailer, kDone, kBroken };

  std::expected<void, std::string> TakeControlByte(char byte);
  std::expected<void, std::string> EndLine();

  State state_ = State::kSize;
  std::string line_;
  std::size_t trailer_bytes_ = 0;
  std::uint64_t left_ = 0;  // bytes of the chunk
};

class HttpResponseReader {
 public:
  explicit HttpResponseReader(std::size_t header_bytes_max) : header_bytes_max_(header_bytes_max) {}

  // Takes `bytes` up to the response's end and returns how many those were. The error is a text.
  std::expected<std::size_t, std::string> Put(std::string_view bytes, const TakeBytes& take);

  // The peer has closed. Error: in the midst of the response.
  std::expected<void, std::string> PutEnd();

  bool HasHead() const { return framing_ != Framing::kUnknown; }
  bool IsDone() const { return done_; }
  bool HasBegun() const { return begun_; }  // a byte has come

  // Requires: HasHead().
  int Status() const { return status_; }
  int RetryAfterS() const { return retry_after_s_; }  // 0: none
  bool KeepsAlive() const { return keeps_alive_; }

  static constexpr int kRetryAfterMaxS = 24 * 60 * 60;

 private:
  enum class Framing { kUnknown, kLength, kChunks, kToTheEnd };

  std::expected<std::size_t, std::string> PutHead(std::string_view bytes);
  std::expected<void, std::string> ParseHead();
  std::expected<std::size_t, std::string> PutBody(std::string_view bytes, const TakeBytes& take);

  std::size_t header_bytes_max_;
  std::string head_;
  Framing framing_ = Framing::kUnknown;
  std::uint64_t left_ = 0;  // of kLength
  ChunkDecoder chunks_;
  bool begun_ = false;
  bool done_ = false;
  int status_ = 0;
  int retry_after_s_ = 0;
  bool keeps_alive_ = false;
};

}  // namespace offcut::api
