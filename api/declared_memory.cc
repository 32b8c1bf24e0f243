#include "api/declared_memory.h"

#include <algorithm>
#include <string>

#include "api/hami_register.h"
#include "api/text_fields.h"

namespace offcut::api {
namespace {

constexpr int kMillion = 1'000'000;
constexpr int kMibPerGib = 1024;
constexpr std::string_view kDigits = "0123456789";

// The whole number in front of the suffix, in MiB; nullopt: malformed, or more than any GPU has.
std::optional<int> ParseMib(std::string_view text) {
  int unit_mib = 1;
  if (text.ends_with("Gi")) unit_mib = kMibPerGib;
  if (text.ends_with("Gi") || text.ends_with("Mi")) text.remove_suffix(2);
  const std::optional<int> count = ParseField(text, kMemoryMibMax / unit_mib);
  if (!count || *count == 0) return std::nullopt;
  return *count * unit_mib;
}

}  // namespace

void ReadDeclaredMemory(const JsonObject& annotations, scheduler::DeclaredMemory& declared) {
  const auto text = annotations.Entry(kGpuMemoryAnnotation);
  if (!text) return;
  const std::optional<int> mib = ParseMib(WithoutBlanks(*text));
  if (!mib) {
    annotations.AddError(kGpuMemoryAnnotation,
                         "must be MiB of a GPU's memory as 8000, 8000Mi or 8Gi, from 1 to " +
                             std::to_string(kMemoryMibMax) + " MiB");
    return;
  }
  declared.mib = *mib;
}

std::optional<int> ParseShareMillionths(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view rest = point == std::string_view::npos ? "" : text.substr(point + 1);
  if (whole.empty() && rest.empty()) return std::nullopt;
  if (whole.find_first_not_of(kDigits) != std::string_view::npos ||
      rest.find_first_not_of(kDigits) != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t significant = whole.find_first_not_of('0');
  if (significant != std::string_view::npos && whole.substr(significant) != "1") {
    return std::nullopt;
  }
  int millionths = significant == std::string_view::npos ? 0 : kMillion;
  int unit = kMillion;
  for (const char digit : rest) {
    unit /= 10;
    if (unit == 0) break;
    millionths += unit * (digit - '0');
  }
  constexpr std::size_t digits_kept = 6;
  if (rest.size() > digits_kept &&
      rest.find_first_not_of('0', digits_kept) != std::string_view::npos) {
    ++millionths;
  }
  if (millionths == 0 || millionths > kMillion) return std::nullopt;
  return millionths;
}

void RaiseDeclaredShare(const JsonObject& container, scheduler::DeclaredMemory& declared) {
  const std::optional<JsonElement> environment = container.Find("env");
  if (!environment) return;
  JsonErrors ignored;
  ForEachElement(*environment, JsonPath{}, kEnvironmentMax, ignored,
                 [&](const JsonObject& variable) {
                   if (variable.String("name") != kVllmShareVariable) return;
                   const auto share = ParseShareMillionths(WithoutBlanks(variable.String("value")));
                   if (share)
                     declared.share_millionths = std::max(declared.share_millionths, *share);
                 });
}

}  // namespace offcut::api
