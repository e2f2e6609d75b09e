#include "tilewright/frontends/onnx/export/frame.h"

#include "tilewright/frontends/onnx/types.h"

namespace tilewright::onnx {
namespace {

constexpr std::int64_t kEnd = INT64_MAX;

}  // namespace

void Frame::bind_size(Dim symbol, Out tensor, std::size_t axis) {
  sources_.try_emplace(symbol, Source{Source::Kind::kSize, tensor, axis});
}

void Frame::bind_element(Dim symbol, Out tensor) {
  sources_.try_emplace(symbol, Source{Source::Kind::kElement, tensor});
}

void Frame::bind_number(Dim symbol, std::int64_t value) {
  sources_.try_emplace(symbol, Source{Source::Kind::kNumber, {}, 0, value});
}

void Frame::bind_shape(const Shape& shape, Out tensor) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis].is_symbol()) bind_size(shape[axis], tensor, axis);
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<Dim> symbols, fresh;
    collect_symbols(shape[axis], symbols);
    for (const Dim symbol : symbols) {
      if (find(symbol).source == nullptr) fresh.push_back(symbol);
    }
    if (fresh.size() != 1) continue;
    const auto at = [&](Dim value) {
      return substitute(shape[axis], [&](Dim symbol) { return symbol == fresh[0] ? value : symbol; });
    };
    const Dim rest = at(Dim(0));
    const auto factor = (at(Dim(1)) - rest).constant();
    if (!factor || *factor == 0 || rest + Dim(*factor) * fresh[0] != shape[axis]) continue;
    sources_.try_emplace(fresh[0], Source{Source::Kind::kSolved, tensor, axis, *factor, rest});
  }
}

Frame::Place Frame::find(Dim symbol) {
  for (Frame* frame = this; frame != nullptr; frame = frame->outer_) {
    if (const auto found = frame->sources_.find(symbol); found != frame->sources_.end()) return {frame, &found->second};
  }
  return {this, nullptr};
}

// The outermost frame in which all symbols of the expression mean what they mean here.
Frame& Frame::home_of(Dim dim) {
  std::vector<Dim> symbols;
  collect_symbols(dim, symbols);
  Frame* home = this;
  while (home->outer_ != nullptr) {
    for (const Dim symbol : symbols) {
      if (home->binds(symbol)) return *home;
    }
    home = home->outer_;
  }
  return *home;
}

std::optional<std::int64_t> Frame::known(Dim dim) const {
  const Dim put = substitute(dim, [&](Dim symbol) {
    for (const Frame* frame = this; frame != nullptr; frame = frame->outer_) {
      const auto found = frame->sources_.find(symbol);
      if (found == frame->sources_.end()) continue;
      return found->second.kind == Source::Kind::kNumber ? Dim(found->second.number) : symbol;
    }
    return symbol;
  });
  return put.constant();
}

Out Frame::add(std::string_view op_type, std::initializer_list<Out> inputs, DType dtype, const Attributes& attributes) {
  return target_.add_one(op_type, inputs, dtype, "size", attributes);
}

Out Frame::cast(Out value, DType dtype) {
  return value.dtype == dtype ? value : add("Cast", {value}, dtype, {{"to", *elem_type_of(dtype)}});
}

// The sizes of axes from .. to-1.
Out Frame::shape_part(Out tensor, std::size_t from, std::size_t to) {
  const auto [found, is_new] = shape_parts_.try_emplace({tensor.name, from, to});
  if (!is_new) return found->second;
  const auto first = static_cast<std::int64_t>(from), last = static_cast<std::int64_t>(to);
  Out part;
  if (model().opset() >= 15) {
    part = add("Shape", {tensor}, DType::kI64, {{"start", first}, {"end", last}});
  } else if (from == 0 && last == kEnd) {
    part = add("Shape", {tensor}, DType::kI64);
  } else {
    const Out all = shape_part(tensor, 0, static_cast<std::size_t>(kEnd));
    Ints axes;
    for (std::int64_t axis = first; axis < last; ++axis) axes.push_back(axis);
    part = add("Gather", {all, model().ints(axes)}, DType::kI64, {{"axis", std::int64_t{0}}});
  }
  shape_parts_[{tensor.name, from, to}] = part;
  return part;
}

