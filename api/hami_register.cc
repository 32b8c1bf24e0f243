#include "api/hami_register.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "api/device_record_json.h"
#include "api/json_object.h"
#include "api/text_fields.h"
#include "binpack/gpu_model.h"

namespace offcut::api {
namespace {

using binpack::Gpu;
using binpack::GpuModel;
using binpack::MigProfile;

constexpr int kCountMax = 1 << 20;
constexpr int kCoresPercentMax = 100 * 100;
constexpr std::string_view kVendor = "NVIDIA-";
constexpr std::string_view kModeMig = "mig";

// Tables are printed in GiB with two decimals: within this much two figures are the same.
constexpr int kMemoryRoundingMib = 64;

// A device as reported.
struct Device {
  std::string uuid;
  int index = 0;
  int sharers_max = 0;
  int memory_mib = 0;
  int cores_percent = 0;
  std::string type;
  std::string mode;
  bool is_healthy = false;
  std::vector<MigProfile> profiles;  // without engines
};

MigProfile ReadProfile(const JsonObject& object) {
  MigProfile profile;
  profile.name = object.String("name");
  if (profile.name.empty()) object.AddError("name", "is missing");
  profile.memory_mib = static_cast<int>(object.Int("memoryMB", 0, 0, kMemoryMibMax));
  profile.compute_slices = static_cast<int>(object.Int("sliceCount", 0, 0, kSlicesPerGpuMax));
  object.ForEach("placements", kSlicesPerGpuMax, [&](const JsonObject& placement) {
    const auto start = static_cast<int>(placement.Int("start", 0, 0, kSlicesPerGpuMax - 1));
    const auto size = static_cast<int>(placement.Int("size", 0, 0, kSlicesPerGpuMax));
    if (size == 0 || start + size > kSlicesPerGpuMax) {
      placement.AddError("size", "does not fit on any GPU");
    }
    if (!profile.starts.empty() && size != profile.memory_slices) {
      placement.AddError("size", "differs from that of the other placements");
    }
    profile.memory_slices = size;
    profile.starts.push_back(start);
  });
  if (profile.starts.empty()) object.AddError("placements", "is missing");
  std::ranges::sort(profile.starts);
  const auto duplicates = std::ranges::unique(profile.starts);
  profile.starts.erase(duplicates.begin(), duplicates.end());
  profile.instances_max = static_cast<int>(profile.starts.size());
  return profile;
}

Device ReadDevice(const JsonObject& object) {
  Device device{.uuid = std::string(object.String("id")),
                .index = static_cast<int>(object.Int("index", 0, 0, kCountMax)),
                .sharers_max = static_cast<int>(object.Int("count", 0, 0, kCountMax)),
                .memory_mib = static_cast<int>(object.Int("devmem", 0, 0, kMemoryMibMax)),
                .cores_percent = static_cast<int>(object.Int("devcore", 0, 0, kCoresPercentMax)),
                .type = std::string(object.String("type")),
                .mode = std::string(object.String("mode")),
                .is_healthy = object.Bool("health")};
  object.ForEach("migProfiles", kProfilesPerGpuMax, [&](const JsonObject& profile) {
    device.profiles.push_back(ReadProfile(profile));
  });
  return device;
}

std::expected<std::vector<Device>, Error> ParseJsonForm(std::string_view annotation) {
  simdjson::dom::parser parser;
  const std::expected<JsonElement, Error> root = ParseJson(parser, annotation);
  if (!root) return std::unexpected(root.error());
  std::vector<Device> devices;
  JsonErrors errors;
  if (!root->is_null()) {
    ForEachElement(*root, JsonPath{}, kGpusPerNodeMax, errors,
                   [&](const JsonObject& object) { devices.push_back(ReadDevice(object)); });
  }
  if (errors.First()) return std::unexpected(*errors.First());
  return devices;
}

// Go's parser of integers takes a '+'.
std::optional<int> ParseCount(std::string_view text, int max) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return ParseField(text, max);
}

// The words that Go's ParseBool takes.
constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "true", "TRUE", "True"};
constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "false", "FALSE", "False"};

std::optional<bool> ParseBool(std::string_view text) {
  if (std::ranges::find(kTrue, text) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, text) != kFalse.end()) return false;
  return std::nullopt;
}

std::optional<Device> ParseTextDevice(std::string_view text) {
  const std::vector<std::string_view> fields = SplitFields(text, ',');
  if (fields.size() != 7 && fields.size() != 9) return std::nullopt;
  const std::optional<int> count = ParseCount(fields[1], kCountMax);
  const std::optional<int> memory_mib = ParseCount(fields[2], kMemoryMibMax);
  const std::optional<int> cores_percent = ParseCount(fields[3], kCoresPercentMax);
  const std::optional<bool> is_healthy = ParseBool(fields[6]);
  if (!count || !memory_mib || !cores_percent || !is_healthy) return std::nullopt;
  Device device{.uuid = std::string(fields[0]),
                .sharers_max = *count,
                .memory_mib = *memory_mib,
                .cores_percent = *cores_percent,
                .type = std::string(fields[4]),
                .mode = "hami-core",
                .is_healthy = *is_healthy};
  if (fields.size() == 9) {
    const std::optional<int> index = ParseCount(fields[7], kCountMax);
    if (!index) return std::nullopt;
    device.index = *index;
    device.mode = fields[8];
  }
  return device;
}

