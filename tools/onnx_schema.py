"""Writes what the ONNX frontend takes from the installed `onnx` package, when the library is built.

    onnx_schema.py messages FOLDER    messages.h and messages.cc: a struct and a reader for each message of the schema;
                                      message_writers.h and .cc: a writer for each
    onnx_schema.py functions FOLDER   functions.cc: the function bodies of standard operators, as one serialised model
    onnx_schema.py opsets FOLDER      opsets.cc: the opset in which each standard operator appeared, the IR of each opset

The structs are views of the bytes they were read from; tilewright/frontends/onnx/schema/wire.h has the wire format.
"""

import sys
from pathlib import Path

import onnx
from onnx import onnx_ml_pb2

FIELD = type(onnx_ml_pb2.ModelProto.DESCRIPTOR.fields[0])
SCALARS = {
    FIELD.TYPE_INT32: "std::int32_t",
    FIELD.TYPE_INT64: "std::int64_t",
    FIELD.TYPE_UINT64: "std::uint64_t",
    FIELD.TYPE_ENUM: "std::int32_t",
    FIELD.TYPE_FLOAT: "float",
    FIELD.TYPE_DOUBLE: "double",
    FIELD.TYPE_STRING: "std::string_view",
    FIELD.TYPE_BYTES: "std::string_view",
}
KEYWORDS = {"float", "double", "int", "default", "register", "union", "namespace", "operator", "public"}
NOTE = f"// Written by tools/onnx_schema.py from the schema of onnx {onnx.__version__}.\n"


def messages(scope=onnx_ml_pb2.DESCRIPTOR.message_types_by_name):
    for descriptor in scope.values():
        yield from messages(descriptor.nested_types_by_name)
        yield descriptor


def enums():
    yield from onnx_ml_pb2.DESCRIPTOR.enum_types_by_name.values()
    for message in messages():
        yield from message.enum_types


def struct_name(descriptor):
    outer = descriptor.containing_type
    return struct_name(outer) + descriptor.name if outer else descriptor.name


def member_name(field):
    return field.name + "_" if field.name in KEYWORDS else field.name


def is_repeated(field):
    if hasattr(field, "is_repeated"):
        return field.is_repeated
    return field.label == FIELD.LABEL_REPEATED


def member_type(field):
    if field.type == FIELD.TYPE_MESSAGE:
        name = struct_name(field.message_type)
        return f"std::vector<{name}>" if is_repeated(field) else f"std::unique_ptr<{name}>"
    scalar = SCALARS[field.type]
    return f"std::vector<{scalar}>" if is_repeated(field) else f"std::optional<{scalar}>"


def write_header():
    out = [NOTE, "#pragma once\n"]
    out += [f"#include <{name}>" for name in ("cstdint", "memory", "optional", "string_view", "vector")]
    out.append('\n#include "tilewright/frontends/onnx/schema/wire.h"\n\nnamespace tilewright::onnx::schema {\n')
    for enum in enums():
        prefix = struct_name(enum.containing_type) if enum.containing_type else ""
        out.append(f"enum class {prefix}{enum.name} : std::int32_t {{")
        out += [f"  k{value.name} = {value.number}," for value in enum.values]
        out.append("};\n")
    out += [f"struct {struct_name(message)};" for message in messages()]
    for message in messages():
        out.append(f"\nstruct {struct_name(message)} {{")
        out += [f"  {member_type(field)} {member_name(field)};" for field in message.fields]
        out.append("};")
    out.append("")
    out += [f"void read(Wire& wire, {struct_name(message)}& out);" for message in messages()]
    out.append('std::string_view name_of_elem_type(std::int64_t elem_type);  // "FLOAT16"')
    return "\n".join([*out, "\n}  // namespace tilewright::onnx::schema\n"])


def write_readers():
    out = [NOTE, '#include "messages.h"\n\n#include "tilewright/frontends/onnx/schema/wire_fields.h"\n']
    out.append("namespace tilewright::onnx::schema {")
    for message in messages():
        out.append(f"\nvoid read(Wire& wire, {struct_name(message)}& out) {{")
        out.append("  while (wire.next_field()) {\n    switch (wire.field()) {")
        for field in message.fields:
            out.append(f"      case {field.number}: read_field(wire, out.{member_name(field)}); break;")
        out.append("      default: wire.skip(); break;\n    }\n  }\n}")
    out.append("\nstd::string_view name_of_elem_type(std::int64_t elem_type) {\n  switch (elem_type) {")
    for value in onnx_ml_pb2.TensorProto.DataType.DESCRIPTOR.values:
        out.append(f'    case {value.number}: return "{value.name}";')
    out.append('    default: return "of an unknown number";\n  }\n}')
    return "\n".join([*out, "\n}  // namespace tilewright::onnx::schema\n"])


