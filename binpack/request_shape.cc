#include "binpack/request_shape.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace offcut::binpack {

bool NamesModel(const std::vector<std::string>& globs, const GpuModel* model,
                std::string_view product) {
  const std::string vendor_product = "NVIDIA-" + std::string(product);
  return std::ranges::any_of(globs, [&](const std::string& glob) {
    return MatchesGlob(product, glob) || MatchesGlob(vendor_product, glob) ||
           (model != nullptr && MatchesGlob(model->name, glob));
  });
}

namespace {

bool AcceptsModel(const GpuConstraint& constraint, const GpuModel* model,
                  const std::string& product) {
  if (NamesModel(constraint.models_denied, model, product)) return false;
  return constraint.models_allowed.empty() || NamesModel(constraint.models_allowed, model, product);
}

bool Contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

bool AcceptsUuid(const GpuConstraint& constraint, const std::string& uuid) {
  if (!constraint.NamesUuids()) return true;
  if (uuid.empty() || Contains(constraint.uuids_denied, uuid)) return false;
  return constraint.uuids_allowed.empty() || Contains(constraint.uuids_allowed, uuid);
}

// The constraint's word on models, remembered by product: a node has few of them.
class ModelAcceptance {
 public:
  explicit ModelAcceptance(const GpuConstraint& constraint) : constraint_(constraint) {}

  bool Of(const GpuModel* model, const std::string& product) {
    const auto known = std::ranges::find_if(decided_, [&](const Decided& each) {
      return each.model == model && *each.product == product;
    });
    if (known != decided_.end()) return known->is_accepted;
    decided_.push_back({model, &product, AcceptsModel(constraint_, model, product)});
    return decided_.back().is_accepted;
  }

 private:
  struct Decided {
    const GpuModel* model;
    const std::string* product;
    bool is_accepted;
  };

  const GpuConstraint& constraint_;
  std::vector<Decided> decided_;
};

}  // namespace

AcceptedGpus Accept(const NodeState& node, const GpuConstraint& constraint) {
  if (constraint == GpuConstraint{}) return {};
  ModelAcceptance models(constraint);
  AcceptedGpus accepted;
  accepted.by_gpu.reserve(node.gpus.size());
  for (const Gpu& gpu : node.gpus) {
    accepted.by_gpu.push_back(!models.Of(gpu.model.get(), gpu.product) ? Acceptance::kModelRefused
                              : !AcceptsUuid(constraint, gpu.uuid)     ? Acceptance::kUuidRefused
                                                                       : Acceptance::kAccepted);
  }
  if (node.pools.empty()) return accepted;
  // Nobody knows which GPU carries an instance.
  if (!models.Of(node.pool_model.get(), node.pool_product)) {
    accepted.pools = Acceptance::kModelRefused;
  } else if (constraint.NamesUuids()) {
    accepted.pools = Acceptance::kUuidRefused;
  }
  return accepted;
}

int MemoryMibOn(const Gpu& gpu, const Fraction& fraction) {
  if (fraction.memory_mib > 0) return fraction.memory_mib;
  if (fraction.memory_percent == 0) return gpu.memory_mib;
  return static_cast<int>(std::int64_t{gpu.memory_mib} * fraction.memory_percent / 100);
}

bool RequestShape::AsksForDevices() const {
  return whole_gpus > 0 || slots > 0 || !pool_units.empty() || !profiles.empty() ||
         !fractions.empty();
}

}  // namespace offcut::binpack
