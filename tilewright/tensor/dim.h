// Dim: an interned, immutable expression over symbols, known exactly only when a call binds the symbols.
// Integer expressions describe sizes; f64 expressions describe host scalars (an epsilon, a scale). Interning keeps one
// node per distinct canonical expression, so equality is a pointer compare. Nodes live as long as the process; creation
// takes a lock and is not for hot paths (a bind evaluates a DimProgram instead). Thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/base/result.h"

namespace tilewright {

enum class DimOp : std::uint8_t {
#define DIM_OP(Name, ...) k##Name,
#include "tilewright/tensor/dim_ops.def"
#undef DIM_OP
};

class Dim;

struct DimNode {  // internal to tensor/; read through Dim
  DimOp op;
  bool is_float;
  std::int64_t integer = 0;  // kConst
  double real = 0;           // kFloatConst
  std::string name;          // kSymbol, kFloatSymbol
  std::vector<Dim> operands;
  std::uint64_t id = 0;  // order of creation, dense from 0
};

class Dim {
 public:
  Dim() : Dim(integer(0)) {}
  template <std::integral T>
  Dim(T value) : Dim(integer(static_cast<std::int64_t>(value))) {}  // NOLINT: a number is a Dim
  static Dim integer(std::int64_t value);
  static Dim symbol(std::string_view name);        // a size or an integer scalar
  static Dim float_symbol(std::string_view name);  // an f64 scalar
  static Dim real(double value);
  // Canonical form of op applied to operands: constants folded, sums and products flattened and sorted. Integer
  // arithmetic that overflows int64 while folding stays unfolded, and is reported when the expression is evaluated.
  static Dim make(DimOp op, std::span<const Dim> operands);

  DimOp op() const { return node_->op; }
  bool is_float() const { return node_->is_float; }
  std::span<const Dim> operands() const { return node_->operands; }
  const std::string& name() const { return node_->name; }
  std::uint64_t id() const { return node_->id; }
  std::optional<std::int64_t> constant() const;  // set when the value is a known integer
  std::optional<double> real_constant() const;   // set when the value is a known number, integer or not
  bool is_symbol() const;

  friend bool operator==(Dim a, Dim b) { return a.node_ == b.node_; }  // same expression; see also same()

 private:
  friend class DimTable;
  explicit Dim(const DimNode* node) : node_(node) {}
  const DimNode* node_;
};

Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim operator-(Dim a);
Dim floordiv(Dim a, Dim b);
Dim ceildiv(Dim a, Dim b);
Dim mod(Dim a, Dim b);  // sign of b, as in Python
Dim min(Dim a, Dim b);
Dim max(Dim a, Dim b);
// The size that broadcasting gives to two sizes of one axis: a if b is 1, b if a is 1, the common size otherwise.
Dim broadcast(Dim a, Dim b);
Dim select(Dim condition, Dim if_true, Dim if_false);

std::string to_string(Dim dim);  // "2*s0 + 1"; parse_dim(to_string(d)) == d
inline std::string format_as(Dim dim) {
  return to_string(dim);
}
Result<Dim> parse_dim(std::string_view text);  // identifiers become integer symbols; "%name" is an f64 symbol

// Symbols in the order of their first appearance, appended without repeats.
void collect_symbols(Dim dim, std::vector<Dim>& symbols);
// `dim` with symbols replaced; the function returns its argument for symbols that stay.
Dim substitute(Dim dim, const std::function<Dim(Dim)>& replacement);

}  // namespace tilewright

template <>
struct std::hash<tilewright::Dim> {
  std::size_t operator()(tilewright::Dim dim) const noexcept { return static_cast<std::size_t>(dim.id()); }
};
