// The memory of one request body after another on one connection.
//
// It grows as bytes come, never on the word of a Content-Length header: at most twice the received
// bytes plus kBodyStepBytes are allocated. It is reused, because fresh pages for a body of 67 MB
// (5,000 full nodes) cost more than reading it, and given back when the big bodies stay away.
// Units: bytes. Not synchronised.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

namespace offcut::api {

inline constexpr std::size_t kBodyStepBytes = std::size_t{64} * 1024;
// After so many bodies in a row below a quarter of the memory, the memory is given back.
inline constexpr int kBodiesBeforeShrink = 16;

class BodyBuffer {
 public:
  // Room for the next bytes of a body of which at most `bytes_left` are still to come: 1 to
  // `bytes_left` bytes, or an empty span when memory is out. Requires: bytes_left > 0.
  std::span<char> Prepare(std::size_t bytes_left);

  // Takes the first `count` bytes of the last Prepare() as received.
  void Commit(std::size_t count);

  // Copies `bytes` behind what is there. False: memory is out.
  [[nodiscard]] bool Append(std::string_view bytes);

  // The body so far, followed by kBodyPaddingBytes (api/http.h) zero bytes. Valid until the next
  // call of another member.
  std::string_view Padded();

  // Forgets the body, and keeps the memory for the next one as long as it is worth it.
  void Clear();

  std::size_t size() const { return size_; }
  std::size_t Capacity() const { return capacity_; }  // without the padding

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };

  bool Reserve(std::size_t capacity);

  // From malloc, because realloc moves the pages of a big body without a copy.
  std::unique_ptr<char, Free> memory_;  // capacity_ + kBodyPaddingBytes bytes, or null
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t recent_peak_ = 0;  // bytes, over the last recent_count_ bodies
  int recent_count_ = 0;
};

}  // namespace offcut::api
