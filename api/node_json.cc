#include "api/node_json.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "api/hami_register.h"
#include "api/json_object.h"
#include "api/node_rules_json.h"
#include "api/pod_json.h"
#include "api/text_fields.h"
#include "binpack/gpu_model.h"

namespace offcut::api {
namespace {

using binpack::Gpu;
using binpack::GpuModel;
using binpack::InstancePool;
using binpack::Sharing;
using scheduler::Inventory;
using scheduler::Offer;
using scheduler::OfferKind;
using scheduler::Reason;
using scheduler::ResourceNames;

constexpr std::string_view kLabelPrefix = "nvidia.com/";
constexpr std::string_view kMigMark = "-MIG-";
constexpr std::string_view kMigInvalid = "-MIG-INVALID";
constexpr std::string_view kSharedProduct = "-SHARED";
constexpr std::string_view kStockAgent = "nvidia";
constexpr std::string_view kHamiAgent = "hami";

// Units of one of our resources.
struct Units {
  std::int64_t allocatable = 0;
  std::int64_t capacity = 0;
  std::int64_t Unhealthy() const { return std::max<std::int64_t>(0, capacity - allocatable); }
};

using UnitsByResource = std::map<std::string, Units, std::less<>>;

// The node's amounts and labels, read; and where findings go.
struct NodeReader {
  const JsonObject& labels;
  const ResourceNames& names;
  UnitsByResource units;
  std::string_view product;  // label gpu.product
  ParsedNode& parsed;

