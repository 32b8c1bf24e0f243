// Reads what a pod declares of GPU memory beside the resources that it asks for: an annotation, and
// the setting by which vLLM takes its share. Nodes that share GPUs by slots are judged by it.
// Source: vLLM, engine arguments (gpu-memory-utilization: a fraction of the GPU's memory, 0 to 1).
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "api/json_object.h"
#include "scheduler/pod.h"

namespace offcut::api {

// MiB of each GPU: "8000", "8000Mi" or "8Gi".
inline constexpr std::string_view kGpuMemoryAnnotation = "offcut.dev/gpu-memory";
inline constexpr std::string_view kVllmShareVariable = "VLLM_GPU_MEMORY_UTILIZATION";
inline constexpr std::size_t kEnvironmentMax = 4096;  // variables of a container that are read

// A malformed annotation is an error of `annotations`, and declares nothing.
void ReadDeclaredMemory(const JsonObject& annotations, scheduler::DeclaredMemory& declared);

// Raises the share to what the container's environment says. A value that vLLM refuses, one that
// stands elsewhere (valueFrom), and a longer environment say nothing.
void RaiseDeclaredShare(const JsonObject& container, scheduler::DeclaredMemory& declared);

// "0.45" as 450000, what is beyond the sixth digit rounded up. nullopt: no decimal number above 0
// and at most 1.
std::optional<int> ParseShareMillionths(std::string_view text);

}  // namespace offcut::api
