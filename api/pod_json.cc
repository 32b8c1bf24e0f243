#include "api/pod_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/closest_word.h"
#include "api/declared_memory.h"
#include "api/device_record_json.h"
#include "api/hold_json.h"
#include "api/json_object.h"
#include "api/kube_time.h"
#include "api/node_rules_json.h"
#include "api/pod_membership.h"
#include "api/printable.h"
#include "api/text_fields.h"

namespace offcut::api {
bool IsCounted(std::string_view resource, const scheduler::ResourceNames& names) {
  if (resource == names.gpu) return true;
  if (resource.starts_with(names.gpu) &&
      resource.substr(names.gpu.size()) == std::string_view(names.shared_suffix)) {
    return true;
  }
  return resource.size() > names.mig_prefix.size() && resource.starts_with(names.mig_prefix);
}

namespace {

using scheduler::ContainerKind;
using scheduler::ContainerRequest;
using scheduler::Pod;
using scheduler::ResourceNames;

constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();
constexpr std::int64_t kPercentMax = 100;
constexpr std::string_view kOurPrefix = "offcut.dev/";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

// Amounts of one list of resources that we read, in whole units but for CPU.
using Amounts = std::map<std::string, std::int64_t, std::less<>>;

bool IsShare(std::string_view resource, const ResourceNames& names) {
  return resource == names.gpu_memory || resource == names.gpu_memory_percent ||
         resource == names.gpu_cores;
}

// The largest amount of the resource that can be meant.
std::int64_t AmountMax(std::string_view resource, const ResourceNames& names) {
  if (resource == names.gpu_memory) return kIntMax;
  if (IsShare(resource, names)) return kPercentMax;
  return std::numeric_limits<std::int64_t>::max();
}

void Warn(ParsedPod& parsed, const std::string& text) {
  parsed.warnings.push_back("pod " + parsed.pod.name_space + "/" + parsed.pod.name + ": " + text);
}

// An amount as the resource counts it: thousandths of a CPU, and else whole units.
std::optional<std::int64_t> ReadAmount(std::string_view resource, JsonElement value,
                                       const JsonPath& path, JsonErrors& errors) {
  const bool is_cpu = resource == "cpu";
  const std::optional<Quantity> quantity = ReadQuantity(value, path, errors);
  if (!quantity) return std::nullopt;
  const std::int64_t amount = is_cpu ? quantity->milli : quantity->value;
  if (amount < 0) {
    errors.Add(path, "must not be negative");
  } else if (!is_cpu && resource != "memory" && !quantity->is_whole) {
    errors.Add(path, "must be a whole number");
  } else {
    return amount;
  }
  return std::nullopt;
}

// Where amounts are read for, and what they are called.
struct AmountReader {
  const ResourceNames& names;
  ParsedPod& parsed;
  bool IsPlaced() const { return !parsed.pod.node_name.empty(); }
};

// A share, at most its maximum. What is odd is an error, but for a pod that stands on a node: most
// nodes know no shares, and on those it holds what it holds whatever it says of them.
std::optional<std::int64_t> ReadShare(std::string_view resource, JsonElement value,
                                      const JsonPath& path, AmountReader& reader,
                                      JsonErrors& errors) {
  JsonErrors own_errors;
  std::optional<std::int64_t> amount = ReadAmount(resource, value, path, own_errors);
  const std::int64_t max = AmountMax(resource, reader.names);
  if (amount && *amount > max) {
    own_errors.Add(path, "must be at most " + std::to_string(max));
    amount = max;
  }
  if (!own_errors.First()) return amount;
  const std::string& problem = own_errors.First()->message;
  if (!reader.IsPlaced()) {
    errors.Add(JsonPath{}, problem);
    return std::nullopt;
  }
  if (!amount) reader.parsed.pod.has_unreadable_shares = true;
  Warn(reader.parsed, (amount ? "has all there is: " : "may hold any share: ") + problem);
  return amount;
}

// Adds the amounts of `resources` that `amounts` does not have yet.
void ReadAmounts(const JsonObject& resources, AmountReader& reader, Amounts& amounts) {
  Amounts own;
  resources.ForEachEntry([&](std::string_view resource, JsonElement value, const JsonPath& path) {
    std::optional<std::int64_t> amount;
    if (IsShare(resource, reader.names)) {
      amount = ReadShare(resource, value, path, reader, resources.Errors());
    } else if (resource == "cpu" || resource == "memory" || IsCounted(resource, reader.names)) {
      amount = ReadAmount(resource, value, path, resources.Errors());
    }
    if (amount) own.insert_or_assign(std::string(resource), *amount);
  });
  amounts.merge(own);
}

// `resources` of a container or a pod: requests, and limits where those lack a name.
Amounts ReadRequests(const JsonObject& resources, AmountReader& reader) {
  Amounts amounts;
  ReadAmounts(resources.Object("requests"), reader, amounts);
  ReadAmounts(resources.Object("limits"), reader, amounts);
  return amounts;
}

std::int64_t AmountOf(const Amounts& amounts, std::string_view resource) {
  const auto amount = amounts.find(resource);
  return amount == amounts.end() ? 0 : amount->second;
}

ContainerRequest ToContainerRequest(const Amounts& amounts, const ResourceNames& names) {
  ContainerRequest request;
  request.host = {.cpu_milli = AmountOf(amounts, "cpu"),
                  .memory_bytes = AmountOf(amounts, "memory")};
  const auto memory_mib = static_cast<int>(AmountOf(amounts, names.gpu_memory));
  const auto memory_percent = static_cast<int>(AmountOf(amounts, names.gpu_memory_percent));
  const auto cores_percent = static_cast<int>(AmountOf(amounts, names.gpu_cores));
  const bool is_fraction = memory_mib > 0 || memory_percent > 0 || cores_percent > 0;
  for (const auto& [resource, count] : amounts) {
    if (count == 0 || !IsCounted(resource, names)) continue;
    if (is_fraction) request.unshared_devices.push_back({.resource = resource, .count = count});
    if (is_fraction && resource == names.gpu) continue;
    request.devices.push_back({.resource = resource, .count = count});
  }
  const std::int64_t gpus = amounts.contains(names.gpu) ? AmountOf(amounts, names.gpu) : 1;
  if (is_fraction && gpus > 0) {
    request.fraction = binpack::Fraction{.gpus = static_cast<int>(std::min(gpus, kIntMax)),
                                         .memory_mib = memory_mib,
                                         .memory_percent = memory_mib > 0 ? 0 : memory_percent,
                                         .cores_percent = cores_percent};
  }
  return request;
}

bool AsksForDevices(const ContainerRequest& container) {
  return !container.devices.empty() || container.fraction;
}

// A node offers a few resources. Without a limit a pod of legal size could name so many that
// deciding about it holds up all others. Drops the containers of a pod that goes beyond it.
void LimitDeviceResources(const JsonObject& spec, Pod& pod) {
  std::set<std::string_view> resources;
  for (const ContainerRequest& container : pod.containers) {
    for (const scheduler::ResourceCount& asked : container.devices) {
      resources.insert(asked.resource);
      if (asked.resource.size() <= kResourceNameBytesMax &&
          resources.size() <= kDeviceResourcesMax) {
        continue;
      }
      spec.AddError("containers", "ask for more than " + std::to_string(kDeviceResourcesMax) +
                                      " different GPU resources, or one with too long a name");
      pod.containers.clear();
      return;
    }
  }
}

void ReadContainers(const JsonObject& spec, AmountReader& reader) {
  Pod& pod = reader.parsed.pod;
  const auto read = [&](const JsonObject& container, ContainerKind kind) {
    ContainerRequest request =
        ToContainerRequest(ReadRequests(container.Object("resources"), reader), reader.names);
    request.name = container.String("name", kNameBytesMax);
    request.kind = kind;
    if (AsksForDevices(request)) RaiseDeclaredShare(container, pod.declared_memory);
    pod.containers.push_back(std::move(request));
  };
  spec.ForEach("initContainers", kContainersMax, [&](const JsonObject& container) {
    const bool is_sidecar = container.String("restartPolicy") == "Always";
    read(container, is_sidecar ? ContainerKind::kSidecar : ContainerKind::kInit);
  });
  spec.ForEach("containers", kContainersMax,
               [&](const JsonObject& container) { read(container, ContainerKind::kApp); });
  LimitDeviceResources(spec, pod);
}

// Pod-level resources win over what the containers add up to; overhead comes on top of either.
void ReadHost(const JsonObject& spec, AmountReader& reader) {
  Pod& pod = reader.parsed.pod;
  Amounts overhead_amounts;
  ReadAmounts(spec.Object("overhead"), reader, overhead_amounts);
  const binpack::HostResources overhead{.cpu_milli = AmountOf(overhead_amounts, "cpu"),
                                        .memory_bytes = AmountOf(overhead_amounts, "memory")};
  std::vector<ContainerRequest> whole_pod(1);
  whole_pod.front().host = scheduler::EffectiveHost(pod.containers, {});
  const Amounts pod_level = ReadRequests(spec.Object("resources"), reader);
  if (pod_level.contains("cpu")) whole_pod.front().host.cpu_milli = AmountOf(pod_level, "cpu");
  if (pod_level.contains("memory")) {
    whole_pod.front().host.memory_bytes = AmountOf(pod_level, "memory");
  }
  pod.host = scheduler::EffectiveHost(whole_pod, overhead);
}

// Calls `visit(entry)` for each entry of the comma list in the annotation that is not blank.
template <typename Visit>
void ForEachListed(const JsonObject& annotations, std::string_view key, Visit visit) {
  const std::string_view list = annotations.Entry(key).value_or("");
  if (list.size() > kConstraintBytesMax) {
    annotations.AddError(key, "is longer than " + std::to_string(kConstraintBytesMax) + " bytes");
    return;
  }
  std::size_t entry_count = 0;
  for (const std::string_view field : SplitFields(list, ',')) {
    const std::string_view entry = WithoutBlanks(field);
    if (entry.empty()) continue;
    if (++entry_count > kConstraintEntriesMax) {
      annotations.AddError(key,
                           "has more than " + std::to_string(kConstraintEntriesMax) + " entries");
      return;
    }
    if (entry.size() > kNameBytesMax) {
      annotations.AddError(key, "has an entry that is too long");
      return;
    }
    visit(entry);
  }
}

// The glob with one '*' for each run of them: more say the same and cost more to match.
std::string WithoutStarRuns(std::string glob) {
  const auto is_run = [](char a, char b) { return a == '*' && b == '*'; };
  glob.erase(std::ranges::unique(glob, is_run).begin(), glob.end());
  return glob;
}

// Our own list: '!' in front of an entry denies it.
void ReadSignedList(const JsonObject& annotations, std::string_view key,
                    std::vector<std::string>& allowed, std::vector<std::string>& denied) {
  ForEachListed(annotations, key, [&](std::string_view entry) {
    const bool is_denied = entry.starts_with('!');
    if (is_denied) entry = WithoutBlanks(entry.substr(1));
    if (entry.empty()) return;
    (is_denied ? denied : allowed).push_back(WithoutStarRuns(std::string(entry)));
  });
}

// A constraint that is misspelt would be one that nobody keeps. Keys that resemble none of these
// are somebody else's.
void RefuseMisspeltConstraints(const JsonObject& annotations) {
  constexpr std::array constraints = {kGpuModelsAnnotation, kGpuUuidsAnnotation,
                                      kGpuMemoryAnnotation};
  annotations.ForEachEntry([&](std::string_view key, JsonElement, const JsonPath&) {
    if (!key.starts_with(kOurPrefix) || std::ranges::find(constraints, key) != constraints.end())
      return;
    const std::string_view meant = ClosestWord(key, constraints);
    if (meant.empty()) return;
    annotations.AddError(key, "is not known; did you mean " + std::string(meant) + "?");
  });
}

binpack::GpuConstraint ReadConstraint(const JsonObject& annotations) {
  RefuseMisspeltConstraints(annotations);
  binpack::GpuConstraint constraint;
  ReadSignedList(annotations, kGpuModelsAnnotation, constraint.models_allowed,
                 constraint.models_denied);
  ReadSignedList(annotations, kGpuUuidsAnnotation, constraint.uuids_allowed,
                 constraint.uuids_denied);
  // HAMi's lists of types match any part of a type; those of UUIDs match whole.
  const auto append_substrings = [&](std::string_view key, std::vector<std::string>& globs) {
    ForEachListed(annotations, key, [&](std::string_view entry) {
      globs.push_back(WithoutStarRuns("*" + std::string(entry) + "*"));
    });
  };
  const auto append = [&](std::string_view key, std::vector<std::string>& uuids) {
    ForEachListed(annotations, key, [&](std::string_view entry) { uuids.emplace_back(entry); });
  };
  append_substrings("nvidia.com/use-gputype", constraint.models_allowed);
  append_substrings("nvidia.com/nouse-gputype", constraint.models_denied);
  append("nvidia.com/use-gpuuuid", constraint.uuids_allowed);
  append("nvidia.com/nouse-gpuuuid", constraint.uuids_denied);
  return constraint;
}

bool HasSoftConstraints(const JsonObject& spec) {
  const JsonObject affinity = spec.Object("affinity");
  bool has_soft = false;
  for (const std::string_view kind : {"nodeAffinity", "podAffinity", "podAntiAffinity"}) {
    has_soft = affinity.Object(kind).HasElements(kPreferred) || has_soft;
  }
  spec.ForEach("topologySpreadConstraints", kPodArrayMax, [&](const JsonObject& constraint) {
    has_soft = has_soft || constraint.String("whenUnsatisfiable") == "ScheduleAnyway";
  });
  return has_soft;
}

bool SelectsNodes(const JsonObject& spec) {
  const JsonObject affinity = spec.Object("affinity");
  return spec.Object("nodeSelector").HasMembers() ||
         affinity.Object("nodeAffinity").Object(kRequiredAffinity).HasMembers() ||
         affinity.Object("podAffinity").HasElements(kRequiredAffinity) ||
         affinity.Object("podAntiAffinity").HasElements(kRequiredAffinity);
}

bool MindsNeighbours(const JsonObject& spec) {
  const JsonObject affinity = spec.Object("affinity");
  bool minds = affinity.Object("podAffinity").HasElements(kRequiredAffinity) ||
               affinity.Object("podAntiAffinity").HasElements(kRequiredAffinity);
  spec.ForEach("topologySpreadConstraints", kPodArrayMax, [&](const JsonObject& constraint) {
    minds = minds || constraint.String("whenUnsatisfiable") != "ScheduleAnyway";
  });
  spec.ForEach("containers", kPodArrayMax, [&](const JsonObject& container) {
    container.ForEach("ports", kPodArrayMax, [&](const JsonObject& port) {
      minds = minds || port.Int("hostPort", 0, 0, std::numeric_limits<std::uint16_t>::max()) > 0;
    });
  });
  return minds;
}

std::expected<scheduler::DeviceRecord, Error> CheckedOwner(
    std::expected<scheduler::DeviceRecord, Error> record, const Pod& pod) {
  if (!record) return record;
  if (record->pod_uid != pod.uid) {
    return std::unexpected(Error{ErrorKind::kConflict, "is of another pod"});
  }
  if (record->node != pod.node_name) {
    return std::unexpected(Error{ErrorKind::kConflict, "is of another node"});
  }
  return record;
}

// Ours if there is one, else HAMi's.
void ReadRecord(const JsonObject& annotations, ParsedPod& parsed) {
  Pod& pod = parsed.pod;
  if (pod.node_name.empty()) return;
  std::string_view source = kDevicesAnnotation;
  std::expected<scheduler::DeviceRecord, Error> record;
  if (const auto own = annotations.Entry(kDevicesAnnotation); own && !own->empty()) {
    record = ParseDeviceRecord(*own);
  } else if (const auto hami = annotations.Entry(kHamiDevicesAnnotation); hami && !hami->empty()) {
    source = kHamiDevicesAnnotation;
    record = ParseHamiRecord({.pod_uid = pod.uid,
                              .node = annotations.Entry(kHamiNodeAnnotation).value_or(""),
                              .devices = *hami,
                              .mig_allocations = annotations.Entry(kHamiMigAnnotation).value_or(""),
                              .containers = pod.containers});
  } else {
    return;
  }
  record = CheckedOwner(std::move(record), pod);
  if (record) {
    pod.record = *std::move(record);
  } else {
    Warn(parsed, "annotation " + std::string(source) + " is ignored: " + record.error().message);
  }
}

// What is held for a pod that is on no node yet.
void ReadHold(const JsonObject& annotations, ParsedPod& parsed) {
  Pod& pod = parsed.pod;
  if (!pod.node_name.empty()) return;
  const auto text = annotations.Entry(kHoldAnnotation);
  if (!text || text->empty()) return;
  auto hold = ParseHold(*text);
  if (hold && hold->pod_uid != pod.uid) {
    hold = std::unexpected(Error{ErrorKind::kConflict, "is of another pod"});
  }
  if (hold) {
    pod.hold = *std::move(hold);
  } else {
    Warn(parsed,
         "annotation " + std::string(kHoldAnnotation) + " is ignored: " + hold.error().message);
  }
}

// Which nodes it wants. Unreadable rules are no reason to leave the pod out: kube-scheduler
// decides.
void ReadNodeRules(simdjson::dom::element element, ParsedPod& parsed) {
  auto rules = ParseNodeRules(element);
  if (!rules) {
    Warn(parsed, "nothing is reclaimed for it: " + rules.error().message);
    rules = scheduler::NodeRules{.is_unreadable = true};
  }
  parsed.pod.node_rules = *std::move(rules);
}

void ReadName(const JsonObject& root, Pod& pod) {
  const JsonObject metadata = root.Object("metadata");
  pod.name = metadata.String("name", kNameBytesMax);
  if (pod.name.empty()) metadata.AddError("name", "is missing");
}

void ReadUid(const JsonObject& root, Pod& pod) {
  const JsonObject metadata = root.Object("metadata");
  pod.uid = metadata.String("uid", kUidBytesMax);
  if (pod.uid.empty()) metadata.AddError("uid", "is missing");
}

void ReadNamespace(const JsonObject& root, Pod& pod) {
  const JsonObject metadata = root.Object("metadata");
  pod.name_space = metadata.String("namespace", kNameBytesMax);
  if (pod.name_space.empty() && !metadata.Errors().First()) pod.name_space = "default";
}

void ReadAge(const JsonObject& root, Pod& pod) {
  const JsonObject metadata = root.Object("metadata");
  pod.is_terminating = metadata.Has("deletionTimestamp");
  const std::string_view created = metadata.String("creationTimestamp");
  if (created.empty()) return;
  const std::expected<std::int64_t, Error> created_s = ParseTime(created);
  if (created_s) {
    pod.created_s = *created_s;
  } else {
    metadata.AddError("creationTimestamp", created_s.error().message);
  }
}

void ReadPriority(const JsonObject& root, Pod& pod) {
  const JsonObject spec = root.Object("spec");
  pod.priority =
      static_cast<std::int32_t>(spec.Int("priority", 0, std::numeric_limits<std::int32_t>::min(),
                                         std::numeric_limits<std::int32_t>::max()));
}

void ReadNomination(const JsonObject& root, Pod& pod) {
  pod.nominated_node_name = root.Object("status").String("nominatedNodeName", kNameBytesMax);
}

// When it started, and how long it may run then.
void ReadRun(const JsonObject& root, Pod& pod) {
  pod.run_s_max = root.Object("spec").Int("activeDeadlineSeconds", 0, 0,
                                          std::numeric_limits<std::int32_t>::max());
  const JsonObject status = root.Object("status");
  const std::string_view started = status.String("startTime");
  if (started.empty()) return;
  const std::expected<std::int64_t, Error> started_s = ParseTime(started);
  if (started_s) {
    pod.started_s = *started_s;
  } else {
    status.AddError("startTime", started_s.error().message);
  }
}

void ReadPreemption(const JsonObject& root, Pod& pod) {
  pod.never_preempts = root.Object("spec").String("preemptionPolicy") == "Never";
}

void ReadPhase(const JsonObject& root, Pod& pod) {
  const std::string_view phase = root.Object("status").String("phase");
  pod.is_finished = phase == "Succeeded" || phase == "Failed";
}

// A pod on a node that does not say who it is: without a UID its name tells it apart, and without a
// name nothing does, so that it may be any pod, and hold anything.
void Identify(Pod& pod) {
  if (pod.name.empty()) {
    pod.is_unreadable = true;
    pod.name = "(unnamed)";
    if (pod.uid.empty()) pod.uid = "on " + pod.node_name;
  }
  if (pod.uid.empty()) pod.uid = pod.name_space + "/" + pod.name;
}

// Who the pod is and where it stands. What cannot be read of a pod on a node is left at its default
// with a warning: the pod is there all the same.
std::optional<Error> ReadIdentity(simdjson::dom::element element, ParsedPod& parsed) {
  Pod& pod = parsed.pod;
  JsonErrors place_errors;
  const JsonObject root(element, place_errors);
  pod.node_name = root.Object("spec").String("nodeName", kNameBytesMax);
  if (place_errors.First()) return place_errors.First();
  for (const auto read :
       {ReadName, ReadNamespace, ReadUid, ReadAge, ReadPriority, ReadNomination, ReadRun,
        ReadPreemption, ReadTenantLabel, ReadLabels, ReadGates, ReadGang, ReadKueue, ReadPhase}) {
    JsonErrors errors;
    read(JsonObject(element, errors), pod);
    if (!errors.First()) continue;
    if (pod.node_name.empty()) return errors.First();
    Warn(parsed, "is on its node all the same: " + errors.First()->message);
  }
  Identify(pod);
  return std::nullopt;
}

// What it asks for, but for which GPUs it accepts.
std::optional<Error> ReadRequest(simdjson::dom::element element, const ResourceNames& names,
                                 ParsedPod& parsed) {
  JsonErrors errors;
  const JsonObject root(element, errors);
  const JsonObject spec = root.Object("spec");
  parsed.pod.has_soft_constraints = HasSoftConstraints(spec);
  parsed.pod.selects_nodes = SelectsNodes(spec);
  parsed.pod.minds_neighbours = MindsNeighbours(spec);
  AmountReader reader{.names = names, .parsed = parsed};
  ReadContainers(spec, reader);
  ReadHost(spec, reader);
  return errors.First();
}

// Empty where the scheduler has said nothing, or what cannot be read. Texts for people are cut.
std::string ReadUnscheduledMessage(simdjson::dom::element element) {
  JsonErrors ignored;
  const JsonObject root(element, ignored);
  std::string message;
  root.Object("status").ForEach("conditions", kPodArrayMax, [&](const JsonObject& condition) {
    if (condition.String("type") != "PodScheduled" || condition.String("status") != "False") return;
    message = CutText(condition.String("message"), kMessageBytesMax);
  });
  return message;
}

// What the kubelet says the app containers got. It is there to be believed or left: what is
// malformed is left out.
std::vector<scheduler::ObservedDevice> ReadObserved(simdjson::dom::element element,
                                                    const ResourceNames& names) {
  std::vector<scheduler::ObservedDevice> observed;
  JsonErrors ignored;
  const JsonObject root(element, ignored);
  const JsonObject status = root.Object("status");
  status.ForEach("containerStatuses", kContainersMax, [&](const JsonObject& container) {
    container.ForEach("allocatedResourcesStatus", kPodArrayMax, [&](const JsonObject& resource) {
      if (!IsCounted(resource.String("name"), names)) return;
      resource.ForEach("resources", kRecordedDevicesMax, [&](const JsonObject& device) {
        // "GPU-uuid", or "GPU-uuid::3" for a replica; "MIG-uuid" says nothing about a GPU.
        const std::string_view id = device.String("resourceID", kNameBytesMax);
        if (!id.starts_with("GPU-")) return;
        observed.push_back({.gpu_uuid = std::string(id.substr(0, id.find("::"))),
                            .is_unhealthy = device.String("health") == "Unhealthy"});
      });
    });
  });
  return observed;
}

}  // namespace

std::expected<ParsedPod, Error> ParsePod(simdjson::dom::element element,
                                         const ResourceNames& names) {
  ParsedPod parsed;
  Pod& pod = parsed.pod;
  if (auto error = ReadIdentity(element, parsed)) return std::unexpected(*std::move(error));
  const bool is_placed = !pod.node_name.empty();
  if (auto error = ReadRequest(element, names, parsed)) {
    if (!is_placed) return std::unexpected(*std::move(error));
    Warn(parsed, "may hold anything on its node: " + error->message);
    pod.containers.clear();
    pod.is_unreadable = true;
  }
  JsonErrors errors;
  const JsonObject root(element, errors);
  const JsonObject metadata = root.Object("metadata");
  const JsonObject annotations = metadata.Object("annotations");
  pod.request = scheduler::EffectiveRequest(pod.containers, ReadConstraint(annotations));
  ReadDeclaredMemory(annotations, pod.declared_memory);
  if (errors.First()) {
    if (!is_placed) return std::unexpected(*errors.First());
    // Its place has been chosen; annotations may be edited for ever.
    Warn(parsed, "a constraint was dropped: " + errors.First()->message);
    pod.request.constraint = {};
  }
  ReadRecord(annotations, parsed);
  ReadHold(annotations, parsed);
  if (is_placed) {
    pod.observed = ReadObserved(element, names);
  } else {
    pod.unscheduled_message = ReadUnscheduledMessage(element);
    ReadNodeRules(element, parsed);
  }
  return parsed;
}

std::expected<ParsedPod, Error> ParsePodText(std::string_view text,
                                             const scheduler::ResourceNames& names) {
  thread_local simdjson::dom::parser parser;
  const auto element = ParseJson(parser, text);
  if (!element) return std::unexpected(element.error());
  return ParsePod(*element, names);
}

}  // namespace offcut::api
