// Geometry of sliding windows.
#include "tilewright/graph/eval/window.h"

namespace tilewright {

Ints spatial_sizes(const Tensor& tensor) {
  return Ints(tensor.sizes().begin() + 2, tensor.sizes().end());
}

Result<Window> Window::of(const EvalCall& call, Ints size) {
  Window window{std::move(size), call.attrs.ints("stride"), {}, {}, Ints(call.attrs.ints("stride").size(), 1)};
  if (call.attrs.find("dilation") != nullptr) window.dilation = call.attrs.ints("dilation");
  TW_ASSIGN(window.low, call.sizes("low"));
  TW_ASSIGN(window.high, call.sizes("high"));
  return window;
}

Result<Ints> Window::slide(const Ints& input) const {
  Ints out;
  for (std::size_t i = 0; i < size.size(); ++i) {
    const std::int64_t reach = (size[i] - 1) * dilation[i] + 1;
    const std::int64_t room = input[i] + low[i] + high[i] - reach;
    if (room < 0) {
      return fail(ErrorKind::kShapeMismatch, "a window of {} exceeds axis {} of size {} with pads {} and {}", reach,
                  i + 2, input[i], low[i], high[i]);
    }
    out.push_back(room / stride[i] + 1);
  }
  return out;
}

Result<Ints> Window::spread(const Ints& input, const Ints& output_pad) const {
  Ints out;
  for (std::size_t i = 0; i < size.size(); ++i) {
    out.push_back((input[i] - 1) * stride[i] - low[i] - high[i] + dilation[i] * (size[i] - 1) + 1 + output_pad[i]);
  }
  TW_TRY(check_sizes(out));
  return out;
}

bool Window::place(std::span<const std::int64_t> at, std::span<const std::int64_t> tap, const Ints& sizes,
                   Ints& out) const {
  for (std::size_t i = 0; i < size.size(); ++i) {
    const std::int64_t where = at[i] * stride[i] - low[i] + tap[i] * dilation[i];
    if (where < 0 || where >= sizes[i]) return false;
    out.push_back(where);
  }
  return true;
}

}  // namespace tilewright
