// A body as the listener hands it over: readable bytes follow it. Here they are brackets that would
// close a truncated body, so that a reader that looks at them is caught.
#pragma once

#include <string>
#include <string_view>

#include "api/http.h"

namespace offcut::api {

class PaddedBody {
 public:
  explicit PaddedBody(std::string_view body, char padding = '}')
      : bytes_(body), size_(body.size()) {
    bytes_.append(kBodyPaddingBytes, padding);
  }

  std::string_view view() const { return std::string_view(bytes_).substr(0, size_); }

 private:
  std::string bytes_;
  std::size_t size_;
};

}  // namespace offcut::api
