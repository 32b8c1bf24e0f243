// Published examples of quota arithmetic, as test/data/quota_vectors.json writes them, and whether
// our own says the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace offcut::quota {

enum class Verdict { kAgrees, kDiffers, kNotApplicable };

struct VectorResult {
  Verdict verdict = Verdict::kNotApplicable;
  bool required = false;  // a kind that must agree
  std::string rule;       // what decided, in one word
  std::string reason;     // why it differs, or why it says nothing of us
};

// "-" where it has no such text.
std::string TextOf(const nlohmann::json& vector, std::string_view key);

// A kind that must agree and cannot be read differs.
VectorResult CheckVector(const nlohmann::json& vector);

}  // namespace offcut::quota
