// A node whose agent makes the MIG instances that we ask for, with pods that hold some of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scheduler/snapshot.h"

namespace offcut::testing {

// A pod called `name`, its UID "uid-NAME", and the instance that is on record for it.
struct MigHolder {
  std::string name;
  int gpu = 0;
  std::string profile;
  int start = 0;
  int priority = 0;
};

// The node "n" of so many GPUs of that model.
scheduler::Snapshot MigHoldersOn(std::string_view model, int gpus,
                                 const std::vector<MigHolder>& holders);

}  // namespace offcut::testing
