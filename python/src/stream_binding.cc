// tilewright._core: the recorder of streaming mode.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "src/convert.h"
#include "src/errors.h"
#include "src/segment.h"
#include "src/stream.h"

namespace tilewright::python {
using namespace nb::literals;
namespace {

nb::tuple tuple_of(std::span<const std::int64_t> numbers) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  }
  return nb::steal<nb::tuple>(tuple);
}

// (offset, sizes, strides, dtype)
nb::tuple from_layout(const StreamLayout& layout) {
  return nb::make_tuple(layout.offset, tuple_of(layout.shape()), tuple_of(layout.steps()),
                        torch_objects().dtypes[static_cast<std::size_t>(layout.dtype)]);
}

void read_numbers(nb::handle numbers, std::array<std::int64_t, kMaxStreamRank>& out) {
  std::size_t i = 0;
  for (nb::handle number : numbers) {
    if (i == out.size()) throw nb::value_error("a tensor has more axes than a stream records");
    out[i++] = nb::cast<std::int64_t>(number);
  }
}

// From (offset, sizes, strides, dtype); None is a result that is not there.
StreamLayout to_layout(nb::handle row) {
  StreamLayout layout;
  if (row.is_none()) return layout;
  const auto parts = nb::cast<nb::tuple>(row);
  layout.offset = nb::cast<std::int64_t>(parts[0]);
  layout.rank = static_cast<std::int32_t>(nb::len(nb::object(parts[1])));
  read_numbers(parts[1], layout.sizes);
  read_numbers(parts[2], layout.strides);
  layout.dtype = torch_objects().dtype_number(nb::object(parts[3]).ptr());
  if (layout.dtype < 0) throw nb::type_error("a dtype that the library does not have");
  return layout;
}

std::vector<StreamLayout> to_layouts(nb::list rows) {
  std::vector<StreamLayout> layouts;
  for (nb::handle row : rows) layouts.push_back(to_layout(row));
  return layouts;
}

StreamTemplate to_template(std::int64_t id, nb::list results) {
  StreamTemplate op{id, 0};
  for (std::size_t i = 0; i < nb::len(results); ++i) {
    if (results[i].is_none()) op.none_results |= std::uint64_t{1} << i;
  }
  return op;
}

StreamTensor tensor_of(nb::handle object) {
  StreamTensor tensor;
  if (!read_tensor(object.ptr(), tensor)) throw nb::type_error("a tensor that cannot be recorded");
  return tensor;
}

nb::list exported_ops(const StreamSegment& self) {
  nb::list rows;
  const StreamProgram& program = self.program();
  for (const StreamProgram::Op& op : program.ops()) {
    const auto refs = program.refs(op);
    const auto ints = program.ints(op);
    const auto floats = program.floats(op);
    rows.append(nb::make_tuple(
        op.op.id, std::vector<int>(refs.begin(), refs.end()), std::vector<std::int64_t>(ints.begin(), ints.end()),
        std::vector<double>(floats.begin(), floats.end()), op.first_result, op.num_results, op.op.none_results));
  }
  return rows;
}

nb::list exported_values(const StreamSegment& self) {
  nb::list rows;
  for (const StreamLayout& layout : self.program().values()) rows.append(from_layout(layout));
  return rows;
}

std::byte* address_of(const nb::object& storage, const StreamLayout& layout) {
  static PyObject* const kDataPtr = PyUnicode_InternFromString("data_ptr");
  const nb::object address = nb::steal(PyObject_CallMethodNoArgs(storage.ptr(), kDataPtr));
  if (!address.is_valid()) throw nb::python_error();
  return static_cast<std::byte*>(PyLong_AsVoidPtr(address.ptr())) +
         layout.offset * torch_objects().itemsizes[static_cast<std::size_t>(layout.dtype)];
}

