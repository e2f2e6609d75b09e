// Builds fmt's out-of-line part into this library, position independent, so that the wheel and an installed
// libtilewright need no libfmt of the machine they were built on.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
}  // namespace detail
// Used through format_as() in files that include no more than fmt/core.h.
template auto formatter<basic_string_view<char>, char>::format(const basic_string_view<char>& value,
                                                               format_context& context) const
    -> decltype(context.out());
FMT_END_NAMESPACE
