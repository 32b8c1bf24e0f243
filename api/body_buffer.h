// The memory of one request body after another.
//
// It grows as bytes come, never on the word of a Content-Length header: at most twice the received
// bytes plus kBodyStepBytes are allocated. It is reused, because fresh pages for a body of 67 MB
// (5,000 full nodes) cost more than reading it, and given back when the big bodies stay away.
// Units: bytes. Not synchronised, but for the budget: a buffer may die on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace offcut::api {

inline constexpr std::size_t kBodyStepBytes = std::size_t{64} * 1024;
// After so many bodies in a row below a quarter of the memory, the memory is given back.
inline constexpr int kBodiesBeforeShrink = 16;

// Buffers of bodies that are kept for later ones. One thread reads bodies one after the other,
// mostly; so big memory must not stay with every connection that once had a big body.
inline constexpr std::size_t kSpareBodiesMax = 2;

// What all buffers of a pool hold together, and may.
struct BodyBudget {
  const std::size_t bytes_max;
  std::atomic<std::size_t> bytes = 0;
};

struct FreeBody {
  std::shared_ptr<BodyBudget> budget;  // null: none
  std::size_t bytes = 0;               // to return to it

  void operator()(char* memory) const {
    std::free(memory);
    if (budget != nullptr) budget->bytes -= bytes;
  }
};

class BodyBuffer {
 public:
  BodyBuffer() = default;  // without a budget
  explicit BodyBuffer(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}

  // Room for the next bytes of a body of which at most `bytes_left` are still to come: 1 to
  // `bytes_left` bytes, or an empty span when memory or the budget is out. A first step is always
  // had. Requires: bytes_left > 0.
  std::span<char> Prepare(std::size_t bytes_left);

  // Takes the first `count` bytes of the last Prepare() as received.
  void Commit(std::size_t count);

  // Copies `bytes` behind what is there. False: memory or the budget is out.
  [[nodiscard]] bool Append(std::string_view bytes);

  // The body so far, followed by kBodyPaddingBytes (api/http.h) zero bytes. Valid until the next
  // call of another member.
  std::string_view Padded();

  // Forgets the body, and keeps the memory for the next one as long as it is worth it.
  void Clear();

  std::size_t size() const { return size_; }
  std::size_t Capacity() const { return capacity_; }  // without the padding

 private:
  bool Reserve(std::size_t capacity);

  std::shared_ptr<BodyBudget> budget_;
  // From malloc, because realloc moves the pages of a big body without a copy.
  std::unique_ptr<char, FreeBody> memory_;  // capacity_ + kBodyPaddingBytes bytes, or null
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t recent_peak_ = 0;  // bytes, over the last recent_count_ bodies
  int recent_count_ = 0;
};

// The buffers of one server.
class BodyPool {
 public:
  explicit BodyPool(std::size_t bytes_max) : budget_(std::make_shared<BodyBudget>(bytes_max)) {}

  // A buffer with an empty body, perhaps with the memory of an earlier one.
  BodyBuffer Take();
  // Keeps the buffer for a later Take(), or frees it.
  void GiveBack(BodyBuffer body);

  std::size_t Bytes() const { return budget_->bytes; }  // of all its buffers, wherever they are

 private:
  std::shared_ptr<BodyBudget> budget_;
  std::vector<BodyBuffer> spare_;
};

}  // namespace offcut::api
