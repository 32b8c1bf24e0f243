#include "binpack/gpu_model.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace offcut::binpack {
namespace {

constexpr std::string_view kVendorPrefix = "NVIDIA-";
constexpr std::string_view kSharedSuffix = "-SHARED";
constexpr std::string_view kMigMark = "-MIG-";

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

EngineCounts& EngineCounts::operator+=(const EngineCounts& other) {
  copy += other.copy;
  decoder += other.decoder;
  encoder += other.encoder;
  jpeg += other.jpeg;
  ofa += other.ofa;
  return *this;
}

EngineCounts& EngineCounts::operator-=(const EngineCounts& other) {
  copy -= other.copy;
  decoder -= other.decoder;
  encoder -= other.encoder;
  jpeg -= other.jpeg;
  ofa -= other.ofa;
  return *this;
}

bool EngineCounts::FitsIn(const EngineCounts& budget) const {
  return copy <= budget.copy && decoder <= budget.decoder && encoder <= budget.encoder &&
         jpeg <= budget.jpeg && ofa <= budget.ofa;
}

std::optional<int> GpuModel::FindProfile(std::string_view profile_name) const {
  const auto alias =
      std::ranges::find(profile_aliases, profile_name,
                        [](const auto& entry) -> std::string_view { return entry.first; });
  const std::string_view own_name = alias == profile_aliases.end() ? profile_name : alias->second;
  const auto profile = std::ranges::find(profiles, own_name, &MigProfile::name);
  if (profile == profiles.end()) return std::nullopt;
  return static_cast<int>(profile - profiles.begin());
}

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

const GpuModel* FindModel(std::string_view model_name) {
  const std::span<const GpuModel> models = BuiltInModels();
  const auto model = std::ranges::find(models, model_name, &GpuModel::name);
  return model == models.end() ? nullptr : &*model;
}

const GpuModel* FindModelByProduct(std::string_view product) {
  const std::string_view base = BaseProduct(product);
  const std::span<const GpuModel> models = BuiltInModels();
  const auto model = std::ranges::find_if(models, [&](const GpuModel& candidate) {
    return std::ranges::any_of(candidate.product_globs,
                               [&](std::string_view glob) { return MatchesGlob(base, glob); });
  });
  return model == models.end() ? nullptr : &*model;
}

std::string_view BaseProduct(std::string_view product) {
  if (product.starts_with(kVendorPrefix)) product.remove_prefix(kVendorPrefix.size());
  if (product.ends_with(kSharedSuffix)) product.remove_suffix(kSharedSuffix.size());
  return product.substr(0, product.find(kMigMark));
}

std::string DeriveProfileName(int compute_slices, int profile_memory_slices, int gpu_memory_slices,
                              int total_gib, std::span<const std::string> attributes) {
  assert(compute_slices > 0 && profile_memory_slices > 0 && gpu_memory_slices > 0 && total_gib > 0);
  const int eighths = (8 * profile_memory_slices + gpu_memory_slices - 1) / gpu_memory_slices;
  const int profile_gb = (eighths * total_gib + 4) / 8;
  std::string name = std::to_string(compute_slices) + "g." + std::to_string(profile_gb) + "gb";
  bool first = true;
  for (const std::string& attribute : attributes) {
    if (!attribute.starts_with('-')) {
      name += first ? '+' : ',';
      first = false;
    }
    name += attribute;
  }
  return name;
}

}  // namespace offcut::binpack
