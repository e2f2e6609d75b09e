// Text of a Dim: infix for + - * // %, a call for every other row of dim_ops.def. parse_dim (dim_parse.cc) reads it
// back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tilewright/tensor/dim_table.h"

namespace tilewright {
namespace {

bool is_bare_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || !letter(name[0]) || name == "inf" || name == "nan") return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || c == '.' || (c >= '0' && c <= '9'); });
}

void print_name(std::string_view name, std::string& out) {
  if (is_bare_name(name)) {
    out += name;
    return;
  }
  out += '`';
  for (const char c : name) {
    if (c == '`' || c == '\\') out += '\\';
    out += c;
  }
  out += '`';
}

void print_real(double value, std::string& out) {
  const std::string text = fmt::format("{}", value);
  out += std::isnan(value) ? "nan" : text;
  if (text.find_first_not_of("-0123456789") == std::string::npos) out += ".0";
}

void print(Dim dim, std::string& out);

// An operand of * // % and the right operand of + and -.
void print_tight(Dim dim, std::string& out) {
  const bool parentheses = info(dim.op()).is_infix();
  if (parentheses) out += '(';
  print(dim, out);
  if (parentheses) out += ')';
}

// The number in front of a term, if there is one.
std::optional<double> leading_number(Dim term) {
  if (const std::optional<double> number = term.real_constant()) return number;
  if (term.op() != DimOp::kMul) return std::nullopt;
  return term.operands()[0].real_constant();
}

// True if the term is printed after "-", with its sign dropped.
bool prints_negated(Dim term) {
  const double number = leading_number(term).value_or(1);
  if (!(number < 0)) return false;
  if (term.is_float()) return term.op() == DimOp::kFloatConst || number == -1;
  return number != -0x1p63;  // the lowest int64 has no positive counterpart
}

void print_product(Dim dim, std::size_t first, std::string& out) {
  for (std::size_t i = first; i < dim.operands().size(); ++i) {
    if (i > first) out += info(DimOp::kMul).text;
    print_tight(dim.operands()[i], out);
  }
}

void print_without_sign(Dim term, std::string& out) {
  if (term.op() == DimOp::kFloatConst) return print_real(-DimTable::real(term), out);
  if (term.op() == DimOp::kConst) return print(Dim(-DimTable::integer(term)), out);
  if (term.is_float()) {
    const Dim rest = term.operands()[1];
    return rest.op() == DimOp::kMul ? print(rest, out) : print_tight(rest, out);
  }
  const std::int64_t number = DimTable::integer(term.operands()[0]);
  const bool has_more = term.operands()[1].op() == DimOp::kConst;
  if (number != -1 || has_more) out += fmt::format("{}{}", -number, info(DimOp::kMul).text);
  print_product(term, 1, out);
}

void print_sum(Dim dim, std::string& out) {
  std::vector<Dim> terms(dim.operands().begin(), dim.operands().end());
  if (!dim.is_float() && prints_negated(terms[0])) {
    const auto positive = std::find_if_not(terms.begin(), terms.end(), prints_negated);
    if (positive != terms.end()) std::rotate(terms.begin(), positive, positive + 1);  // s1 - s0, not -s0 + s1
  }
  print(terms[0], out);
  for (std::size_t i = 1; i < terms.size(); ++i) {
    if (prints_negated(terms[i])) {
      out += " - ";
      print_without_sign(terms[i], out);
      continue;
    }
    out += fmt::format(" {} ", info(DimOp::kAdd).text);
    if (terms[i].op() == DimOp::kAdd)
      print_tight(terms[i], out);
    else
      print(terms[i], out);
  }
}

void print_mul(Dim dim, std::string& out) {
  const Dim first = dim.operands()[0];
  const bool minus = first.real_constant() == -1.0 && dim.operands()[1].op() != DimOp::kConst;
  if (minus) out += '-';
  print_product(dim, minus ? 1 : 0, out);
}

void print(Dim dim, std::string& out) {
  const DimOpInfo& row = info(dim.op());
  switch (dim.op()) {
    case DimOp::kConst:
      out += fmt::format("{}", DimTable::integer(dim));
      return;
    case DimOp::kFloatConst:
      print_real(DimTable::real(dim), out);
      return;
    case DimOp::kFloatSymbol:
      out += '%';
      [[fallthrough]];
    case DimOp::kSymbol:
      print_name(dim.name(), out);
      return;
    case DimOp::kAdd:
      print_sum(dim, out);
      return;
    case DimOp::kMul:
      print_mul(dim, out);
      return;
    default:
      break;
  }
  if (row.is_infix()) {
    print_tight(dim.operands()[0], out);
    out += row.text;
    print_tight(dim.operands()[1], out);
    return;
  }
  out += row.text;
  out += '(';
  for (std::size_t i = 0; i < dim.operands().size(); ++i) {
    if (i > 0) out += ", ";
    print(dim.operands()[i], out);
  }
  out += ')';
}

}  // namespace

std::string to_string(Dim dim) {
  std::string out;
  print(dim, out);
  return out;
}

}  // namespace tilewright
