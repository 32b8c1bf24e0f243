// Indices that may be -1 for "none" are int here, and vectors want std::size_t.
// Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace offcut::binpack {

// Requires: 0 <= index < items.size().
template <typename T>
T& At(std::vector<T>& items, int index) {
  return items[static_cast<std::size_t>(index)];
}
template <typename T>
const T& At(const std::vector<T>& items, int index) {
  return items[static_cast<std::size_t>(index)];
}

}  // namespace offcut::binpack
