#include "binpack/request_shape.h"

#include <algorithm>

namespace offcut::binpack {
namespace {

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool NamesModel(const std::vector<std::string>& globs, const Gpu& gpu) {
  return std::ranges::any_of(globs, [&](const std::string& glob) {
    return MatchesGlob(gpu.product, glob) ||
           (gpu.model != nullptr && MatchesGlob(gpu.model->name, glob)) ||
           MatchesGlob("NVIDIA-" + gpu.product, glob);
  });
}

bool Contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

}  // namespace

// The classic two-pointer match: on a mismatch, let the last '*' swallow one character more.
bool MatchesGlob(std::string_view text, std::string_view pattern) {
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && LowerAscii(pattern[p]) == LowerAscii(text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool AcceptsModel(const GpuConstraint& constraint, const Gpu& gpu) {
  if (NamesModel(constraint.models_denied, gpu)) return false;
  return constraint.models_allowed.empty() || NamesModel(constraint.models_allowed, gpu);
}

bool AcceptsUuid(const GpuConstraint& constraint, const Gpu& gpu) {
  if (!constraint.NamesUuids()) return true;
  if (gpu.uuid.empty() || Contains(constraint.uuids_denied, gpu.uuid)) return false;
  return constraint.uuids_allowed.empty() || Contains(constraint.uuids_allowed, gpu.uuid);
}

bool RequestShape::AsksForDevices() const {
  return whole_gpus > 0 || slots > 0 || !pool_units.empty() || !profiles.empty() ||
         !fractions.empty();
}

}  // namespace offcut::binpack
