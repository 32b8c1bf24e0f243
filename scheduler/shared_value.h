// A value that never changes and that copies share: for what is large, copied often, and the same
// in all copies. Compared by what it is. Thread-safe as a const value is.
#pragma once

#include <memory>
#include <utility>

namespace offcut::scheduler {

template <typename Value>
class SharedValue {
 public:
  SharedValue() = default;
  SharedValue(Value value) : value_(std::make_shared<const Value>(std::move(value))) {}

  // Without a value: the default one.
  const Value& operator*() const {
    static const Value none;
    return value_ == nullptr ? none : *value_;
  }
  const Value* operator->() const { return &**this; }

  friend bool operator==(const SharedValue& a, const SharedValue& b) {
    return a.value_ == b.value_ || *a == *b;
  }

 private:
  std::shared_ptr<const Value> value_;
};

}  // namespace offcut::scheduler
