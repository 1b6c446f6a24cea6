package remote

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Span is a part of an object.
type Span struct {
	Start int64
	// Length is -1 if the store did not report the end.
	Length int64
}

// RangeHeader requests the range, or more if the protocol cannot express it: a suffix always
// extends to the end. length must not be 0.
func RangeHeader(offset, length int64) string {
	switch {
	case offset == math.MinInt64:
		return "bytes=-" + strconv.FormatInt(math.MaxInt64, 10)
	case offset < 0:
		return "bytes=" + strconv.FormatInt(offset, 10)
	case length < 0 || length > math.MaxInt64-offset:
		return fmt.Sprintf("bytes=%d-", offset)
	}
	return fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)
}

// Wanted returns the requested part of the object; the reply's body must begin with it.
// contentRange is the reply's header of that name, empty if it has none, and length that of its
// body, or -1 if the store does not report it.
func Wanted(contentRange string, length, offset, count int64) (Span, error) {
	size := length
	first, last := int64(0), size-1
	switch {
	case contentRange != "":
		var err error
		if first, last, size, err = ParseContentRange(contentRange); err != nil {
			return Span{}, err
		}
	case size < 0:
		return Span{}, ErrNoLength
	}
	start, end := objstore.Range(size, offset, count)
	if start != first && start != end || last+1 < end {
		return Span{}, errOtherRange
	}
	return Span{start, end - start}, nil
}

var (
	// ErrNoLength: the reply has neither a length nor a range.
	ErrNoLength = fmt.Errorf("%w: answers without a length", objstore.ErrUnavailable)
	// errOtherRange: the reply has a different range from the requested one.
	errOtherRange = fmt.Errorf("%w: answers with another range", objstore.ErrUnavailable)
)

// ParseContentRange reads "bytes first-last/size".
func ParseContentRange(header string) (first, last, size int64, err error) {
	span, total, _ := strings.Cut(strings.TrimPrefix(header, "bytes "), "/")
	from, to, _ := strings.Cut(span, "-")
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	size, err3 := strconv.ParseInt(total, 10, 64)
	if errors.Join(err1, err2, err3) != nil || first < 0 || last < first || size <= last {
		return 0, 0, 0, fmt.Errorf("%w: unreadable range", objstore.ErrUnavailable)
	}
	return first, last, size, nil
}
