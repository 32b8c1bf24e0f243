#include "api/closest_word.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace offcut::api {
namespace {

constexpr std::size_t kMaxEdits = 2;  // between a typing error and what was meant

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Levenshtein's distance, blind to upper and lower case.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (Lower(a[i]) == Lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view ClosestWord(std::string_view typed, std::span<const std::string_view> words) {
  std::string_view closest;
  std::size_t fewest = kMaxEdits + 1;
  for (const std::string_view word : words) {
    if (typed.size() > word.size() + kMaxEdits) continue;  // also bounds the work
    const std::size_t edits = EditDistance(typed, word);
    if (edits < fewest && edits < std::max(typed.size(), word.size())) {
      closest = word;
      fewest = edits;
    }
  }
  return closest;
}

}  // namespace offcut::api
