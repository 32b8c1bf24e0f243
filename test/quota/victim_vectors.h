// The vectors that say who is evicted, and whether our own says the same. Throw where a vector
// cannot be read.
#pragma once

#include <nlohmann/json.hpp>

namespace offcut::quota {

bool CheckPreemption(const nlohmann::json& vector);
bool CheckCandidateOrder(const nlohmann::json& vector);
bool CheckMigVictims(const nlohmann::json& vector);
bool CheckNodePick(const nlohmann::json& vector);
// By the widest rules that there are: tenants that fill up what is free in the order of their
// turns, and then ask for more, evict as few as expected.
bool CheckCycleGuard(const nlohmann::json& vector);

// Whether candidates that are equal in all that orders them stand apart in what is expected: then
// no rule could order them so.
bool ContradictsItself(const nlohmann::json& vector);

}  // namespace offcut::quota
