#include "api/http_response_reader.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <fmt/format.h>

#include "api/text_fields.h"

namespace offcut::api {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::unexpected<std::string> Broken(std::string text) { return std::unexpected(std::move(text)); }

// The size of "1a2b;extension=x".
std::optional<std::uint64_t> ParseChunkSize(std::string_view line) {
  const std::string_view digits = WithoutBlanks(line.substr(0, line.find(';')));
  std::uint64_t size = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
  if (code != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return size;
}

}  // namespace

std::expected<std::size_t, std::string> ChunkDecoder::Put(std::string_view bytes,
                                                          const TakeBytes& take) {
  std::size_t used = 0;
  while (used < bytes.size() && !IsDone()) {
    if (state_ == State::kBytes) {
      const std::string_view part = bytes.substr(used, left_);
      used += part.size();
      left_ -= part.size();
      if (left_ == 0) state_ = State::kBytesEnd;
      if (!take(part)) return used;
      continue;
    }
    auto taken = TakeControlByte(bytes[used++]);
    if (!taken) {
      state_ = State::kBroken;
      return Broken(std::move(taken.error()));
    }
  }
  return used;
}

std::expected<void, std::string> ChunkDecoder::TakeControlByte(char byte) {
  if (state_ == State::kBroken) return Broken("broken chunk");
  if (byte == '\n') return EndLine();
  line_ += byte;
  if (line_.size() + trailer_bytes_ > kLineBytesMax) {
    return Broken(fmt::format("a chunk's header exceeds {} bytes", kLineBytesMax));
  }
  return {};
}

std::expected<void, std::string> ChunkDecoder::EndLine() {
  std::string line = std::exchange(line_, {});
  if (line.ends_with('\r')) line.pop_back();
  if (state_ == State::kBytesEnd) {
    if (!line.empty()) return Broken("a chunk is longer than it said");
    state_ = State::kSize;
  } else if (state_ == State::kTrailer) {
    trailer_bytes_ += line.size() + 1;
    if (line.empty()) state_ = State::kDone;
  } else {
    const std::optional<std::uint64_t> size = ParseChunkSize(line);
    if (!size) return Broken("a chunk's size is no number");
    left_ = *size;
    state_ = left_ == 0 ? State::kTrailer : State::kBytes;
  }
  return {};
}

std::expected<std::size_t, std::string> HttpResponseReader::Put(std::string_view bytes,
                                                                const TakeBytes& take) {
  begun_ = begun_ || !bytes.empty();
  std::size_t used = 0;
  while (!HasHead() && used < bytes.size()) {  // more than once where interim responses come
    const auto taken = PutHead(bytes.substr(used));
    if (!taken) return taken;
    used += *taken;
  }
  if (!HasHead() || done_ || used == bytes.size()) return used;
  const auto taken = PutBody(bytes.substr(used), take);
  if (!taken) return taken;
  return used + *taken;
}

// Takes bytes up to the blank line that ends a head.
std::expected<std::size_t, std::string> HttpResponseReader::PutHead(std::string_view bytes) {
  constexpr std::string_view blank_line = "\r\n\r\n";
  const std::size_t had = head_.size();
  const std::size_t from = had < blank_line.size() ? 0 : had - blank_line.size();
  head_ += bytes.substr(0, header_bytes_max_ + 1);
  const std::size_t end = head_.find(blank_line, from);
  if (end == std::string::npos) {
    if (head_.size() > header_bytes_max_) {
      return Broken(fmt::format("the response's header exceeds {} bytes", header_bytes_max_));
    }
    return bytes.size();
  }
  head_.resize(end + blank_line.size());
  const std::size_t used = head_.size() - had;
  const auto parsed = ParseHead();
  if (!parsed) return Broken(parsed.error());
  head_.clear();
  return used;
}

std::expected<void, std::string> HttpResponseReader::ParseHead() {
  http::response_parser<http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(head_.size()) + 1);
  parser.body_limit(boost::none);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(head_), error);
  if (error) return Broken(fmt::format("not an HTTP response: {}", error.message()));
  if (!parser.is_header_done()) return Broken("not an HTTP response");
  status_ = static_cast<int>(parser.get().result_int());
  if (status_ == 101) return Broken("the server changed the protocol");
  if (status_ < 200) return {};  // an interim response: the next one counts
  keeps_alive_ = parser.keep_alive();
  const auto retry_after = parser.get()[http::field::retry_after];
  retry_after_s_ = std::min(
      ParseField({retry_after.data(), retry_after.size()}, INT_MAX).value_or(0), kRetryAfterMaxS);
  if (parser.chunked()) {
    framing_ = Framing::kChunks;
  } else if (parser.is_done()) {
    framing_ = Framing::kLength;
  } else if (parser.content_length()) {
    framing_ = Framing::kLength;
    left_ = *parser.content_length();
  } else {
    framing_ = Framing::kToTheEnd;
  }
  done_ = framing_ == Framing::kLength && left_ == 0;
  return {};
}

std::expected<std::size_t, std::string> HttpResponseReader::PutBody(std::string_view bytes,
                                                                    const TakeBytes& take) {
  if (framing_ == Framing::kChunks) {
    auto used = chunks_.Put(bytes, take);
    done_ = chunks_.IsDone();
    return used;
  }
  const std::string_view part = framing_ == Framing::kLength ? bytes.substr(0, left_) : bytes;
  if (framing_ == Framing::kLength) {
    left_ -= part.size();
    done_ = left_ == 0;
  }
  take(part);
  return part.size();
}

std::expected<void, std::string> HttpResponseReader::PutEnd() {
  if (framing_ == Framing::kToTheEnd) done_ = true;
  if (done_) return {};
  return Broken(begun_ ? "the connection ended in the midst of the response"
                       : "the connection ended before a response came");
}

}  // namespace offcut::api
