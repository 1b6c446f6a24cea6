package staging

// Castable says why a column of a file or stream cannot become a table's: "" for
// one whose every value is kept or refused by itself.
func Castable(from, to *DataType) string {
	switch {
	case from.Kind == KindNull:
		return ""
	case isList(from.Kind) && to.Kind == KindArray:
		return Castable(from.fields[0].typ, to.fields[0].typ)
	case from.Kind == KindMap && to.Kind == KindMap:
		if reason := Castable(from.fields[0].typ, to.fields[0].typ); reason != "" {
			return reason
		}
		return Castable(from.fields[1].typ, to.fields[1].typ)
	case from.Kind == KindStruct && to.Kind == KindStruct:
		_, reason := MatchMembers(from, to)
		return reason
	case castableScalar(from.Kind, to.Kind):
		return ""
	}
	return "the type does not become " + to.SQL.String() + " without loss"
}

// MatchMembers finds for each member of from the one of to.
func MatchMembers(from, to *DataType) ([]int, string) {
	find := NewNames(len(to.fields), func(i int) string { return to.fields[i].name })
	places, taken := make([]int, len(from.fields)), make([]bool, len(to.fields))
	for i, f := range from.fields {
		place := find.Find([]byte(f.name))
		switch {
		case place < 0:
			return nil, UnknownMember + " " + ShownName([]byte(f.name))
		case taken[place]:
			return nil, "member " + ShownName([]byte(f.name)) + " " + NamedTwice
		}
		taken[place] = true
		places[i] = place
		if reason := Castable(f.typ, to.fields[place].typ); reason != "" {
			return nil, reason
		}
	}
	return places, ""
}

func castableScalar(from, to kind) bool {
	switch to {
	case kindByte, kindShort, kindInteger, kindLong:
		return isInteger(from)
	case kindDecimal:
		return isInteger(from) || from == kindDecimal
	case KindFloat, KindDouble:
		return isInteger(from) || from == kindHalf || from == KindFloat || from == KindDouble
	case KindString:
		return from == KindString || from == kindEnum || from == KindJSON
	case KindDate:
		return from == KindDate || from == kindDateMillis
	case KindTimestampNTZ:
		return from == KindTimestampNTZ || from == kindTimestampS || from == kindTimestampMS || from == kindTimestampNS
	case KindBoolean, kindBinary, KindTimestamp:
		return from == to
	}
	return false
}

func isInteger(k kind) bool {
	switch k {
	case kindByte, kindShort, kindInteger, kindLong, kindUByte, kindUShort, kindUInteger, kindULong, kindHuge, kindUHuge:
		return true
	}
	return false
}

func isList(k kind) bool { return k == KindArray || k == kindFixedArray }
