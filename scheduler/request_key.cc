#include "scheduler/request_key.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace offcut::scheduler {
namespace {

// Appends values so that two lists of them are equal iff the texts are.
class Key {
 public:
  template <typename Number>
    requires std::is_arithmetic_v<Number>
  void Add(Number value) {
    const auto wide = static_cast<std::int64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      text_ += static_cast<char>(static_cast<std::uint64_t>(wide) >> shift & 0xffU);
    }
  }
  void Add(std::string_view text) {
    Add(text.size());
    text_ += text;
  }
  void Add(const std::vector<std::string>& texts) {
    Add(texts.size());
    for (const std::string& text : texts) Add(std::string_view(text));
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

bool AsksForMoreThanOne(const Pod& pod, std::string_view resource) {
  return std::ranges::any_of(pod.containers, [&](const ContainerRequest& container) {
    return std::ranges::any_of(container.devices, [&](const ResourceCount& asked) {
      return asked.resource == resource && asked.count > 1;
    });
  });
}

// All that Evaluate() reads of a pod.
void AddRequest(const Pod& pod, Key& key) {
  key.Add(pod.host.cpu_milli);
  key.Add(pod.host.memory_bytes);
  key.Add(pod.host.pods);
  for (const auto* devices : {&pod.request.devices, &pod.request.unshared_devices}) {
    key.Add(devices->size());
    for (const ResourceCount& asked : *devices) {
      key.Add(std::string_view(asked.resource));
      key.Add(asked.count);
      key.Add(AsksForMoreThanOne(pod, asked.resource));
    }
  }
  key.Add(pod.request.fractions.size());
  for (const binpack::Fraction& fraction : pod.request.fractions) {
    for (const int number :
         {fraction.gpus, fraction.memory_mib, fraction.memory_percent, fraction.cores_percent}) {
      key.Add(number);
    }
  }
  const binpack::GpuConstraint& constraint = pod.request.constraint;
  for (const auto* list : {&constraint.models_allowed, &constraint.models_denied,
                           &constraint.uuids_allowed, &constraint.uuids_denied}) {
    key.Add(*list);
  }
}

}  // namespace

std::string KeyOfRequest(const Pod& pod) {
  Key key;
  AddRequest(pod, key);
  return key.Take();
}

std::string KeyOfJudgement(const Pod& pod) {
  Key key;
  AddRequest(pod, key);
  key.Add(pod.declared_memory.mib);
  key.Add(pod.declared_memory.share_millionths);
  for (const std::string* text : {&pod.name_space, &pod.tenant_label, &pod.admitted_queue}) {
    key.Add(std::string_view(*text));
  }
  return key.Take();
}

std::string KeyOfPod(const Pod& pod) {
  Key key;
  key.Add(std::string_view(pod.uid));
  AddRequest(pod, key);
  return key.Take();
}

}  // namespace offcut::scheduler
