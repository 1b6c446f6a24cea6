package policy

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cedar-policy/cedar-go/types"
)

// Values travel as Cedar values: Long, Decimal, String, Boolean, Datetime. What
// none of them can hold exactly is not a value, so definition, text and SQL
// never round differently.

var plainNumber = regexp.MustCompile(`^-?[0-9]{1,30}(\.[0-9]{1,30})?$`)

// parseLong parses an integer, or a decimal without a fraction.
func parseLong(s string) (types.Long, bool) {
	if !plainNumber.MatchString(s) {
		return 0, false
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if strings.Trim(fraction, "0") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	return types.Long(n), err == nil
}

// parseDecimal parses a number with at most four significant fractional digits.
func parseDecimal(s string) (types.Decimal, bool) {
	if !plainNumber.MatchString(s) {
		return types.Decimal{}, false
	}
	whole, fraction, _ := strings.Cut(s, ".")
	fraction = strings.TrimRight(fraction, "0")
	if fraction == "" {
		fraction = "0"
	}
	d, err := types.ParseDecimal(whole + "." + fraction)
	return d, err == nil
}

// canonicalNumber converts a JSON number to plain digits: 1e3 is 1000, 1.50 is 1.5. It fails if
// neither Cedar's integers nor its decimals can hold the number.
func canonicalNumber(s string) (json.Number, bool) {
	if len(s) > 64 {
		return "", false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, err := strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		if err != nil || exp < -30 || exp > 30 {
			return "", false
		}
		s = shift(s[:i], exp)
	}
	if n, ok := parseLong(s); ok {
		return json.Number(strconv.FormatInt(int64(n), 10)), true
	}
	if d, ok := parseDecimal(s); ok {
		return json.Number(strings.TrimSuffix(d.String(), ".0")), true
	}
	return "", false
}

// shift moves the decimal point of a plain number.
func shift(s string, by int) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if by >= 0 {
		fraction += strings.Repeat("0", by)
		whole, fraction = whole+fraction[:by], fraction[by:]
	} else {
		whole = strings.Repeat("0", -by) + whole
		whole, fraction = whole[:len(whole)+by], whole[len(whole)+by:]+fraction
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return sign + whole
	}
	return sign + whole + "." + fraction
}

// fromJSON converts a scalar of a definition to a Cedar value.
func fromJSON(v any) (types.Value, bool) {
	switch v := v.(type) {
	case bool:
		return types.Boolean(v), true
	case string:
		return types.String(v), true
	case json.Number:
		if n, ok := parseLong(v.String()); ok {
			return n, true
		}
		d, ok := parseDecimal(v.String())
		return d, ok
	}
	return nil, false
}

// JSONValue converts a Cedar value to a value of a definition.
func JSONValue(v types.Value) (any, bool) {
	switch v := v.(type) {
	case types.Boolean:
		return bool(v), true
	case types.String:
		return string(v), true
	case types.Long:
		return json.Number(v.String()), true
	case types.Decimal:
		return json.Number(strings.TrimSuffix(v.String(), ".0")), true
	case types.Datetime:
		if v.Milliseconds()%millisPerDay == 0 {
			return v.Time().UTC().Format("2006-01-02"), true
		}
		return v.String(), true
	case types.Set:
		out := []any{}
		for _, item := range sortedItems(v) {
			item, ok := JSONValue(item)
			if !ok {
				return nil, false
			}
			out = append(out, item)
		}
		return out, true
	}
	return nil, false
}

// sortedItems returns the elements of a set in the order of their texts.
func sortedItems(set types.Set) []types.Value {
	items := set.Slice()
	slices.SortFunc(items, func(a, b types.Value) int { return bytes.Compare(a.MarshalCedar(), b.MarshalCedar()) })
	return items
}

// Storable reports whether SQL text can contain s.
func Storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// Coerce converts v exactly to a value of the column's type, or returns false. Like
// user attributes, strings are read in the notation of the type.
func (t ColumnType) Coerce(v types.Value) (types.Value, bool) {
	switch t.Class {
	case ClassText:
		s, ok := v.(types.String)
		return s, ok && Storable(string(s))
	case classBoolean:
		return asBoolean(v)
	case classInteger:
		n, ok := asLong(v)
		return n, ok && int64(n) >= t.min && int64(n) <= t.max
	case classDecimal:
		d, ok := asDecimal(v)
		return d, ok && t.holds(d)
	case ClassDate:
		d, ok := asDatetime(v)
		return d, ok && d.Milliseconds()%millisPerDay == 0
	case classTimestamp:
		return asDatetime(v)
	}
	return nil, false
}

