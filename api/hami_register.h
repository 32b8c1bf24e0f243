// The GPUs of a node as HAMi's device plugin reports them in `hami.io/node-nvidia-register`.
//
// Two forms: a JSON array of devices, and the older text "id,count,MiB,cores,type,numa,health:"
// with optional ",index,mode" before each ':'. What surprises: a GPU in MIG mode lists the profiles
// that the plugin can make, with their legal starts, and that list wins over the geometry that is
// compiled in. Source: recorded annotations of HAMi 2.10. Pure.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.h"
#include "binpack/node_state.h"

namespace offcut::api {

inline constexpr std::string_view kHamiRegisterAnnotation = "hami.io/node-nvidia-register";
inline constexpr std::string_view kHamiCordonAnnotation = "hami.io/device-cordon";

inline constexpr std::size_t kGpusPerNodeMax = 64;
inline constexpr int kMemoryMibMax = 64 * 1024 * 1024;  // of one GPU
inline constexpr std::size_t kProfilesPerGpuMax = 64;
inline constexpr int kSlicesPerGpuMax = 16;  // memory slices; no model has more

struct HamiRegister {
  std::vector<binpack::Gpu> gpus;  // ordered by HAMi's index
  std::vector<std::string> warnings;
};

// `cordoned` is the comma list of UUIDs of `hami.io/device-cordon`. A device without UUID, a UUID
// that comes twice, a negative or malformed number, a profile whose placements differ in size or
// pass the last slice, and more than kGpusPerNodeMax devices are errors.
std::expected<HamiRegister, Error> ParseHamiRegister(std::string_view annotation,
                                                     std::string_view cordoned);

}  // namespace offcut::api