  Inventory& Target() const { return parsed.inventory; }
  void Warn(const std::string& text) const {
    parsed.warnings.push_back("node " + parsed.inventory.name + ": " + text);
  }
};

// The label `nvidia.com/<name>`; empty where it is absent.
std::string_view Label(const NodeReader& reader, std::string_view name) {
  return reader.labels.Entry(std::string(kLabelPrefix).append(name)).value_or("");
}

int IntLabel(const NodeReader& reader, std::string_view name, int fallback, int max) {
  const std::string_view text = Label(reader, name);
  if (text.empty()) return fallback;
  const std::optional<int> value = ParseField(text, max);
  if (!value) {
    reader.labels.AddError(std::string(kLabelPrefix).append(name),
                           "must be an integer from 0 to " + std::to_string(max));
  }
  return value.value_or(fallback);
}

bool IsOurs(std::string_view resource, const ResourceNames& names) {
  return resource == names.gpu || resource == names.gpu + names.shared_suffix ||
         (resource.size() > names.mig_prefix.size() && resource.starts_with(names.mig_prefix));
}

// Reads the amounts of `status.allocatable` or `status.capacity` that are ours.
template <typename Store>
void ReadUnits(const JsonObject& amounts, const ResourceNames& names, Store store) {
  amounts.ForEachEntry([&](std::string_view resource, JsonElement value, const JsonPath& path) {
    if (!IsOurs(resource, names)) return;
    const std::optional<Quantity> quantity = ReadQuantity(value, path, amounts.Errors());
    if (!quantity) return;
    if (quantity->value < 0 || !quantity->is_whole) {
      amounts.Errors().Add(path, "must be a whole number and not negative");
    } else if (quantity->value > kUnitsPerPoolMax) {
      amounts.Errors().Add(path, "must be at most " + std::to_string(kUnitsPerPoolMax),
                           ErrorKind::kTooLarge);
    } else {
      store(resource, quantity->value);
    }
  });
}

std::int64_t HostAmount(const JsonObject& amounts, std::string_view resource) {
  std::int64_t amount = 0;
  amounts.ForEachEntry([&](std::string_view name, JsonElement value, const JsonPath& path) {
    if (name != resource) return;
    const std::optional<Quantity> quantity = ReadQuantity(value, path, amounts.Errors());
    if (!quantity) return;
    amount = resource == "cpu" ? quantity->milli : quantity->value;
    if (amount < 0) amounts.Errors().Add(path, "must not be negative");
  });
  return amount;
}

void ReadAmounts(const JsonObject& status, NodeReader& reader) {
  const JsonObject capacity = status.Object("capacity");
  const JsonObject given_allocatable = status.Object("allocatable");
  // As Kubernetes defaults it: a node without any allocatable has its capacity.
  const JsonObject& allocatable = given_allocatable.IsPresent() ? given_allocatable : capacity;
  reader.Target().devices.allocatable = {.cpu_milli = HostAmount(allocatable, "cpu"),
                                         .memory_bytes = HostAmount(allocatable, "memory"),
                                         .pods = HostAmount(allocatable, "pods")};
  ReadUnits(allocatable, reader.names, [&](std::string_view resource, std::int64_t count) {
    reader.units[std::string(resource)].allocatable = count;
  });
  ReadUnits(capacity, reader.names, [&](std::string_view resource, std::int64_t count) {
    reader.units[std::string(resource)].capacity = count;
  });
  std::erase_if(reader.units, [](const auto& entry) {
    return entry.second.allocatable == 0 && entry.second.capacity == 0;
  });
}

bool IsReconfiguring(const NodeReader& reader) {
  const std::string_view state = Label(reader, "mig.config.state");
  if (state == "pending" || state == "rebooting") return true;
  bool is_paused = false;
  reader.labels.ForEachEntry([&](std::string_view label, JsonElement value, const JsonPath&) {
    if (!label.starts_with("nvidia.com/gpu.deploy.")) return;
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS && text == "paused-for-mig-change") is_paused = true;
  });
  return is_paused;
}

std::optional<Reason> Closed(const NodeReader& reader, bool is_unschedulable) {
  if (reader.product.ends_with(kMigInvalid)) return Reason::kNodeMigInvalid;
  if (IsReconfiguring(reader)) return Reason::kNodeReconfiguring;
  if (is_unschedulable) return Reason::kNodeCordoned;
  return std::nullopt;
}

// What providers and Karpenter say of capacity that they may take back.
constexpr std::pair<std::string_view, std::string_view> kSpotLabels[] = {
    {"eks.amazonaws.com/capacityType", "SPOT"},   {"cloud.google.com/gke-spot", "true"},
    {"cloud.google.com/gke-preemptible", "true"}, {"kubernetes.azure.com/scalesetpriority", "spot"},
    {"karpenter.sh/capacity-type", "spot"},
};

bool IsSpot(const JsonObject& labels) {
  return std::ranges::any_of(
      kSpotLabels, [&](const auto& spot) { return labels.Entry(spot.first) == spot.second; });
}

std::shared_ptr<const GpuModel> BuiltIn(std::string_view product) {
  return {std::shared_ptr<const GpuModel>(), binpack::FindModelByProduct(product)};
}

bool FailsAboveOne(const NodeReader& reader, const std::string& resource, Sharing sharing) {
  const auto& by_policy = reader.names.fail_requests_greater_than_one;
  const auto setting = by_policy.find(resource);
  return setting == by_policy.end() ? sharing == Sharing::kMps : setting->second;
}

Sharing SharingOf(std::string_view strategy) {
  return strategy == "mps" ? Sharing::kMps : Sharing::kTimeSlicing;
}

// Adds GPUs that hold `units` of one resource, `units_per_gpu` on each. Where that does not divide,
// as while a plugin restarts with other replicas, the last GPU has the rest: the amount that the
// node advertises is certain, the split is not, and a node left out would hide its holders.
void AddGpus(NodeReader& reader, const Gpu& blank, std::int64_t units, int units_per_gpu) {
  std::vector<Gpu>& gpus = reader.Target().devices.gpus;
  for (std::int64_t rest = units; rest > 0; rest -= units_per_gpu) {
    if (gpus.size() == kGpusPerNodeMax) {
      reader.labels.Errors().Add(JsonPath{},
                                 "has more than " + std::to_string(kGpusPerNodeMax) + " GPUs",
                                 ErrorKind::kTooLarge);
      return;
    }
    Gpu& gpu = gpus.emplace_back(blank);
    if (auto* const shared = std::get_if<binpack::SharedGpu>(&gpu.state)) {
      shared->slots = static_cast<int>(std::min<std::int64_t>(rest, units_per_gpu));
    }
  }
}

int GpuMemoryMib(const NodeReader& reader, const GpuModel* model) {
  const int memory_mib = IntLabel(reader, "gpu.memory", 0, kMemoryMibMax);
  if (memory_mib > 0 || model == nullptr) return memory_mib;
  return model->memory_gib * 1024;
}

// Whole GPUs, or GPUs in slots: a resource called so after renameByDefault, or replicas in place.
void AddGpuResource(NodeReader& reader, const std::string& resource, const Units& units,
                    bool is_shared) {
  const std::shared_ptr<const GpuModel> model = BuiltIn(reader.product);
  Gpu gpu{.model = model,
          .product = std::string(binpack::BaseProduct(reader.product)),
          .memory_mib = GpuMemoryMib(reader, model.get())};
  Offer offer{.resource = resource, .kind = OfferKind::kWholeGpus};
  int units_per_gpu = 1;
  if (is_shared) {
    units_per_gpu = std::max(1, IntLabel(reader, "gpu.replicas", 1, kSlotsPerGpuMax));
    const Sharing sharing = SharingOf(Label(reader, "gpu.sharing-strategy"));
    gpu.state = binpack::SharedGpu{.sharing = sharing};
    offer.kind = OfferKind::kSlots;
    offer.one_per_container = FailsAboveOne(reader, resource, sharing);
    if (units.allocatable % units_per_gpu != 0 || units.Unhealthy() % units_per_gpu != 0) {
      reader.Warn(resource + " is no multiple of the " + std::to_string(units_per_gpu) +
                  " replicas of a GPU; the last GPU is taken to have the rest");
    }
  }
  AddGpus(reader, gpu, units.allocatable, units_per_gpu);
  gpu.health = binpack::GpuHealth::kUnhealthy;
  AddGpus(reader, gpu, units.Unhealthy(), units_per_gpu);
  reader.Target().offers.push_back(std::move(offer));
}

// What labels say of the instances of a pool. `prefix` is "gpu." in strategy single and
// "mig-1g.5gb." in mixed.
void AddPool(NodeReader& reader, const std::string& resource, const Units& units,
             const std::string& profile, const std::string& prefix) {
  Inventory& inventory = reader.Target();
  if (inventory.devices.pools.size() == kPoolsPerNodeMax) {
    reader.labels.Errors().Add(
        JsonPath{}, "has more than " + std::to_string(kPoolsPerNodeMax) + " kinds of MIG instances",
        ErrorKind::kTooLarge);
    return;
  }
  InstancePool pool{
      .profile = profile,
      .replicas = std::max(1, IntLabel(reader, prefix + "replicas", 1, kSlotsPerGpuMax)),
      .units = static_cast<int>(units.allocatable),
      .units_unhealthy = static_cast<int>(units.Unhealthy())};
  inventory.devices.pool_model = BuiltIn(reader.product);
  inventory.devices.pool_product = binpack::BaseProduct(reader.product);
  const GpuModel* const model = inventory.devices.pool_model.get();
  const std::optional<int> known = model == nullptr ? std::nullopt : model->FindProfile(profile);
  if (known) {
    pool.memory_slices = model->profiles[static_cast<std::size_t>(*known)].memory_slices;
  } else {
    // The compute slices: the same as the memory slices but for the larger profiles.
    pool.memory_slices = IntLabel(reader, prefix + "slices.gi", 0, kSlicesPerGpuMax);
    reader.Warn("profile " + profile + " is not known on " + std::string(reader.product));
  }
  Offer offer{.resource = resource,
              .kind = OfferKind::kInstances,
              .pool = static_cast<int>(inventory.devices.pools.size())};
  if (pool.replicas > 1) {
    offer.one_per_container =
        FailsAboveOne(reader, resource, SharingOf(Label(reader, prefix + "sharing-strategy")));
  }
  inventory.devices.pools.push_back(std::move(pool));
  inventory.offers.push_back(std::move(offer));
}

// The profile of "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb-SHARED" in strategy single; empty: none.
std::string_view ProductProfile(std::string_view product) {
  const std::size_t mark = product.find(kMigMark);
  if (mark == std::string_view::npos || product.ends_with(kMigInvalid)) return {};
  product.remove_prefix(mark + kMigMark.size());
  if (product.ends_with(kSharedProduct)) product.remove_suffix(kSharedProduct.size());
  return product;
}

// The profile of a resource's or product's spelling, where '+' is no legal character: "1g.5gb.me"
// is "1g.5gb+me"; "1g.24gb-me" stays.
std::string ProfileName(std::string_view spelling) {
  std::string profile(spelling);
  const std::size_t size_end = profile.find("gb.");
  if (size_end != std::string::npos) profile[size_end + 2] = '+';
  return profile;
}

void AddMigResource(NodeReader& reader, const std::string& resource, const Units& units) {
  std::string_view spelling = std::string_view(resource).substr(reader.names.mig_prefix.size());
  const std::string& suffix = reader.names.shared_suffix;
  if (!suffix.empty() && spelling.ends_with(suffix)) spelling.remove_suffix(suffix.size());
  AddPool(reader, resource, units, ProfileName(spelling), "mig-" + std::string(spelling) + ".");
}

void ReadPluginDevices(NodeReader& reader) {
  const std::string shared_name = reader.names.gpu + reader.names.shared_suffix;
  const std::string_view single_profile = ProductProfile(reader.product);
  for (const auto& [resource, units] : reader.units) {
    if (resource.starts_with(reader.names.mig_prefix)) {
      AddMigResource(reader, resource, units);
    } else if (!single_profile.empty()) {
      AddPool(reader, resource, units, ProfileName(single_profile), "gpu.");
    } else {
      // Replicas stand on the label also where they are renamed; then the plain name is whole.
      const bool is_shared =
          resource == shared_name || (!reader.units.contains(shared_name) &&
                                      IntLabel(reader, "gpu.replicas", 1, kSlotsPerGpuMax) > 1);
      AddGpuResource(reader, resource, units, is_shared);
    }
  }
}

// Whether the text can be a label's value, but for the empty one, and so what follows the '/' of a
// resource's name.
bool IsLabelValue(std::string_view text) {
  constexpr std::size_t bytes_max = 63;
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= bytes_max && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) && std::ranges::all_of(text, [&](char c) {
           return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

// Who gives pods of the node what is on record for them; empty: nobody. What is wrong with the
// label makes the node no less known: only then are its holders' devices.
std::string_view AgentOf(const NodeReader& reader) {
  const std::string_view agent = reader.labels.Entry(kAgentLabel).value_or("");
  if (agent.empty()) return {};
  if (!IsLabelValue(agent)) {
    reader.Warn("label " + std::string(kAgentLabel) + " does not count: it is no label value");
    return {};
  }
  // These two choose devices themselves, and what they are called must not suggest otherwise.
  if (agent == kStockAgent || agent == kHamiAgent) {
    reader.Warn("label " + std::string(kAgentLabel) + " does not count: " + std::string(agent) +
                " does not read our records");
    return {};
  }
  return agent;
}

// The spelling of ProfileName(), back.
std::string ProfileResource(const ResourceNames& names, std::string profile) {
  std::ranges::replace(profile, '+', '.');
  return names.mig_prefix + profile;
}

// What the agent makes: an instance of each profile, by each name, of the GPUs in MIG mode.
void OfferProfiles(NodeReader& reader) {
  std::map<std::string, std::string> profiles;  // by resource
  const auto offer = [&](const std::string& profile) {
    const std::string resource = ProfileResource(reader.names, profile);
    if (!IsLabelValue(std::string_view(resource).substr(resource.find('/') + 1))) {
      reader.Warn("a MIG profile has a name that no resource can have; no pod can ask for it");
    } else if (const auto& kept = profiles.try_emplace(resource, profile).first->second;
               kept != profile) {
      reader.Warn("two MIG profiles would be " + resource + "; it is " + kept);
    }
  };
  const GpuModel* last = nullptr;
  for (const Gpu& gpu : reader.Target().devices.gpus) {
    if (!std::holds_alternative<binpack::MigGpu>(gpu.state) || gpu.model.get() == last) continue;
    last = gpu.model.get();
    for (const binpack::MigProfile& profile : last->profiles) offer(profile.name);
    for (const auto& [alias, profile] : last->profile_aliases) offer(alias);
  }
  // What is advertised beside them is ours as well, and not for others to serve (DRA). No GPU has
  // such a profile.
  for (const auto& [resource, units] : reader.units) {
    if (!resource.starts_with(reader.names.mig_prefix)) continue;
    profiles.try_emplace(
        resource, ProfileName(std::string_view(resource).substr(reader.names.mig_prefix.size())));
  }
  std::string counted;
  for (const auto& [resource, profile] : profiles) {
    reader.Target().offers.push_back(
        {.resource = resource, .kind = OfferKind::kPlacedInstances, .profile = profile});
    const auto& ignored = reader.names.ignored_by_scheduler;
    const bool is_counted = std::ranges::find(ignored, resource) == ignored.end();
    if (is_counted && !reader.units.contains(resource)) counted += " " + resource;
  }
  if (!counted.empty()) {
    reader.Warn(
        "kube-scheduler counts what resources.ignoredByScheduler does not name, and offers "
        "the node to no pod that asks for one of:" +
        counted);
  }
}

void OpenForAgent(std::string_view agent, NodeReader& reader) {
  Inventory& inventory = reader.Target();
  inventory.agent = agent;
  OfferProfiles(reader);
  for (const std::string& resource :
       {reader.names.gpu, reader.names.gpu + reader.names.shared_suffix}) {
    if (!reader.units.contains(resource)) continue;
    inventory.offers.push_back({.resource = resource, .kind = OfferKind::kFullShares});
  }
  std::ranges::sort(inventory.offers, {}, &Offer::resource);
}

std::expected<void, Error> ReadRegister(std::string_view annotation, std::string_view cordoned,
                                        NodeReader& reader) {
  std::expected<HamiRegister, Error> parsed = ParseHamiRegister(annotation, cordoned);
  if (!parsed) {
    return std::unexpected(Error{parsed.error().kind, "metadata.annotations[\"" +
                                                          std::string(kHamiRegisterAnnotation) +
                                                          "\"]: " + parsed.error().message});
  }
  Inventory& inventory = reader.Target();
  inventory.agent = kHamiAgent;
  inventory.serves_fractions = true;
  inventory.devices.picker = binpack::DevicePicker::kScheduler;
  inventory.devices.gpus = std::move(parsed->gpus);
  for (const std::string& warning : parsed->warnings) reader.Warn(warning);
  // The annotation outlives the plugin that wrote it; its resource does not.
  const auto units = reader.units.find(reader.names.gpu);
  if (units == reader.units.end() || units->second.allocatable == 0) {
    for (Gpu& gpu : inventory.devices.gpus) gpu.health = binpack::GpuHealth::kUnhealthy;
  }
  const std::string_view agent = AgentOf(reader);
  if (!agent.empty()) {
    OpenForAgent(agent, reader);
  } else if (!inventory.closed || inventory.closed == Reason::kNodeCordoned) {
    inventory.closed = Reason::kNodeAgentUnsupported;
  }
  return {};
}

// What else it says of itself is as good as ever where these cannot be read.
void ReadMarks(JsonElement element, ParsedNode& parsed) {
  auto marks = ParseNodeMarks(element);
  if (!marks) {
    parsed.warnings.push_back("node " + parsed.inventory.name +
                              ": nothing is reclaimed on it: " + marks.error().message);
    marks = scheduler::NodeMarks{.is_unreadable = true};
  }
  parsed.inventory.marks = *std::move(marks);
}

std::expected<void, Error> ReadNode(const JsonObject& root, const ResourceNames& names,
                                    ParsedNode& parsed) {
  const JsonObject metadata = root.Object("metadata");
  const JsonObject labels = metadata.Object("labels");
  const JsonObject annotations = metadata.Object("annotations");
  const JsonObject spec = root.Object("spec");
  Inventory& inventory = parsed.inventory;
  inventory.name = metadata.String("name", kNameBytesMax);
  if (inventory.name.empty()) metadata.AddError("name", "is missing");

  NodeReader reader{.labels = labels, .names = names, .units = {}, .product = {}, .parsed = parsed};
  reader.product = Label(reader, "gpu.product");
  ReadAmounts(root.Object("status"), reader);
  inventory.closed = Closed(reader, spec.Bool("unschedulable"));
  inventory.is_spot = IsSpot(labels);
  spec.ForEach("taints", kTaintsMax, [&](const JsonObject& taint) {
    if (taint.String("effect") == "PreferNoSchedule") inventory.prefers_no_schedule = true;
  });
  const auto registered = annotations.Entry(kHamiRegisterAnnotation);
  if (registered) {
    return ReadRegister(*registered, annotations.Entry(kHamiCordonAnnotation).value_or(""), reader);
  }
  if (labels.Entry(kAgentLabel)) {
    reader.Warn("label " + std::string(kAgentLabel) + " does not count without annotation " +
                std::string(kHamiRegisterAnnotation));
  }
  ReadPluginDevices(reader);
  return {};
}

}  // namespace

std::expected<ParsedNode, Error> ParseNode(simdjson::dom::element element,
                                           const ResourceNames& names) {
  JsonErrors errors;
  ParsedNode parsed;
  const std::expected<void, Error> read = ReadNode(JsonObject(element, errors), names, parsed);
  if (errors.First()) return std::unexpected(*errors.First());
  if (!read) return std::unexpected(read.error());
  ReadMarks(element, parsed);
  return parsed;
}

std::expected<ParsedNode, Error> ParseNodeText(std::string_view text,
                                               const scheduler::ResourceNames& names) {
  thread_local simdjson::dom::parser parser;
  const auto element = ParseJson(parser, text);
  if (!element) return std::unexpected(element.error());
  return ParseNode(*element, names);
}

}  // namespace offcut::api
