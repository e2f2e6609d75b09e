// Checks that several infer families share. Each says what is wrong and then the values; each lets the unknown pass.
#pragma once

#include "tilewright/graph/infer/infer.h"

namespace tilewright {

std::string shape_text(std::span<const Dim> dims);          // "[B, 64]"
std::string types_text(std::span<const TensorType> types);  // "f32[B, 64] x f32[32, 16]"

Status check_equal_dtypes(std::span<const TensorType> types);
Status check_float(const TensorType& type);
Status check_bits(const TensorType& type);         // integers and bool
Status check_index_dtype(const TensorType& type);  // i32 or i64
Status check_rank(const TensorType& type, std::size_t rank, std::string_view what);
Status check_axis(const TensorType& type, std::int64_t axis);
Status check_axes(const TensorType& type, std::span<const std::int64_t> axes);  // in range, none twice
Status check_integers(std::span<const Dim> dims);                               // before any question about them
Status check_sizes(std::span<const Dim> dims, const Facts& facts);              // integers, none provably negative
Status check_count(std::string_view attribute, std::size_t given, std::size_t expected);  // length of a list
Status check_choice(std::string_view attribute, std::string_view given, std::span<const std::string_view> choices);
Status check_late_symbol(std::string_view attribute, Dim symbol);  // a bare integer symbol

// `small` broadcasts to `large` at the last axis, as far as one can tell.
Status check_expands(const TensorType& small, std::span<const Dim> large, const Facts& facts);

// Two dims that must be equal and are not provably different: the one that says more.
Dim agreed(Dim a, Dim b);
// The size that broadcasting gives to a and b; nothing if they provably do not broadcast.
std::optional<Dim> broadcast_dim(Dim a, Dim b, const Facts& facts);
Result<Shape> broadcast_shapes(std::span<const TensorType> types, const Facts& facts);

Dim product(std::span<const Dim> dims);

}  // namespace tilewright