std::expected<std::vector<Device>, Error> ParseTextForm(std::string_view annotation) {
  if (!annotation.ends_with(':')) {
    return std::unexpected(Error{ErrorKind::kBadRequest, "is cut off: no ':' at its end"});
  }
  std::vector<Device> devices;
  for (const std::string_view text : SplitFields(annotation, ':')) {
    if (text.empty()) continue;
    std::optional<Device> device = ParseTextDevice(text);
    if (!device) {
      return std::unexpected(
          Error{ErrorKind::kBadRequest, "\"" + std::string(text) + "\" is no device"});
    }
    if (devices.size() == kGpusPerNodeMax) {
      return std::unexpected(Error{ErrorKind::kTooLarge, "names too many devices"});
    }
    devices.push_back(*std::move(device));
  }
  return devices;
}

// HAMi's type as GFD would write the product: "NVIDIA-NVIDIA A100-SXM4-40GB" and "NVIDIA-Tesla T4"
// give "NVIDIA-A100-SXM4-40GB" and "NVIDIA-Tesla-T4".
std::string ToProductLabel(std::string_view type) {
  std::string product(type);
  std::ranges::replace(product, ' ', '-');
  while (product.starts_with(std::string(kVendor) + std::string(kVendor))) {
    product.erase(0, kVendor.size());
  }
  return product;
}

// The model of a GPU that reports no model of ours: what the report itself says. No media engine
// limits are known, so none apply.
GpuModel ModelFromReport(std::string_view product, const Device& device) {
  GpuModel model;
  model.name = product;
  model.memory_gib = (device.memory_mib + 1023) / 1024;
  for (const MigProfile& profile : device.profiles) {
    model.compute_slices = std::max(model.compute_slices, profile.compute_slices);
    model.memory_slices =
        std::max(model.memory_slices, profile.starts.back() + profile.memory_slices);
  }
  model.profiles = device.profiles;
  return model;
}

std::string Starts(const MigProfile& profile) {
  std::string text;
  for (const int start : profile.starts) text += (text.empty() ? "" : ",") + std::to_string(start);
  return text;
}

std::string Geometry(const MigProfile& profile) {
  return std::to_string(profile.compute_slices) + " compute and " +
         std::to_string(profile.memory_slices) + " memory slices, " +
         std::to_string(profile.memory_mib) + " MiB, starts " + Starts(profile);
}

bool HasSameGeometry(const MigProfile& a, const MigProfile& b) {
  return a.compute_slices == b.compute_slices && a.memory_slices == b.memory_slices &&
         a.starts == b.starts && std::abs(a.memory_mib - b.memory_mib) <= kMemoryRoundingMib;
}

// The built-in profile with what is reported in place of what is compiled in.
MigProfile Overridden(const MigProfile& built_in, const MigProfile& reported) {
  MigProfile profile = built_in;
  profile.name = reported.name;
  profile.compute_slices = reported.compute_slices;
  profile.memory_slices = reported.memory_slices;
  profile.memory_mib = reported.memory_mib;
  if (profile.starts != reported.starts) {
    profile.starts = reported.starts;
    profile.instances_max = reported.instances_max;
  }
  return profile;
}

// The built-in model with the reported profiles alone, since the plugin makes no others.
GpuModel ModelWithReport(const GpuModel& built_in, const Device& device,
                         std::vector<std::string>& warnings) {
  GpuModel model = built_in;
  model.profiles.clear();
  model.profile_aliases.clear();
  for (const MigProfile& reported : device.profiles) {
    const std::string prefix = "gpu " + device.uuid + ": profile " + reported.name;
    const std::optional<int> known = built_in.FindProfile(reported.name);
    if (!known) {
      warnings.push_back(prefix + " is not known on " + built_in.name +
                         "; reported: " + Geometry(reported));
      model.profiles.push_back(reported);
      continue;
    }
    const MigProfile& profile = built_in.profiles[static_cast<std::size_t>(*known)];
    if (!HasSameGeometry(profile, reported)) {
      warnings.push_back(prefix + " of " + built_in.name + " differs; reported: " +
                         Geometry(reported) + "; built in: " + Geometry(profile));
    }
    model.profiles.push_back(Overridden(profile, reported));
    if (profile.name != reported.name) {
      model.profile_aliases.emplace_back(profile.name, reported.name);
    }
  }
  return model;
}

