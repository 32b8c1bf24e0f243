// Memory for the names of nodes that goes from request to request: with 5,000 names, asking the
// heap for each and giving each back costs more than judging the nodes. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace offcut::api {

class NameBuffers {
 public:
  // An empty vector with room for as many names as came last.
  std::vector<std::string> TakeList();
  // A copy of the name.
  std::string Take(std::string_view name);
  // For the next Take(). At most kKeptNamesMax are kept. Requires: no name comes twice.
  void GiveBack(std::vector<std::string>&& names);

  // Marks the names that have not come before; empty if all are such.
  std::vector<bool> FirstComers(const std::vector<std::string>& names);

  static constexpr std::size_t kKeptNamesMax = 100'000;

 private:
  bool IsPartOfLast(const std::vector<std::string>& names) const;

  std::vector<std::string> free_;
  std::vector<std::string> last_;     // given back last
  std::vector<std::uint64_t> table_;  // of FirstComers()
};

}  // namespace offcut::api
