package arrowbody

import (
	"errors"
	"math"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// copier appends one value of an array to cells, or NULL with a problem. It panics at a value
// that contradicts the array's metadata: see guarded.
type copier func(i int) error

var errOutside = errors.New("a value lies outside of its array")

// bind returns a copier of an array whose type is castable.
func (a *decoder) bind(c *staging.Cells, values arrow.Array) copier {
	value := a.bindValue(c, values)
	if values.NullN() == 0 {
		return value
	}
	return func(i int) error {
		if values.IsNull(i) {
			c.Null()
			return nil
		}
		return value(i)
	}
}

func (a *decoder) bindValue(c *staging.Cells, values arrow.Array) copier {
	switch v := values.(type) {
	case *array.Null:
		return func(int) error { c.Null(); return nil }
	case *array.Dictionary:
		return a.indirect(c, v.Dictionary(), v.GetValueIndex)
	case *array.RunEndEncoded:
		checkRunEnds(v)
		return a.indirect(c, v.Values(), v.GetPhysicalIndex)
	case array.ExtensionArray:
		return a.bind(c, v.Storage())
	case *array.Map:
		return a.bindMap(c, v)
	case *array.Struct:
		return a.bindStruct(c, v)
	case array.ListLike:
		return a.bindList(c, v)
	}
	take := a.bindScalar(c, values)
	lossy := "the value does not become " + c.Typ.SQL.String() + " without loss"
	return func(i int) error {
		message, err := take(i)
		if err != nil {
			return err
		}
		if message == lossyValue {
			message = lossy
		}
		if message != "" {
			a.Problem(c.Path, message)
			c.Null()
		}
		return nil
	}
}

// checkRunEnds panics if the runs of an array do not follow each other up to its end: the search
// for the run of a row would find any.
func checkRunEnds(v *array.RunEndEncoded) {
	ends, last := v.RunEndsArr(), int64(0)
	for i := range ends.Len() {
		var end int64
		switch e := ends.(type) {
		case *array.Int16:
			end = int64(e.Value(i))
		case *array.Int32:
			end = int64(e.Value(i))
		case *array.Int64:
			end = e.Value(i)
		}
		if end <= last || ends.IsNull(i) {
			panic(errOutside)
		}
		last = end
	}
	if last < int64(v.Offset()+v.Len()) {
		panic(errOutside)
	}
}

// indirect returns a copier of values in another array.
func (a *decoder) indirect(c *staging.Cells, values arrow.Array, index func(int) int) copier {
	value := a.bind(c, values)
	return func(i int) error {
		at := index(i)
		if at < 0 || at >= values.Len() {
			panic(errOutside)
		}
		return value(at)
	}
}

// span returns the place of a list's elements.
func span(values arrow.Array, start, end int64) (int, int) {
	if start < 0 || end < start || end > int64(values.Len()) {
		panic(errOutside)
	}
	return int(start), int(end)
}

func (a *decoder) bindList(c *staging.Cells, list array.ListLike) copier {
	element := a.bind(c.Parts[0], list.ListValues())
	return func(i int) error {
		start, end := list.ValueOffsets(i)
		from, to := span(list.ListValues(), start, end)
		if err := a.Grow(c.Parts[0].Width * int64(to-from)); err != nil {
			return err
		}
		c.List()
		for at := from; at < to; at++ {
			if err := element(at); err != nil {
				return err
			}
		}
		return nil
	}
}

func (a *decoder) bindMap(c *staging.Cells, entries *array.Map) copier {
	keys, values := c.Parts[0], c.Parts[1]
	key, value := a.bind(keys, entries.Keys()), a.bind(values, entries.Items())
	return func(i int) error {
		start, end := entries.ValueOffsets(i)
		from, to := span(entries.ListValues(), start, end)
		if err := a.Grow((keys.Width + values.Width) * int64(to-from)); err != nil {
			return err
		}
		c.Entries()
		for at := from; at < to; at++ {
			told := a.ProblemCount()
			if err := key(at); err != nil {
				return err
			}
			if told == a.ProblemCount() && keys.LastIsNull() {
				a.Problem(keys.Path, staging.NullKey)
			}
			if err := value(at); err != nil {
				return err
			}
		}
		a.Distinct(keys)
		return nil
	}
}

func (a *decoder) bindStruct(c *staging.Cells, v *array.Struct) copier {
	places, _ := staging.MatchMembers(staging.OfArrow(v.DataType()), c.Typ)
	copies := make([]copier, len(c.Parts))
	for i, place := range places {
		copies[place] = a.bind(c.Parts[place], v.Field(i))
	}
	return func(i int) error {
		c.Structure()
		for place, part := range c.Parts {
			if copies[place] == nil {
				part.Null()
			} else if err := copies[place](i); err != nil {
				return err
			}
		}
		return nil
	}
}

// lossyValue stands for the message of a value that would change.
const lossyValue = "lossy"

// scalarCopier appends one value. If it returns a message, nothing is appended.
type scalarCopier func(i int) (message string, err error)

// checked returns a scalarCopier of values that fit or not.
func checked(take func(i int) bool) scalarCopier {
	return func(i int) (string, error) {
		if !take(i) {
			return lossyValue, nil
		}
		return "", nil
	}
}

func (a *decoder) bindScalar(c *staging.Cells, values arrow.Array) scalarCopier {
	switch v := values.(type) {
	case *array.Boolean:
		return checked(func(i int) bool { c.Boolean(v.Value(i)); return true })
	case *array.Date32:
		return func(i int) (string, error) { return appendDay(c, int64(v.Value(i))), nil }
	case *array.Date64:
		return func(i int) (string, error) {
			const day = 24 * 60 * 60 * 1000
			if int64(v.Value(i))%day != 0 {
				return lossyValue, nil
			}
			return appendDay(c, int64(v.Value(i))/day), nil
		}
	case *array.Timestamp:
		unit := v.DataType().(*arrow.TimestampType).Unit
		return func(i int) (string, error) {
			micros, ok := inMicros(int64(v.Value(i)), unit)
			switch {
			case !ok:
				return lossyValue, nil
			case !staging.InstantFits(micros):
				return staging.OutsideCalendar, nil
			}
			c.Timestamp(micros)
			return "", nil
		}
	}
	if text := bytesOf(values); text != nil {
		return func(i int) (string, error) {
			v := text(i)
			if err := a.Grow(int64(len(v))); err != nil {
				return "", err
			}
			if c.Typ.Kind == staging.KindString {
				return c.Text(v), nil
			}
			c.Binary(v)
			return "", nil
		}
	}
	return checked(bindNumber(c, values))
}

// appendDay appends a day of the years 0001 to 9999.
func appendDay(c *staging.Cells, days int64) (message string) {
	if !staging.DayFits(days) {
		return staging.OutsideCalendar
	}
	c.Date(int32(days))
	return ""
}

// inMicros converts a timestamp to microseconds, unless that would change its value.
func inMicros(v int64, unit arrow.TimeUnit) (int64, bool) {
	factor := int64(1)
	switch unit {
	case arrow.Nanosecond:
		return v / 1000, v%1000 == 0
	case arrow.Second:
		factor = 1_000_000
	case arrow.Millisecond:
		factor = 1000
	}
	return v * factor, v <= math.MaxInt64/factor && v >= math.MinInt64/factor
}

// bytesOf returns a reader of texts and binary values of any layout.
func bytesOf(values arrow.Array) func(i int) []byte {
	switch v := values.(type) {
	case *array.String:
		return func(i int) []byte { return bytesIn(v.Value(i)) }
	case *array.LargeString:
		return func(i int) []byte { return bytesIn(v.Value(i)) }
	case *array.StringView:
		return func(i int) []byte { return bytesIn(v.Value(i)) }
	case *array.Binary:
		return v.Value
	case *array.LargeBinary:
		return v.Value
	case *array.BinaryView:
		return v.Value
	case *array.FixedSizeBinary:
		return v.Value
	}
	return nil
}

// bytesIn returns the bytes of a string, which must not be changed.
func bytesIn(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func bindNumber(c *staging.Cells, values arrow.Array) func(i int) bool {
	switch v := values.(type) {
	case *array.Int8:
		return signed(c, func(i int) int64 { return int64(v.Value(i)) })
	case *array.Int16:
		return signed(c, func(i int) int64 { return int64(v.Value(i)) })
	case *array.Int32:
		return signed(c, func(i int) int64 { return int64(v.Value(i)) })
	case *array.Int64:
		return signed(c, v.Value)
	case *array.Uint8:
		return signed(c, func(i int) int64 { return int64(v.Value(i)) })
	case *array.Uint16:
		return signed(c, func(i int) int64 { return int64(v.Value(i)) })
	case *array.Uint32:
		return signed(c, func(i int) int64 { return int64(v.Value(i)) })
	case *array.Uint64:
		return func(i int) bool {
			if x := v.Value(i); x > math.MaxInt64 {
				return c.Wide(strconv.AppendUint(nil, x, 10), 0)
			}
			return c.Whole(int64(v.Value(i)))
		}
	case *array.Float16:
		return func(i int) bool { return c.Real(float64(v.Value(i).Float32())) }
	case *array.Float32:
		return func(i int) bool { return c.Real(float64(v.Value(i))) }
	case *array.Float64:
		return func(i int) bool { return c.Real(v.Value(i)) }
	}
	return bindDecimal(c, values)
}

func bindDecimal(c *staging.Cells, values arrow.Array) func(i int) bool {
	switch v := values.(type) {
	case *array.Decimal32:
		scale := v.DataType().(arrow.DecimalType).GetScale()
		return func(i int) bool { return c.Wide(strconv.AppendInt(nil, int64(v.Value(i)), 10), scale) }
	case *array.Decimal64:
		scale := v.DataType().(arrow.DecimalType).GetScale()
		return func(i int) bool { return c.Wide(strconv.AppendInt(nil, int64(v.Value(i)), 10), scale) }
	case *array.Decimal128:
		scale := v.DataType().(arrow.DecimalType).GetScale()
		return func(i int) bool { return c.Rescaled(v.Value(i), scale) }
	case *array.Decimal256:
		scale := v.DataType().(arrow.DecimalType).GetScale()
		return func(i int) bool { return c.Wide([]byte(v.Value(i).BigInt().String()), scale) }
	}
	panic(errOutside) // no castable type comes here
}

func signed(c *staging.Cells, value func(i int) int64) func(i int) bool {
	return func(i int) bool { return c.Whole(value(i)) }
}
