// Which pods ask for the same, byte by byte. Pure.
#pragma once

#include <string>

#include "scheduler/pod.h"

namespace offcut::scheduler {

// Equal iff all is equal that decisions read of the pods' requests.
std::string KeyOfRequest(const Pod& pod);

// Likewise, and only of one UID.
std::string KeyOfPod(const Pod& pod);

}  // namespace offcut::scheduler
