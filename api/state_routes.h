// The state as people and programs may look at it, without changing anything: GET and HEAD alone;
// anything else is 405, and another path 404.
//
//   /api/v1/nodes                     inventories, and how much of them is taken
//   /api/v1/gpus                      every GPU and every pool of MIG instances, with its holders;
//                                     with ?output=text the picture for the terminal
//   /api/v1/pods[/NAMESPACE[/NAME]]   phase, node, request and devices on record; a pod asked by
//                                     name is one object, the youngest of that name
//   /api/v1/pending                   pods that wait for devices, the oldest first
//   /api/v1/packing                   the strategy and, where it reads one, the target workload
//   with
//                                     its hash, in the words of a policy's targetWorkload
//   /api/v1/tenants[/NAME]            what tenants are guaranteed, use, borrow and lend, and why
//   their
//                                     pods wait (api/tenant_json.h), as the tree has them; with
//                                     ?output=text the table for the terminal
//   /api/v1/explain/NAMESPACE/NAME    why the pod goes where it goes; ?output=text for people
//
// Lists are {"items": [...]}, ordered by name; amounts carry their unit in the key, and `gpuUnits`
// are 1/1400 of a GPU.
// Pure.
#pragma once

#include "api/http.h"
#include "scheduler/policy.h"
#include "scheduler/snapshot.h"

namespace offcut::api {

HttpResponse AnswerState(const scheduler::Snapshot& snapshot, const scheduler::Policy& policy,
                         const HttpRequest& request);

}  // namespace offcut::api
