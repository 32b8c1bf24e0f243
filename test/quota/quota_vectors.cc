// How our quota arithmetic compares with what other systems publish. A line for each vector,
//   <id> <kind> <model> ok|differs|not-applicable <rule>[: <reason>]
// then one of counts for each kind and model, and a last one of all. Exits 1 where a vector of a
// kind that must agree does not, 2 where the file cannot be read. OFFCUT_QUOTA_VECTORS: the file of
// vectors; else the one in test/data.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "test/quota/vector_checks.h"

namespace offcut::quota {
namespace {

using nlohmann::json;

struct Counts {
  int agree = 0;
  int differ = 0;
  int not_applicable = 0;
};

void Add(Verdict verdict, Counts& counts) {
  if (verdict == Verdict::kAgrees) ++counts.agree;
  if (verdict == Verdict::kDiffers) ++counts.differ;
  if (verdict == Verdict::kNotApplicable) ++counts.not_applicable;
}

std::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAgrees:
      return "ok";
    case Verdict::kDiffers:
      return "differs";
    case Verdict::kNotApplicable:
      return "not-applicable";
  }
  return "";
}

int Run(const std::string& path) {
  std::ifstream file(path);
  const json document = json::parse(file, nullptr, false);
  if (!document.is_object() || !document.contains("vectors")) {
    std::cerr << path << ": no file of vectors\n";
    return 2;
  }
  Counts required;
  Counts other;
  std::map<std::string, Counts> by_kind;
  for (const json& vector : document["vectors"]) {
    const VectorResult result = CheckVector(vector);
    std::cout << TextOf(vector, "id") << ' ' << TextOf(vector, "kind") << ' '
              << TextOf(vector, "model") << ' ' << NameOf(result.verdict) << ' ' << result.rule;
    if (!result.reason.empty()) std::cout << ": " << result.reason;
    std::cout << '\n';
    const std::string kind = TextOf(vector, "kind") + ' ' + TextOf(vector, "model");
    Add(result.verdict, result.required ? required : other);
    Add(result.verdict, by_kind[kind + (result.required ? " required" : " other")]);
  }
  for (const auto& [kind, counts] : by_kind) {
    std::cout << "kind " << kind << ": " << counts.agree << " agree, " << counts.differ
              << " differ, " << counts.not_applicable << " not applicable\n";
  }
  std::cout << document["vectors"].size() << " vectors: of required kinds " << required.agree
            << " ok, " << required.differ << " differ; of others " << other.agree << " agree, "
            << other.differ << " differ, " << required.not_applicable + other.not_applicable
            << " not applicable\n";
  return required.differ == 0 ? 0 : 1;
}

}  // namespace
}  // namespace offcut::quota

int main() {
  const char* path = std::getenv("OFFCUT_QUOTA_VECTORS");
  return offcut::quota::Run(path != nullptr ? path
                                            : OFFCUT_SOURCE_DIR "/test/data/quota_vectors.json");
}
