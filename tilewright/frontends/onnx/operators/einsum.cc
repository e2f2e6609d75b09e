// Einsum: labels of the equation, the axes of an ellipsis among them. Operands are joined from left to right, each time
// by one matrix product: labels in both that are still needed are its batch, those that are not are summed.
#include <algorithm>

#include "tilewright/frontends/onnx/operators.h"

namespace tilewright::onnx {
namespace {

// Labels: letters are themselves, axis i of an ellipsis (counted from its end) is kEllipsis + i.
constexpr int kEllipsis = 256;
using Labels = std::vector<int>;

struct Term {
  Maybe value;
  Labels labels;
};

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
  bool has_output = false;
};

Equation parse(std::string_view text) {
  Equation out;
  std::string clean;
  for (const char c : text) {
    if (c != ' ') clean.push_back(c);
  }
  const std::size_t arrow = clean.find("->");
  out.has_output = arrow != std::string::npos;
  if (out.has_output) out.output = clean.substr(arrow + 2);
  const std::string left = clean.substr(0, arrow);
  for (std::size_t begin = 0; begin <= left.size();) {
    const std::size_t comma = std::min(left.find(',', begin), left.size());
    out.inputs.push_back(left.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return out;
}

// `ellipsis`: how many axes it stands for.
Labels labels_of(std::string_view text, std::size_t ellipsis) {
  Labels out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '.') {
      out.push_back(static_cast<unsigned char>(text[i]));
      continue;
    }
    for (std::size_t axis = ellipsis; axis-- > 0;) out.push_back(kEllipsis + static_cast<int>(axis));
    i += 2;
  }
  return out;
}

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::int64_t place(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

// A label that occurs twice in a term means its diagonal.
Term without_repeats(OnnxNode& n, Term term) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    for (std::size_t j = term.labels.size() - 1; j > i; --j) {
      if (term.labels[i] != term.labels[j] || !term.value.ok()) continue;
      const Shape shape = n.type_of(*term.value).shape;
      const auto positions = [&](std::size_t axis) {
        Shape row(shape.size(), Dim(1));
        row[axis] = shape[axis];
        return n.op(Op::kIota, {}, {{"dtype", DType::kI64}, {"shape", row}, {"axis", static_cast<std::int64_t>(axis)}});
      };
      const Maybe zero = n.cast(n.number(DType::kI64, 0), n.type_of(*term.value).dtype);
      const Maybe kept = n.op(Op::kSelect, {n.op(Op::kEq, {positions(i), positions(j)}), term.value, zero});
      term.value = n.reduce(Op::kReduceSum, kept, {static_cast<std::int64_t>(j)}, false);
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
  return term;
}

Term summed_away(OnnxNode& n, Term term, const Labels& needed) {
  Ints axes;
  Labels left;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (contains(needed, term.labels[i]))
      left.push_back(term.labels[i]);
    else
      axes.push_back(static_cast<std::int64_t>(i));
  }
  if (!axes.empty()) term = {n.reduce(Op::kReduceSum, term.value, axes, false), left};
  return term;
}

Maybe arranged(OnnxNode& n, const Term& term, const Labels& order) {
  Ints perm;
  for (const int label : order) perm.push_back(place(term.labels, label));
  return std::is_sorted(perm.begin(), perm.end()) ? term.value : n.transpose(term.value, perm);
}

Dim product(std::span<const Dim> sizes) {
  Dim out = 1;
  for (const Dim size : sizes) out = out * size;
  return out;
}

// Labels of two terms by what a product does with them.
struct Split {
  Labels batch, summed, left, right;
};

Split split_labels(const Labels& a, const Labels& b, const Labels& needed) {
  Split out;
  for (const int label : a) {
    if (!contains(b, label))
      out.left.push_back(label);
    else
      (contains(needed, label) ? out.batch : out.summed).push_back(label);
  }
  for (const int label : b) {
    if (!contains(a, label)) out.right.push_back(label);
  }
  return out;
}

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels out;
  for (const Labels* part : parts) out.insert(out.end(), part->begin(), part->end());
  return out;
}

// Both have every label of batch and sum in the same size: one of size 1 is repeated.
Result<Shape> common_sizes(OnnxNode& n, const Term& a, const Term& b, const Labels& labels) {
  TW_ASSIGN(const ValueId x, Maybe(a.value));
  TW_ASSIGN(const ValueId y, Maybe(b.value));
  Shape out;
  for (const int label : labels) {
    const Dim one = n.type_of(x).shape[static_cast<std::size_t>(place(a.labels, label))];
    const Dim other = n.type_of(y).shape[static_cast<std::size_t>(place(b.labels, label))];
    out.push_back(one == other ? one : broadcast(one, other));
  }
  return out;
}