// Runs the compiled form of the segment. `scalar_names`: which names are scalar inputs.
void run(const StreamSegment& self, Segment& compiled, const std::vector<std::size_t>& scalar_names) {
  std::vector<runtime::TensorArg> inputs(self.program().inputs().size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const StreamInput& input = self.program().inputs()[i];
    inputs[i].rank = input.layout.rank;
    inputs[i].data = address_of(self.storage(input.storage), input.layout);
    std::copy_n(input.layout.sizes.begin(), input.layout.rank, inputs[i].sizes.begin());
    std::copy_n(input.layout.strides.begin(), input.layout.rank, inputs[i].strides.begin());
  }
  std::vector<std::byte*> outputs;
  for (const StreamOutput& output : self.outputs()) outputs.push_back(address_of(output.storage, output.layout));
  std::vector<std::int64_t> integers;
  for (const std::size_t name : scalar_names) integers.push_back(self.names().at(name));
  compiled.run(std::move(inputs), outputs, self.named_floats(), integers);
}

void bind_segment(nb::module_& module) {
  nb::class_<StreamSegment>(module, "StreamSegment", "Recorded ops, and what storages hold in terms of their values.")
      .def(nb::init<>())
      .def(
          "read", [](StreamSegment& self, nb::handle tensor) { return self.read(tensor_of(tensor)); }, "tensor"_a,
          "The value that a tensor holds; -1: the segment must run first, -2: it cannot be recorded.")
      .def(
          "add_op",
          [](StreamSegment& self, std::int64_t id, const std::vector<int>& refs, const std::vector<std::int64_t>& ints,
             const std::vector<double>& floats, nb::list results) {
            return self.add_op(to_template(id, results), refs, ints, floats, to_layouts(results));
          },
          "template"_a, "refs"_a, "ints"_a, "floats"_a, "results"_a, "Returns the first of its results.")
      .def(
          "add_own", [](StreamSegment& self, nb::handle tensor, int value) { self.add_own(tensor_of(tensor), value); },
          "tensor"_a, "value"_a)
      .def(
          "can_write", [](StreamSegment& self, nb::handle tensor) { return self.can_write(tensor_of(tensor)); },
          "tensor"_a)
      .def(
          "write", [](StreamSegment& self, nb::handle tensor, int value) { self.write(tensor_of(tensor), value); },
          "tensor"_a, "value"_a)
      .def(
          "add_view",
          [](StreamSegment& self, std::int64_t storage, std::int64_t id, const std::vector<std::int64_t>& ints,
             nb::list results, std::size_t index, nb::handle view, nb::handle parent) {
            self.add_view(storage, {to_template(id, results), ints, to_layouts(results), index, to_layout(view),
                                    to_layout(parent)});
          },
          "storage"_a, "template"_a, "ints"_a, "results"_a, "index"_a, "view"_a, "parent"_a)
      .def("is_involved", &StreamSegment::is_involved, "storage"_a)
      .def("is_pending", &StreamSegment::is_pending, "storage"_a)
      .def_prop_ro("is_empty", &StreamSegment::is_empty)
      .def("__len__", &StreamSegment::num_ops)
      .def("close", &StreamSegment::close, "Ends recording: finds what is live.")
      .def(
          "key",
          [](StreamSegment& self, bool names_sizes, bool names_floats, std::int64_t default_dtype) {
            const std::string key = self.key(names_sizes, names_floats, default_dtype);
            return nb::bytes(key.data(), key.size());
          },
          "names_sizes"_a, "names_floats"_a, "default_dtype"_a)
      .def_prop_ro("names", &StreamSegment::names)
      .def_prop_ro("named_floats", &StreamSegment::named_floats)
      .def_prop_ro("num_own", &StreamSegment::num_own)
      .def_prop_ro("num_outputs", [](const StreamSegment& self) { return self.outputs().size(); })
      .def_prop_ro(
          "writes", [](const StreamSegment& self) { return self.program().writes(); },
          "(input number, value) of what goes to memory from outside.")
      .def_prop_ro("outputs",
                   [](const StreamSegment& self) {
                     nb::list rows;
                     for (const StreamOutput& row : self.outputs())
                       rows.append(nb::make_tuple(row.storage, row.value, from_layout(row.layout)));
                     return rows;
                   })
      .def_prop_ro("inputs",
                   [](const StreamSegment& self) {
                     nb::list rows;
                     for (const StreamInput& row : self.program().inputs())
                       rows.append(nb::make_tuple(self.storage(row.storage), row.value, from_layout(row.layout)));
                     return rows;
                   })
      .def_prop_ro("ops", &exported_ops, "(template, refs, ints, floats, first result, results, which are None)")
      .def_prop_ro("values", &exported_values)
      .def("run", &run, "compiled"_a, "scalar_names"_a);
}

