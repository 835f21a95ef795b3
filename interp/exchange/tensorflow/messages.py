"""The messages of protobuf in which TensorFlow writes graphs, SavedModels and checkpoints, as data.

`FIELDS` has the fields of TensorFlow's .proto files that are read; others are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

FIELDS = """
message GraphDef { repeated NodeDef node = 1; FunctionDefLibrary library = 2; }
message NodeDef { string name = 1; string op = 2; repeated string input = 3; map AttrValue attr = 5; }
message AttrValue {
  ListValue list = 1; bytes s = 2; int i = 3; float f = 4; bool b = 5; DataType type = 6; TensorShapeProto shape = 7;
  TensorProto tensor = 8; string placeholder = 9; NameAttrList func = 10;
}
message ListValue {
  repeated bytes s = 2; repeated int i = 3; repeated float f = 4; repeated bool b = 5; repeated DataType type = 6;
  repeated TensorShapeProto shape = 7; repeated TensorProto tensor = 8; repeated NameAttrList func = 9;
}
message NameAttrList { string name = 1; }
message TensorShapeProto { repeated Dim dim = 2; bool unknown_rank = 3; }
message Dim { int size = 1; }
message TensorProto {
  DataType dtype = 1; TensorShapeProto tensor_shape = 2; bytes tensor_content = 4; repeated float float_val = 5;
  repeated double double_val = 6; repeated int int_val = 7; repeated bytes string_val = 8; repeated int int64_val = 10;
  repeated bool bool_val = 11; repeated int half_val = 13; repeated uint uint32_val = 16; repeated uint uint64_val = 17;
}
message FunctionDefLibrary { repeated FunctionDef function = 1; }
message FunctionDef {
  OpDef signature = 1; repeated NodeDef node_def = 3; map string ret = 4; map string control_ret = 6;
}
message OpDef { string name = 1; repeated ArgDef input_arg = 2; repeated ArgDef output_arg = 3; }
message ArgDef { string name = 1; DataType type = 3; string type_attr = 4; string number_attr = 5; }
message SavedModel { repeated MetaGraphDef meta_graphs = 2; }
message MetaGraphDef {
  MetaInfoDef meta_info_def = 1; GraphDef graph_def = 2; SaverDef saver_def = 3; map SignatureDef signature_def = 5;
}
message MetaInfoDef { repeated string tags = 4; }
message SaverDef { string restore_op_name = 3; }
message SignatureDef { map TensorInfo inputs = 1; map TensorInfo outputs = 2; }
message TensorInfo { string name = 1; DataType dtype = 2; TensorShapeProto tensor_shape = 3; }
message BundleHeaderProto { int num_shards = 1; int endianness = 2; }
message BundleEntryProto {
  DataType dtype = 1; TensorShapeProto shape = 2; int shard_id = 3; int offset = 4; int size = 5; fixed32 crc32c = 6;
}
"""
DATA_TYPES = {
    1: "FLOAT", 2: "DOUBLE", 3: "INT32", 4: "UINT8", 5: "INT16", 6: "INT8", 7: "STRING", 8: "COMPLEX64", 9: "INT64",
    10: "BOOL", 11: "QINT8", 12: "QUINT8", 13: "QINT32", 14: "BFLOAT16", 15: "QINT16", 16: "QUINT16", 17: "UINT16",
    18: "COMPLEX128", 19: "HALF", 20: "RESOURCE", 21: "VARIANT", 22: "UINT32", 23: "UINT64",
}  # fmt: skip
"""The names of TensorFlow's dtypes, after DT_, by number. A reference to an array of a dtype is 100 more."""
SCALARS: Mapping[str, Any] = {
    "int": 0, "uint": 0, "DataType": 0, "bool": False, "float": 0.0, "double": 0.0, "fixed32": 0, "string": "",
    "bytes": b"",
}  # fmt: skip
"""The kinds of fields other than messages, with their defaults."""


class MessageField(NamedTuple):
    """A field of a message: its kind is one of SCALARS or the name of a message. The keys of maps are strings."""

    name: str
    number: int
    kind: str
    is_repeated: bool = False
    is_map: bool = False


class Schema(NamedTuple):
    """The fields of a message."""

    name: str
    fields: Mapping[str, MessageField]
    by_number: Mapping[int, MessageField]


class Message:
    """A message. A field that it lacks has its default."""

    __slots__ = ("schema", "values")

    def __init__(self, name: str) -> None:
        self.schema = SCHEMAS[name]
        self.values: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name in self.values:
            return self.values[name]
        field = self.schema.fields.get(name)
        if field is None:
            raise AttributeError(name)
        if field.is_map:
            return {}
        if field.is_repeated:
            return []
        return SCALARS[field.kind] if field.kind in SCALARS else Message(field.kind)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def add(self, field: MessageField, value: Any) -> None:
        """Set a field, or append to a repeated one."""
        if field.is_repeated:
            self.values.setdefault(field.name, []).append(value)
        else:
            self.values[field.name] = value


def read_schemas(text: str) -> dict[str, Schema]:
    """The schemas of the messages in a text like a .proto file, by name."""
    schemas = {}
    for name, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.DOTALL):
        fields = [
            MessageField(field, int(number), kind, label == "repeated ", label == "map ")
            for label, kind, field, number in re.findall(r"(repeated |map |)(\w+) (\w+) = (\d+);", body)
        ]
        schemas[name] = Schema(name, {field.name: field for field in fields}, {field.number: field for field in fields})
    return schemas


SCHEMAS = read_schemas(FIELDS)
