#include "api/body_buffer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <tuple>

#include "api/http.h"

namespace offcut::api {
namespace {

constexpr std::array<char, kBodyPaddingBytes> kPadding{};

}  // namespace

std::span<char> BodyBuffer::Prepare(std::size_t bytes_left) {
  assert(bytes_left > 0);
  if (size_ == capacity_) {
    const std::size_t step = std::max(size_, kBodyStepBytes);
    if (!Reserve(size_ + std::min(bytes_left, step))) return {};
  }
  return {memory_.get() + size_, std::min(bytes_left, capacity_ - size_)};
}

void BodyBuffer::Commit(std::size_t count) {
  assert(count <= capacity_ - size_);
  size_ += count;
}

bool BodyBuffer::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::span<char> room = Prepare(bytes.size());
    if (room.empty()) return false;
    std::memcpy(room.data(), bytes.data(), room.size());
    Commit(room.size());
    bytes.remove_prefix(room.size());
  }
  return true;
}

std::string_view BodyBuffer::Padded() {
  if (memory_ == nullptr) return {kPadding.data(), 0};
  std::memset(memory_.get() + size_, 0, kBodyPaddingBytes);
  return {memory_.get(), size_};
}

void BodyBuffer::Clear() {
  recent_peak_ = std::max(recent_peak_, size_);
  size_ = 0;
  if (++recent_count_ < kBodiesBeforeShrink) return;
  if (capacity_ > kBodyStepBytes && recent_peak_ < capacity_ / 4) {
    memory_.reset();
    capacity_ = 0;
  }
  recent_peak_ = 0;
  recent_count_ = 0;
}

bool BodyBuffer::Reserve(std::size_t capacity) {
  void* const grown = std::realloc(memory_.get(), capacity + kBodyPaddingBytes);
  if (grown == nullptr) return false;  // the old memory is still ours
  std::ignore = memory_.release();
  memory_.reset(static_cast<char*>(grown));
  capacity_ = capacity;
  return true;
}

}  // namespace offcut::api
