// A picture for the terminal of every GPU of every node, and of the pods that hold parts of them:
//
//   mig-1   1 x A100-SXM4-40GB, MIG                                              62 % held
//     0 │■ 2g.10gb nb        │■ 1g.5gb │·        │■ 3g.20gb train                        │
//
// What is not known is not drawn: MIG instances that are known by count alone stand as counts,
// never at a start.
// Pure; deterministic.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "scheduler/snapshot.h"

namespace offcut::api {

struct GpuPictureStyle {
  int columns = 100;    // of the terminal; taken as if within the two limits below
  bool colour = false;  // ANSI escapes
};

inline constexpr int kPictureColumnsMin = 80;
inline constexpr int kPictureColumnsMax = 400;

// UTF-8 lines, each of at most `columns` columns and ended by a newline: the nodes in the order of
// their names, a line of totals, and a legend. Texts that came from outside are
// printable (api/printable.h): no label can steer a terminal.
std::string DrawGpus(const scheduler::Snapshot& snapshot, const GpuPictureStyle& style = {});

// The same for some nodes, in their order.
std::string DrawGpus(std::span<const std::shared_ptr<const scheduler::Node>> nodes,
                     const GpuPictureStyle& style = {});

}  // namespace offcut::api