// holds reports whether the decimal type has enough digits for d.
func (t ColumnType) holds(d types.Decimal) bool {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(d.String(), "-"), ".")
	return len(strings.TrimLeft(whole, "0")) <= t.precision-t.scale && len(strings.TrimRight(fraction, "0")) <= t.scale
}

func asLong(v types.Value) (types.Long, bool) {
	switch v := v.(type) {
	case types.Long:
		return v, true
	case types.Decimal:
		return parseLong(v.String())
	case types.String:
		return parseLong(string(v))
	}
	return 0, false
}

func asDecimal(v types.Value) (types.Decimal, bool) {
	switch v := v.(type) {
	case types.Long:
		d, err := types.NewDecimalFromInt(int64(v))
		return d, err == nil
	case types.Decimal:
		return v, true
	case types.String:
		return parseDecimal(string(v))
	}
	return types.Decimal{}, false
}

func asBoolean(v types.Value) (types.Boolean, bool) {
	switch v := v.(type) {
	case types.Boolean:
		return v, true
	case types.String:
		return v == "true", v == "true" || v == "false"
	}
	return false, false
}

// AsTypeOf converts a string to a value of the type that like has.
func AsTypeOf(s, like types.Value) (types.Value, bool) {
	switch like.(type) {
	case types.String:
		return s, true
	case types.Long:
		return asLong(s)
	case types.Decimal:
		return asDecimal(s)
	case types.Boolean:
		return asBoolean(s)
	case types.Datetime:
		return asDatetime(s)
	}
	return nil, false
}

const millisPerDay = 24 * 60 * 60 * 1000

// Datetimes outside these years have a different notation in SQL, and are not expected in data.
var (
	minDatetime = mustDatetime("0001-01-01")
	maxDatetime = mustDatetime("9999-12-31T23:59:59.999Z")
)

func mustDatetime(s string) types.Datetime {
	d, err := types.ParseDatetime(s)
	if err != nil {
		panic(err)
	}
	return d
}

// asDatetime parses Cedar's notation: 2024-01-31 or 2024-01-31T08:00:00[.000] with Z or an offset
// such as +0200.
func asDatetime(v types.Value) (types.Datetime, bool) {
	var d types.Datetime
	switch v := v.(type) {
	case types.Datetime:
		d = v
	case types.String:
		parsed, err := types.ParseDatetime(string(v))
		if err != nil {
			return types.Datetime{}, false
		}
		d = parsed
	default:
		return types.Datetime{}, false
	}
	ms := d.Milliseconds()
	return d, ms >= minDatetime.Milliseconds() && ms <= maxDatetime.Milliseconds()
}

// splitList parses an attribute used as a list: a JSON array of scalars, or elements separated by
// commas and optional spaces. Text that is not clearly a list, such as one with an empty element,
// is not a list.
func splitList(s string) ([]types.String, bool) {
	var out []types.String
	if trimmed := strings.TrimSpace(s); strings.HasPrefix(trimmed, "[") {
		tree, err := decodeTree([]byte(trimmed))
		items, ok := tree.([]any)
		if err != nil || !ok || len(items) > MaxListValues {
			return nil, false
		}
		for _, item := range items {
			switch v := item.(type) {
			case string:
				out = append(out, types.String(v))
			case bool:
				out = append(out, types.String(strconv.FormatBool(v)))
			case json.Number:
				n, ok := canonicalNumber(v.String())
				if !ok {
					return nil, false
				}
				out = append(out, types.String(n.String()))
			default:
				return nil, false
			}
		}
		return out, true
	}
	if strings.Count(s, ",") >= MaxListValues {
		return nil, false
	}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, false
		}
		out = append(out, types.String(part))
	}
	return out, true
}

// ListItems returns the elements of a Cedar set, or of a user attribute that is read as
// a list. It returns false for other values and for lists beyond [MaxListValues].
func ListItems(v types.Value) ([]types.Value, bool) {
	switch v := v.(type) {
	case types.Set:
		return v.Slice(), v.Len() <= MaxListValues
	case types.String:
		parts, ok := splitList(string(v))
		out := make([]types.Value, len(parts))
		for i, p := range parts {
			out[i] = p
		}
		return out, ok
	}
	return nil, false
}
