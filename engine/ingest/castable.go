package ingest

// castable says why a column of a file or stream cannot become a table's: "" for
// one whose every value is kept or refused by itself.
func castable(from, to *dataType) string {
	switch {
	case from.kind == kindNull:
		return ""
	case isList(from.kind) && to.kind == kindArray:
		return castable(from.fields[0].typ, to.fields[0].typ)
	case from.kind == kindMap && to.kind == kindMap:
		if reason := castable(from.fields[0].typ, to.fields[0].typ); reason != "" {
			return reason
		}
		return castable(from.fields[1].typ, to.fields[1].typ)
	case from.kind == kindStruct && to.kind == kindStruct:
		_, reason := matchMembers(from, to)
		return reason
	case castableScalar(from.kind, to.kind):
		return ""
	}
	return "the type does not become " + to.sql() + " without loss"
}

// matchMembers finds for each member of from the one of to.
func matchMembers(from, to *dataType) ([]int, string) {
	find := newNames(len(to.fields), func(i int) string { return to.fields[i].name })
	places, taken := make([]int, len(from.fields)), make([]bool, len(to.fields))
	for i, f := range from.fields {
		place := find.find([]byte(f.name))
		switch {
		case place < 0:
			return nil, unknownMember + " " + shownName([]byte(f.name))
		case taken[place]:
			return nil, "member " + shownName([]byte(f.name)) + " " + namedTwice
		}
		taken[place] = true
		places[i] = place
		if reason := castable(f.typ, to.fields[place].typ); reason != "" {
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
	case kindFloat, kindDouble:
		return isInteger(from) || from == kindHalf || from == kindFloat || from == kindDouble
	case kindString:
		return from == kindString || from == kindEnum || from == kindJSON
	case kindDate:
		return from == kindDate || from == kindDateMillis
	case kindTimestampNTZ:
		return from == kindTimestampNTZ || from == kindTimestampS || from == kindTimestampMS || from == kindTimestampNS
	case kindBoolean, kindBinary, kindTimestamp:
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

func isList(k kind) bool { return k == kindArray || k == kindFixedArray }
