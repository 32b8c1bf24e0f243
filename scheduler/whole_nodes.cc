#include "scheduler/whole_nodes.h"

#include <algorithm>

namespace offcut::scheduler {

bool IsFreeWhole(const Node& node, const binpack::PackingModel& model) {
  return !node.closed && model.whole_nodes.IsFreeWhole(node.compact);
}

std::int64_t CountFreeWhole(std::span<const std::shared_ptr<const Node>> nodes,
                            const binpack::PackingModel& model) {
  return std::ranges::count_if(nodes, [&](const auto& node) { return IsFreeWhole(*node, model); });
}

bool OpensWholeNode(const Node& node, const binpack::Price& price) {
  return price.opens_whole_node && !node.closed;
}

}  // namespace offcut::scheduler
