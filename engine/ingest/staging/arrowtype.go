package staging

import "github.com/apache/arrow-go/v18/arrow"

var arrowKinds = map[arrow.Type]kind{
	arrow.NULL: KindNull, arrow.BOOL: KindBoolean,
	arrow.INT8: kindByte, arrow.INT16: kindShort, arrow.INT32: kindInteger, arrow.INT64: kindLong,
	arrow.UINT8: kindUByte, arrow.UINT16: kindUShort, arrow.UINT32: kindUInteger, arrow.UINT64: kindULong,
	arrow.FLOAT16: kindHalf, arrow.FLOAT32: KindFloat, arrow.FLOAT64: KindDouble,
	arrow.DECIMAL32: kindDecimal, arrow.DECIMAL64: kindDecimal, arrow.DECIMAL128: kindDecimal, arrow.DECIMAL256: kindDecimal,
	arrow.STRING: KindString, arrow.LARGE_STRING: KindString, arrow.STRING_VIEW: KindString,
	arrow.BINARY: kindBinary, arrow.LARGE_BINARY: kindBinary, arrow.BINARY_VIEW: kindBinary, arrow.FIXED_SIZE_BINARY: kindBinary,
	arrow.DATE32: KindDate, arrow.DATE64: kindDateMillis,
}

// OfArrow is the type of an Arrow column, apart from how it is laid out.
func OfArrow(t arrow.DataType) *DataType {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return OfArrow(t.ValueType)
	case *arrow.RunEndEncodedType:
		return OfArrow(t.Encoded())
	case arrow.ExtensionType:
		return OfArrow(t.StorageType())
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return &DataType{Kind: KindTimestamp}
		}
		return &DataType{Kind: KindTimestampNTZ}
	case *arrow.MapType:
		return &DataType{Kind: KindMap, fields: []member{{"key", OfArrow(t.KeyType())}, {"value", OfArrow(t.ItemType())}}}
	case *arrow.StructType:
		out := &DataType{Kind: KindStruct}
		for _, f := range t.Fields() {
			out.fields = append(out.fields, member{f.Name, OfArrow(f.Type)})
		}
		return out
	case arrow.ListLikeType:
		return &DataType{Kind: KindArray, fields: []member{{"element", OfArrow(t.Elem())}}}
	}
	if k, ok := arrowKinds[t.ID()]; ok {
		return &DataType{Kind: k}
	}
	return &DataType{Kind: kindOther}
}
