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
  const std::size_t growth = capacity - capacity_;
  if (budget_ != nullptr) {
    const std::size_t taken = budget_->bytes += growth;
    if (taken > budget_->bytes_max && capacity > kBodyStepBytes) {
      budget_->bytes -= growth;
      return false;
    }
  }
  void* const grown = std::realloc(memory_.get(), capacity + kBodyPaddingBytes);
  if (grown == nullptr) {  // the old memory is still ours
    if (budget_ != nullptr) budget_->bytes -= growth;
    return false;
  }
  std::ignore = memory_.release();
  memory_ = {static_cast<char*>(grown), FreeBody{budget_, capacity}};
  capacity_ = capacity;
  return true;
}

BodyBuffer BodyPool::Take() {
  if (spare_.empty()) return BodyBuffer(budget_);
  BodyBuffer body = std::move(spare_.back());
  spare_.pop_back();
  body.Clear();
  return body;
}

void BodyPool::GiveBack(BodyBuffer body) {
  if (spare_.size() < kSpareBodiesMax) spare_.push_back(std::move(body));
}

}  // namespace offcut::api