Out Frame::size(Dim dim) {
  if (const auto number = known(dim); number && !dim.is_float()) return model().ints({*number});
  Frame& home = home_of(dim);
  if (const auto found = home.written_.find(dim); found != home.written_.end()) return found->second;
  const Out out = home.write(dim);
  home.written_[dim] = out;
  return out;
}

Out Frame::sizes(std::span<const Dim> dims) {
  std::vector<Out> pieces;
  Ints numbers;
  const auto end_numbers = [&] {
    if (!numbers.empty()) pieces.push_back(model().ints(numbers));
    numbers.clear();
  };
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (const auto number = known(dims[i])) {
      numbers.push_back(*number);
      continue;
    }
    end_numbers();
    const Place first = find(dims[i]);
    const auto follows = [&](std::size_t j) {  // dims[j] is the next axis of the same tensor
      if (j == dims.size() || first.source == nullptr || first.source->kind != Source::Kind::kSize) return false;
      const Place next = find(dims[j]);
      return next.source != nullptr && next.frame == first.frame && next.source->kind == Source::Kind::kSize &&
             next.source->tensor == first.source->tensor && next.source->axis == first.source->axis + (j - i);
    };
    std::size_t next = i + 1;
    while (follows(next)) ++next;
    if (next > i + 1) {
      pieces.push_back(
          first.frame->shape_part(first.source->tensor, first.source->axis, first.source->axis + next - i));
      i = next - 1;
    } else {
      pieces.push_back(size(dims[i]));
    }
  }
  end_numbers();
  if (pieces.empty()) return model().ints({});
  if (pieces.size() == 1) return pieces[0];
  const DType dtype = DType::kI64;
  return target_.add("Concat", pieces, {{"axis", std::int64_t{0}}}, {&dtype, 1}, "shape")[0];
}

Out Frame::scalar(Dim dim, DType dtype) {
  if (const auto number = known(dim); number && !dim.is_float()) return model().integer(dtype, *number);
  if (const auto real = dim.real_constant()) return model().number(dtype, *real);
  const Out vector = size(dim);
  const Out one = add("Reshape", {vector, model().ints({})}, vector.dtype);
  if (dtype == DType::kBool && is_float(one.dtype))
    return add("Not", {add("Equal", {one, model().number(one.dtype, 0)}, DType::kBool)}, DType::kBool);
  return cast(one, dtype);
}

Out Frame::write_symbol(Dim symbol) {
  const Place place = find(symbol);
  const DType dtype = symbol.is_float() ? DType::kF64 : DType::kI64;
  if (place.source == nullptr) {
    const Dim same = graph_.facts.simplify(symbol);
    if (same != symbol) return size(same);
    model().fail(tilewright::fail(ErrorKind::kUnsupported,
                                  "the size '{}' is no size of an input, so that the ONNX model cannot know it",
                                  symbol.name()));
    return {"", dtype};
  }
  const Source& source = *place.source;
  switch (source.kind) {
    case Source::Kind::kNumber:
      return model().ints({source.number});
    case Source::Kind::kSize:
      return shape_part(source.tensor, source.axis, source.axis + 1);
    case Source::Kind::kElement:
      return cast(add("Reshape", {source.tensor, model().ints({1})}, source.tensor.dtype), dtype);
    case Source::Kind::kSolved: {
      Out out = shape_part(source.tensor, source.axis, source.axis + 1);
      if (source.rest.constant() != 0) out = add("Sub", {out, size(source.rest)}, dtype);
      return source.number == 1 ? out : add("Div", {out, model().ints({source.number})}, dtype);
    }
  }
  __builtin_unreachable();
}

Out Frame::write(Dim dim) {
  if (dim.op() == DimOp::kSymbol || dim.op() == DimOp::kFloatSymbol) return write_symbol(dim);
  return write_node(dim);
}

}  // namespace tilewright::onnx