def write_writers_header():
    out = [NOTE, '#pragma once\n\n#include "messages.h"\n#include "tilewright/frontends/onnx/schema/wire_writer.h"\n']
    out.append("namespace tilewright::onnx::schema {\n")
    out += [f"void write(WireWriter& wire, const {struct_name(message)}& in);" for message in messages()]
    return "\n".join([*out, "\n}  // namespace tilewright::onnx::schema\n"])


def write_writers():
    """Fields backwards: the writer goes from the end to the beginning."""
    out = [NOTE, '#include "message_writers.h"\n\n#include "tilewright/frontends/onnx/schema/wire_writer_fields.h"\n']
    out.append("namespace tilewright::onnx::schema {")
    for message in messages():
        out.append(f"\nvoid write(WireWriter& wire, const {struct_name(message)}& in) {{")
        fields = sorted(message.fields, key=lambda field: -field.number)
        out += [f"  write_field(wire, {field.number}, in.{member_name(field)});" for field in fields]
        out.append("}")
    return "\n".join([*out, "\n}  // namespace tilewright::onnx::schema\n"])


def write_opsets():
    first = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain and schema.support_level == onnx.defs.OpSchema.SupportType.COMMON:
            first[schema.name] = min(first.get(schema.name, schema.since_version), schema.since_version)
    ir_versions = {}
    for _, ir_version, opset, *_ in onnx.helper.VERSION_TABLE:
        ir_versions.setdefault(opset, ir_version)
    out = [NOTE, '#include "tilewright/frontends/onnx/export/opsets.h"\n\nnamespace tilewright::onnx {\nnamespace {\n']
    out.append("constexpr OperatorAge kAges[] = {")
    out += [f'    {{"{name}", {first[name]}}},' for name in sorted(first)]
    out.append("};\n\nconstexpr std::int64_t kIrVersions[] = {")
    out.append(f"    {', '.join(str(ir_versions.get(opset, 3)) for opset in range(max(ir_versions) + 1))}")
    out.append("};\n\n}  // namespace\n")
    out.append("std::span<const OperatorAge> operator_ages() {\n  return kAges;\n}\n")
    out.append("std::span<const std::int64_t> ir_versions() {\n  return kIrVersions;\n}")
    return "\n".join([*out, "\n}  // namespace tilewright::onnx\n"])


def function_bodies():
    """A model whose functions are the bodies of standard operators; `overload` holds the version each is since."""
    model = onnx.ModelProto()
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, s.since_version)):
        if schema.has_function:
            body = model.functions.add()
            body.CopyFrom(schema.function_body)
            body.name, body.domain, body.overload = schema.name, schema.domain, str(schema.since_version)
            body.ClearField("doc_string")
            set_defaults(body, schema)
    return model.SerializeToString()


def set_defaults(body, schema):
    """Attributes that a call may leave out get the default of the operator."""
    given = {attribute.name for attribute in body.attribute_proto}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            body.attribute_proto.add().CopyFrom(attribute.default_value)


def write_functions():
    content = function_bodies()
    rows = [", ".join(str(byte) for byte in content[at : at + 32]) for at in range(0, len(content), 32)]
    return "\n".join(
        [
            NOTE,
            '#include "tilewright/frontends/onnx/functions.h"\n\nnamespace tilewright::onnx {\nnamespace {\n',
            "constexpr unsigned char kBytes[] = {",
            *(f"    {row}," for row in rows),
            "};\n\n}  // namespace\n",
            "std::string_view operator_function_bytes() {",
            "  return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes)};",
            "}\n\n}  // namespace tilewright::onnx\n",
        ]
    )


def main():
    what, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if what == "messages":
        pages = {"messages.h": write_header(), "messages.cc": write_readers()}
        pages |= {"message_writers.h": write_writers_header(), "message_writers.cc": write_writers()}
    elif what == "opsets":
        pages = {"opsets.cc": write_opsets()}
    else:
        pages = {"functions.cc": write_functions()}
    for name, text in pages.items():
        (folder / name).write_text(text)


main()
