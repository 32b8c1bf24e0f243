#include "api/hold_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/hold_json.h"
#include "api/kube_time.h"
#include "api/printable.h"
#include "scheduler/dated_hold.h"

namespace offcut::api {
namespace {

using scheduler::HeldPlace;
using scheduler::Hold;
using scheduler::HoldCause;

std::string NameOf(const scheduler::Pod& pod) {
  return fmt::format("{}/{}", Printable(pod.name_space), Printable(pod.name));
}

bool HasDate(const Hold& hold) { return hold.cause == HoldCause::kDate && !IsDrain(hold); }

std::string WaitedForText(const HeldPlace& place) {
  if (place.waits_for.empty()) return {};
  const std::size_t named = std::min(place.waits_for.size(), kWaitedForNamed);
  std::string text = "; waits for ";
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) text += ", ";
    text += NameOf(*place.waits_for[i]);
  }
  const std::size_t more = place.waits_for.size() - named;
  return more == 0 ? text : text + fmt::format(" and {} more", more);
}

}  // namespace

std::string HeldText(const HeldPlace& place) {
  const Hold& hold = *place.owner->hold;
  const std::string when = HasDate(hold) ? "expected by " + TimeText(hold.expected_s)
                                         : "kept until " + TimeText(hold.until_s);
  return fmt::format("node {}, {}{}", Printable(hold.node), when, WaitedForText(place));
}

nlohmann::json ToJson(const HeldPlace& place) {
  const Hold& hold = *place.owner->hold;
  nlohmann::json object = {{"namespace", place.owner->name_space},
                           {"pod", place.owner->name},
                           {"uid", place.owner->uid},
                           {"node", hold.node},
                           {"cause", CauseText(hold.cause)},
                           {"until", TimeText(hold.until_s)},
                           {"text", HeldText(place)},
                           {"waitsFor", nlohmann::json::array()}};
  if (HasDate(hold)) object["expected"] = TimeText(hold.expected_s);
  for (const auto& pod : place.waits_for) {
    object["waitsFor"].push_back(
        {{"namespace", pod->name_space}, {"pod", pod->name}, {"uid", pod->uid}});
  }
  return object;
}

}  // namespace offcut::api
