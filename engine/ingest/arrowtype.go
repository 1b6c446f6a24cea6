package ingest

import "github.com/apache/arrow-go/v18/arrow"

var arrowKinds = map[arrow.Type]kind{
	arrow.NULL: kindNull, arrow.BOOL: kindBoolean,
	arrow.INT8: kindByte, arrow.INT16: kindShort, arrow.INT32: kindInteger, arrow.INT64: kindLong,
	arrow.UINT8: kindUByte, arrow.UINT16: kindUShort, arrow.UINT32: kindUInteger, arrow.UINT64: kindULong,
	arrow.FLOAT16: kindHalf, arrow.FLOAT32: kindFloat, arrow.FLOAT64: kindDouble,
	arrow.DECIMAL32: kindDecimal, arrow.DECIMAL64: kindDecimal, arrow.DECIMAL128: kindDecimal, arrow.DECIMAL256: kindDecimal,
	arrow.STRING: kindString, arrow.LARGE_STRING: kindString, arrow.STRING_VIEW: kindString,
	arrow.BINARY: kindBinary, arrow.LARGE_BINARY: kindBinary, arrow.BINARY_VIEW: kindBinary, arrow.FIXED_SIZE_BINARY: kindBinary,
	arrow.DATE32: kindDate, arrow.DATE64: kindDateMillis,
}

// ofArrow is the type of an Arrow column, apart from how it is laid out.
func ofArrow(t arrow.DataType) *dataType {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return ofArrow(t.ValueType)
	case *arrow.RunEndEncodedType:
		return ofArrow(t.Encoded())
	case arrow.ExtensionType:
		return ofArrow(t.StorageType())
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return &dataType{kind: kindTimestamp}
		}
		return &dataType{kind: kindTimestampNTZ}
	case *arrow.MapType:
		return &dataType{kind: kindMap, fields: []member{{"key", ofArrow(t.KeyType())}, {"value", ofArrow(t.ItemType())}}}
	case *arrow.StructType:
		out := &dataType{kind: kindStruct}
		for _, f := range t.Fields() {
			out.fields = append(out.fields, member{f.Name, ofArrow(f.Type)})
		}
		return out
	case arrow.ListLikeType:
		return &dataType{kind: kindArray, fields: []member{{"element", ofArrow(t.Elem())}}}
	}
	if k, ok := arrowKinds[t.ID()]; ok {
		return &dataType{kind: k}
	}
	return &dataType{kind: kindOther}
}