Result<Term> multiplied(OnnxNode& n, const Term& a, const Term& b, const Labels& needed) {
  const Split split = split_labels(a.labels, b.labels, needed);
  TW_ASSIGN(const Shape batch, common_sizes(n, a, b, split.batch));
  TW_ASSIGN(const Shape summed, common_sizes(n, a, b, split.summed));
  const auto sizes = [&](const Term& term, const Labels& labels) {
    Shape out;
    for (const int label : labels)
      out.push_back(n.type_of(*term.value).shape[static_cast<std::size_t>(place(term.labels, label))]);
    return out;
  };
  const Shape rows = sizes(a, split.left);
  const Shape columns = sizes(b, split.right);
  const auto matrices = [&](const Term& term, const Labels& order, std::initializer_list<const Shape*> parts, Dim m,
                            Dim k) {
    Shape full;
    for (const Shape* part : parts) full.insert(full.end(), part->begin(), part->end());
    return n.reshape(n.expand(arranged(n, term, order), full), {product(batch), m, k});
  };
  const Dim m = product(rows);
  const Dim k = product(summed);
  const Dim width = product(columns);
  const Maybe left = matrices(a, joined({&split.batch, &split.left, &split.summed}), {&batch, &rows, &summed}, m, k);
  const Maybe right =
      matrices(b, joined({&split.batch, &split.summed, &split.right}), {&batch, &summed, &columns}, k, width);
  Shape out(batch);
  out.insert(out.end(), rows.begin(), rows.end());
  out.insert(out.end(), columns.begin(), columns.end());
  return Term{n.reshape(n.op(Op::kMatMul, {left, right}), out), joined({&split.batch, &split.left, &split.right})};
}

// Without an arrow: the ellipsis, then the labels that occur once, in the order of the alphabet.
Labels implied_output(const std::vector<Term>& terms, std::size_t ellipsis) {
  Labels all;
  for (const Term& term : terms) all.insert(all.end(), term.labels.begin(), term.labels.end());
  Labels once;
  for (const int label : all) {
    if (label < kEllipsis && std::count(all.begin(), all.end(), label) == 1) once.push_back(label);
  }
  std::sort(once.begin(), once.end());
  const Labels front = labels_of("...", ellipsis);
  return joined({&front, &once});
}

Result<std::vector<Term>> read_terms(OnnxNode& n, const Equation& equation, std::size_t& ellipsis) {
  if (equation.inputs.size() != n.num_inputs()) {
    return fail(ErrorKind::kInvalidArgument, "an equation of {} terms for {} inputs", equation.inputs.size(),
                n.num_inputs());
  }
  std::vector<Term> terms;
  for (std::size_t i = 0; i < n.num_inputs(); ++i) {
    TW_ASSIGN(const TensorType type, n.type(i));
    const std::string& text = equation.inputs[i];
    const bool has_ellipsis = text.find("...") != std::string::npos;
    const std::size_t letters = text.size() - (has_ellipsis ? 3 : 0);
    if (letters > type.shape.size() || (!has_ellipsis && letters != type.shape.size())) {
      return fail(ErrorKind::kShapeMismatch, "'{}' does not fit {}", text, type);
    }
    const std::size_t width = type.shape.size() - letters;
    ellipsis = std::max(ellipsis, width);
    terms.push_back({n.input(i), labels_of(text, width)});
  }
  return terms;
}

}  // namespace

Maybe import_einsum(OnnxNode& n) {
  const Equation equation = parse(n.text("equation", ""));
  std::size_t ellipsis = 0;
  TW_ASSIGN(std::vector<Term> terms, read_terms(n, equation, ellipsis));
  const Labels output = equation.has_output ? labels_of(equation.output, ellipsis) : implied_output(terms, ellipsis);
  for (Term& term : terms) term = without_repeats(n, term);
  Term sum = terms.front();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Labels later = output;
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      later.insert(later.end(), terms[j].labels.begin(), terms[j].labels.end());
    }
    if (i == 0) {
      sum = summed_away(n, sum, later);
      continue;
    }
    const Labels needed = joined({&later, &sum.labels});
    TW_ASSIGN(sum, multiplied(n, sum, summed_away(n, terms[i], needed), later));
    sum = summed_away(n, sum, later);
  }
  for (const int label : output) {
    if (!contains(sum.labels, label))
      return fail(ErrorKind::kInvalidArgument, "the output of '{}' has a label of no input", n.text("equation", ""));
  }
  return arranged(n, sum, output);
}

}  // namespace tilewright::onnx
