// Which pods ask for the same, byte by byte. Pure.
#pragma once

#include <string>

#include "scheduler/pod.h"

namespace offcut::scheduler {

// Equal iff all is equal that decisions read of the pods' requests.
std::string KeyOfRequest(const Pod& pod);

// Equal iff all is equal that filter reads of the pods, but for what is expected of them: also what
// is judged beside evaluations, which quota and isolation are.
std::string KeyOfJudgement(const Pod& pod);

// As KeyOfRequest(), and only of one UID.
std::string KeyOfPod(const Pod& pod);

}  // namespace offcut::scheduler