StreamSignature to_signature(std::int64_t id, const std::vector<std::int64_t>& ints, nb::list results, bool single,
                             bool as_list) {
  StreamSignature signature{to_template(id, results), ints, to_layouts(results), {}, {}, single, as_list};
  for (nb::handle row : results) {
    signature.sizes.push_back(row.is_none() ? nb::object() : nb::object(row[1]));
    signature.strides.push_back(row.is_none() ? nb::object() : nb::object(row[2]));
  }
  return signature;
}

void setup(nb::dict given, nb::list dtypes, const std::vector<std::int64_t>& itemsizes,
           const std::vector<std::int64_t>& is_float, nb::list constants) {
  TorchObjects& torch = torch_objects();
  const auto get = [&](const char* name) { return nb::object(given[name]); };
  torch.tensor_type = get("tensor_type");
  torch.parameter_type = get("parameter_type");
  torch.device_type = get("device_type");
  torch.cpu = get("cpu");
  torch.untyped_storage = get("untyped_storage");
  torch.stride = get("stride");
  torch.storage_offset = get("storage_offset");
  torch.is_neg = get("is_neg");
  torch.empty_strided = get("empty_strided");
  torch.default_dtype = get("default_dtype");
  torch.new_with_weak_ptr = get("new_with_weak_ptr");
  torch.free_weak_ref = get("free_weak_ref");
  torch.movement = get("movement");
  for (nb::handle dtype : dtypes) torch.dtypes.push_back(nb::borrow(dtype));
  torch.itemsizes = itemsizes;
  torch.is_float = is_float;
  for (nb::handle constant : constants) torch.constants.push_back(nb::borrow(constant));
}

}  // namespace

void bind_streams(nb::module_& module) {
  module.def("setup_streams", &setup, "objects"_a, "dtypes"_a, "itemsizes"_a, "is_float"_a, "constants"_a);
  module.def(
      "set_stream_op",
      [](nb::handle func, int kind, bool names_floats, std::vector<int> written, nb::list out_names) {
        StreamOp op{0, static_cast<StreamKind>(kind), names_floats, std::move(written), {}};
        for (nb::handle name : out_names) op.out_names.push_back(nb::borrow(name));
        set_stream_op(func, std::move(op));
      },
      "func"_a, "kind"_a, "names_floats"_a, "written"_a, "out_names"_a);
  bind_segment(module);
  nb::class_<Stream>(module, "Stream", "The recorder of one thread.")
      .def(nb::init<nb::object, std::size_t>(), "slow"_a.none(), "max_ops"_a)
      .def(
          "dispatch",
          [](Stream& self, nb::handle, nb::handle func, nb::handle types, nb::tuple args, nb::handle kwargs) {
            return self.dispatch(func, types, args, kwargs);
          },
          "mode"_a, "func"_a, "types"_a, "args"_a, "kwargs"_a = nb::none(), "What torch calls for each op.")
      .def(
          "learn",
          [](Stream& self, nb::handle func, nb::tuple args, nb::handle kwargs, std::int64_t id,
             const std::vector<std::int64_t>& ints, nb::list results, bool single,
             bool as_list) { self.learn(func, args, kwargs, to_signature(id, ints, results, single, as_list)); },
          "func"_a, "args"_a, "kwargs"_a, "template"_a, "ints"_a, "results"_a, "single"_a, "as_list"_a)
      .def("take", &Stream::take, "The recorded segment; a new one begins.")
      .def_prop_ro("segment", &Stream::segment)
      .def_prop_rw("busy", &Stream::is_busy, &Stream::set_busy, "Another call runs what was recorded.")
      .def("count_recorded", &Stream::count_recorded)
      .def_prop_ro("num_recorded", &Stream::num_recorded);
}

}  // namespace tilewright::python