std::shared_ptr<const GpuModel> NotOwned(const GpuModel* model) {
  return {std::shared_ptr<const GpuModel>(), model};
}

// Whether every placement lies on the model's memory slices.
bool FitsOn(const GpuModel& model, const std::vector<MigProfile>& profiles) {
  return std::ranges::all_of(profiles, [&](const MigProfile& profile) {
    return profile.starts.back() + profile.memory_slices <= model.memory_slices;
  });
}

std::shared_ptr<const GpuModel> MigModel(const Device& device, const std::string& product_label,
                                         std::vector<std::string>& warnings) {
  const GpuModel* const built_in = binpack::FindModelByProduct(product_label);
  const bool has_mig = built_in != nullptr && built_in->memory_slices > 0;
  if (device.profiles.empty()) {
    warnings.push_back("gpu " + device.uuid + " is in MIG mode and reports no profiles");
    return NotOwned(has_mig ? built_in : nullptr);
  }
  if (has_mig && FitsOn(*built_in, device.profiles)) {
    return std::make_shared<const GpuModel>(ModelWithReport(*built_in, device, warnings));
  }
  warnings.push_back("gpu " + device.uuid + ": " + product_label +
                     " is no MIG model of ours with these profiles; taken as reported");
  return std::make_shared<const GpuModel>(
      ModelFromReport(binpack::BaseProduct(product_label), device));
}

Gpu ToGpu(const Device& device, const std::vector<Gpu>& others,
          const std::vector<const Device*>& other_devices, std::vector<std::string>& warnings) {
  const std::string product_label = ToProductLabel(device.type);
  Gpu gpu;
  gpu.product = binpack::BaseProduct(product_label);
  gpu.uuid = device.uuid;
  gpu.memory_mib = device.memory_mib;
  if (!device.is_healthy) gpu.health = binpack::GpuHealth::kUnhealthy;
  if (device.mode != kModeMig) {
    gpu.model = NotOwned(binpack::FindModelByProduct(product_label));
    gpu.state = binpack::FractionalGpu{.cores_percent = device.cores_percent,
                                       .sharers_max = device.sharers_max};
    return gpu;
  }
  gpu.state = binpack::MigGpu{};
  // GPUs that report the same share one model, which also tells that they are alike.
  const auto twin = std::ranges::find_if(other_devices, [&](const Device* other) {
    return other->mode == kModeMig && other->type == device.type &&
           std::ranges::equal(other->profiles, device.profiles,
                              [](const MigProfile& a, const MigProfile& b) {
                                return a.name == b.name && a.memory_mib == b.memory_mib &&
                                       a.compute_slices == b.compute_slices &&
                                       a.memory_slices == b.memory_slices && a.starts == b.starts;
                              });
  });
  gpu.model = twin == other_devices.end()
                  ? MigModel(device, product_label, warnings)
                  : others[static_cast<std::size_t>(twin - other_devices.begin())].model;
  if (gpu.model == nullptr) {
    // Without any profile nothing can be placed on it.
    gpu.state = binpack::WholeGpu{};
    gpu.health = binpack::GpuHealth::kUnhealthy;
  }
  return gpu;
}

}  // namespace

std::expected<HamiRegister, Error> ParseHamiRegister(std::string_view annotation,
                                                     std::string_view cordoned) {
  if (annotation.size() > kAnnotationBytesMax) {
    return std::unexpected(Error{ErrorKind::kTooLarge, "is too long"});
  }
  const std::size_t first = annotation.find_first_not_of(" \t\r\n");
  const bool is_text = first != std::string_view::npos && annotation.substr(first) != "null" &&
                       annotation[first] != '[' && annotation[first] != '{';
  std::expected<std::vector<Device>, Error> devices =
      is_text ? ParseTextForm(annotation) : ParseJsonForm(annotation);
  if (!devices) return std::unexpected(devices.error());
  std::ranges::stable_sort(*devices, {}, &Device::index);

  const std::vector<std::string_view> cordoned_uuids = SplitFields(cordoned, ',');
  HamiRegister result;
  std::set<std::string_view> uuids;
  std::vector<const Device*> seen;
  for (const Device& device : *devices) {
    if (device.uuid.empty() || !uuids.insert(device.uuid).second) {
      return std::unexpected(Error{ErrorKind::kBadRequest,
                                   device.uuid.empty() ? "has a device without id"
                                                       : "has device " + device.uuid + " twice"});
    }
    Gpu gpu = ToGpu(device, result.gpus, seen, result.warnings);
    const bool is_cordoned = std::ranges::any_of(
        cordoned_uuids, [&](std::string_view uuid) { return WithoutBlanks(uuid) == device.uuid; });
    if (is_cordoned && gpu.health == binpack::GpuHealth::kHealthy) {
      gpu.health = binpack::GpuHealth::kCordoned;
    }
    result.gpus.push_back(std::move(gpu));
    seen.push_back(&device);
  }
  return result;
}

}  // namespace offcut::api
