// How our quota arithmetic compares with what other systems publish. A line for each vector,
//   <id> <kind> <model> ok|differs|not-applicable <rule>[: <reason>]
// and a last line of counts. Exits 1 where a vector of a kind that must agree does not, 2 where the
// file cannot be read.
// OFFCUT_QUOTA_VECTORS: the file of vectors; else the one in test/data.
#include <cstdlib>
#include <fstream>
#include <iostream>
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
};

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
  int not_applicable = 0;
  for (const json& vector : document["vectors"]) {
    const VectorResult result = CheckVector(vector);
    std::cout << TextOf(vector, "id") << ' ' << TextOf(vector, "kind") << ' '
              << TextOf(vector, "model") << ' ' << NameOf(result.verdict) << ' ' << result.rule;
    if (!result.reason.empty()) std::cout << ": " << result.reason;
    std::cout << '\n';
    Counts& counts = result.required ? required : other;
    if (result.verdict == Verdict::kAgrees) ++counts.agree;
    if (result.verdict == Verdict::kDiffers) ++counts.differ;
    if (result.verdict == Verdict::kNotApplicable) ++not_applicable;
  }
  std::cout << document["vectors"].size() << " vectors: of required kinds " << required.agree
            << " ok, " << required.differ << " differ; of others " << other.agree << " agree, "
            << other.differ << " differ, " << not_applicable << " not applicable\n";
  return required.differ == 0 ? 0 : 1;
}

}  // namespace
}  // namespace offcut::quota

int main() {
  const char* path = std::getenv("OFFCUT_QUOTA_VECTORS");
  return offcut::quota::Run(path != nullptr ? path
                                            : OFFCUT_SOURCE_DIR "/test/data/quota_vectors.json");
}
