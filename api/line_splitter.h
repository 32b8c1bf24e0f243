// Lines out of a stream that comes in any pieces: a watch is one JSON object a line.
// Pure; not synchronised.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace offcut::api {

// Takes one line, without its end, never empty. False: no more lines are wanted.
using TakeLine = std::function<bool(std::string_view line)>;

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  // Hands over each line that is complete, and keeps the rest; a stream's last line counts only
  // when its end has come. Empty lines are left out. False: a line exceeds the limit.
  [[nodiscard]] bool Put(std::string_view bytes, const TakeLine& take) {
    for (std::size_t end = bytes.find('\n'); end != std::string_view::npos;
         end = bytes.find('\n')) {
      if (pending_.size() + end > line_bytes_max_) return false;
      std::string_view line = bytes.substr(0, end);
      if (!pending_.empty()) line = pending_.append(line);
      if (line.ends_with('\r')) line.remove_suffix(1);
      const bool go_on = line.empty() || take(line);
      pending_.clear();
      if (!go_on) return true;
      bytes.remove_prefix(end + 1);
    }
    if (pending_.size() + bytes.size() > line_bytes_max_) return false;
    pending_ += bytes;
    return true;
  }

 private:
  std::size_t line_bytes_max_;
  std::string pending_;
};

}  // namespace offcut::api
