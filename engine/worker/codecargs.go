package worker

import (
	"encoding/json"

	"github.com/lakewarden/lakewarden/engine"
)

// The tags of argument values.
const (
	tagNil byte = iota
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagText
	tagNumber
	tagList
	tagBools
	tagInts
	tagFloats
	tagTexts
	tagNumbers
	tagUnknown
)

// unbindable stands for a value of a kind that the contract does not have. The
// engine refuses it and names its parameter, as it would have refused the
// original.
type unbindable struct{}

func (e *encoder) args(a engine.Args) {
	list(e, a.Positional, e.value)
	dictionary(e, a.Named, e.value)
}

func (e *encoder) value(v any) {
	switch v := v.(type) {
	case nil:
		e.tag(tagNil)
	case bool:
		if v {
			e.tag(tagTrue)
		} else {
			e.tag(tagFalse)
		}
	case int64:
		e.tag(tagInt)
		e.int(v)
	case float64:
		e.tag(tagFloat)
		e.float(v)
	case string:
		e.tag(tagText)
		e.text(v)
	case json.Number:
		e.tag(tagNumber)
		e.text(string(v))
	default:
		e.slice(v)
	}
}

func (e *encoder) slice(v any) {
	switch v := v.(type) {
	case []any:
		e.tag(tagList)
		list(e, v, e.value)
	case []bool:
		e.tag(tagBools)
		list(e, v, e.bool)
	case []int64:
		e.tag(tagInts)
		list(e, v, e.int)
	case []float64:
		e.tag(tagFloats)
		list(e, v, e.float)
	case []string:
		e.tag(tagTexts)
		list(e, v, e.text)
	case []json.Number:
		e.tag(tagNumbers)
		list(e, v, func(n json.Number) { e.text(string(n)) })
	default:
		e.tag(tagUnknown)
	}
}

func (d *decoder) args() engine.Args {
	return engine.Args{Positional: items(d, d.value), Named: entries(d, d.value)}
}

func (d *decoder) value() any {
	switch t := d.tag(); t {
	case tagNil:
		return nil
	case tagFalse, tagTrue:
		return t == tagTrue
	case tagInt:
		return d.int()
	case tagFloat:
		return d.float()
	case tagText:
		return d.text()
	case tagNumber:
		return json.Number(d.text())
	case tagUnknown:
		return unbindable{}
	default:
		return d.slice(t)
	}
}

func (d *decoder) slice(tag byte) any {
	switch tag {
	case tagList:
		return items(d, d.value)
	case tagBools:
		return items(d, d.bool)
	case tagInts:
		return items(d, d.int)
	case tagFloats:
		return items(d, d.float)
	case tagTexts:
		return d.texts()
	case tagNumbers:
		return items(d, func() json.Number { return json.Number(d.text()) })
	}
	d.fail()
	return nil
}
