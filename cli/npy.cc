#include "cli/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "cli/command.h"

namespace tilewright::cli {

namespace {

struct TypeName {
  DType dtype;
  std::string_view name;
};
// NumPy has no bf16: its bits are written as u2.
constexpr TypeName kTypeNames[] = {
    {DType::kF32, "<f4"}, {DType::kF64, "<f8"}, {DType::kF16, "<f2"}, {DType::kI8, "|i1"},   {DType::kU8, "|u1"},
    {DType::kI16, "<i2"}, {DType::kI32, "<i4"}, {DType::kI64, "<i8"}, {DType::kBool, "|b1"}, {DType::kBF16, "<u2"},
};
struct CarriedName {
  std::string_view element, name;
  DType carrier;
  std::size_t bytes;
};
constexpr CarriedName kCarriedNames[] = {
    {"uint16", "<u2", DType::kI32, 2}, {"uint32", "<u4", DType::kI64, 4}, {"uint64", "<u8", DType::kI64, 8}};
constexpr std::string_view kMagic = "\x93NUMPY";

// The text after "'key':" in the header, which is a Python dict literal.
std::optional<std::string_view> entry(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
  return rest;
}

Result<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  std::vector<std::int64_t> sizes;
  const std::size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos)
    return fail(ErrorKind::kParse, "no shape in the header");
  const char* at = text.data() + 1;
  const char* const end = text.data() + close;
  while (at < end) {
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0) return fail(ErrorKind::kParse, "a size of the shape is not a number");
    sizes.push_back(size);
    at = next;
    while (at < end && (*at == ',' || *at == ' ')) ++at;
  }
  return sizes;
}

// Bytes of a contiguous tensor; an error if a stride overflows, also that of an axis beside an empty one.
Result<std::size_t> checked_bytes(std::span<const std::int64_t> sizes, DType dtype) {
  std::int64_t bytes = byte_size(dtype);
  bool empty = false;
  for (const std::int64_t size : sizes) {
    empty |= size == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes))
      return fail(ErrorKind::kCorrupt, "the shape is too large");
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

Result<Tensor> widened(const CarriedName& row, std::vector<std::int64_t> sizes, std::string_view data) {
  TW_ASSIGN(const std::size_t wanted, checked_bytes(sizes, row.carrier));
  const std::size_t count = wanted / static_cast<std::size_t>(byte_size(row.carrier));
  if (data.size() != count * row.bytes) {
    return fail(ErrorKind::kCorrupt, "{} bytes of data, the shape needs {}", data.size(), count * row.bytes);
  }
  Tensor out(row.carrier, std::move(sizes));
  const auto width = static_cast<std::size_t>(byte_size(row.carrier));
  auto* to = static_cast<char*>(out.data());
  std::memset(to, 0, wanted);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * width, data.data() + i * row.bytes, row.bytes);
  return out;
}

// Unsigned integers as the elements of their carrier.
}  // namespace

Result<Tensor> parse_npy(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || text.size() < 12) return fail(ErrorKind::kCorrupt, "not a .npy file");
  const bool long_header = bytes[6] >= 2;
  std::uint32_t length = bytes[8] | std::uint32_t{bytes[9]} << 8;
  if (long_header) length |= std::uint32_t{bytes[10]} << 16 | std::uint32_t{bytes[11]} << 24;
  const std::size_t start = long_header ? 12 : 10;
  if (length > text.size() - start) return fail(ErrorKind::kCorrupt, "the header ends early");
  const std::string_view header = text.substr(start, length), data = text.substr(start + length);
  const auto type = entry(header, "descr"), order = entry(header, "fortran_order"), shape = entry(header, "shape");
  if (!type || !order || !shape) return fail(ErrorKind::kCorrupt, "the header lacks descr, fortran_order or shape");
  if (type->empty()) return fail(ErrorKind::kCorrupt, "the header ends before the element type");
  TW_ASSIGN(std::vector<std::int64_t> sizes, parse_shape(*shape));
  if (!order->starts_with("False") && sizes.size() > 1) return fail(ErrorKind::kUnsupported, "Fortran order");
  for (const TypeName& row : kTypeNames) {
    if (row.dtype == DType::kBF16 || !type->substr(1).starts_with(row.name)) continue;
    TW_ASSIGN(const std::size_t wanted, checked_bytes(sizes, row.dtype));
    if (wanted != data.size())
      return fail(ErrorKind::kCorrupt, "{} bytes of data, the shape needs {}", data.size(), wanted);
    Tensor out(row.dtype, std::move(sizes));
    if (wanted != 0) std::memcpy(out.data(), data.data(), wanted);
    return out;
  }
  for (const CarriedName& row : kCarriedNames) {
    if (type->substr(1).starts_with(row.name)) return widened(row, std::move(sizes), data);
  }
  return fail(ErrorKind::kUnsupported, "element type {}", type->substr(0, 6));
}

Result<Tensor> read_npy(const std::string& path) {
  TW_ASSIGN(const std::vector<std::uint8_t> bytes, read_file(path));
  auto tensor = parse_npy(bytes);
  if (!tensor.ok()) return std::move(tensor).error().in(path);
  return tensor;
}

Status write_npy(const std::string& path, const Tensor& tensor, std::string_view element) {
  const Tensor dense = tensor.contiguous();
  std::string_view type;
  const CarriedName* carried = nullptr;
  for (const CarriedName& row : kCarriedNames) {
    if (row.element == element && row.carrier == dense.dtype()) carried = &row;
  }
  for (const TypeName& row : kTypeNames) {
    if (row.dtype == dense.dtype()) type = row.name;
  }
  if (carried != nullptr) type = carried->name;
  std::string shape;
  for (const std::int64_t size : dense.sizes()) shape += fmt::format("{}, ", size);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  header.resize((header.size() + 11 + 63) / 64 * 64 - 10, ' ');  // data starts at a multiple of 64
  header.back() = '\n';
  std::string file(kMagic);
  file += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  file += header;
  const auto* data = static_cast<const char*>(dense.data());
  const auto width = static_cast<std::size_t>(byte_size(dense.dtype()));
  if (carried == nullptr) file.append(data, static_cast<std::size_t>(dense.bytes()));
  for (std::int64_t i = 0; carried != nullptr && i < dense.count(); ++i) {
    file.append(data + static_cast<std::size_t>(i) * width, carried->bytes);
  }
  return write_file(path, file);
}

}  // namespace tilewright::cli
