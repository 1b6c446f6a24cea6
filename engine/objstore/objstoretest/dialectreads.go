package objstoretest

import (
	"fmt"
	"io"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// ReadCase is the outcome of a Get; a nil Error is the content "x".
type ReadCase struct {
	Steps []Step
	Error error
}

// RunBrokenReads checks that a reply that is cut, wrong or late is an error, never a shorter object.
func (d Dialect) RunBrokenReads(t *testing.T, own map[string]ReadCase) {
	const head = "HTTP/1.1 200 OK\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n"
	cases := map[string]ReadCase{
		"short body":            {[]Step{Raw(head + "Content-Length: 100\r\n\r\nonly this")}, objstore.ErrUnavailable},
		"short chunks":          {[]Step{Raw(head + "Transfer-Encoding: chunked\r\n\r\n5\r\nonly \r\n")}, objstore.ErrUnavailable},
		"body that stops":       {[]Step{Stalls}, objstore.ErrUnavailable},
		"503 forever":           {[]Step{d.Unavailable}, objstore.ErrUnavailable},
		"no reply":              {[]Step{Hang}, objstore.ErrUnavailable},
		"missing object":        {[]Step{d.NoObject, Hang}, objstore.ErrNotFound},
		"missing bucket":        {[]Step{d.NoBucket}, objstore.ErrNoBucket},
		"credential":            {[]Step{d.BadCredential}, objstore.ErrCredential},
		"code of many words":    {[]Step{d.Answer(418, "secret key 1234")}, objstore.ErrUnavailable},
		"redirect":              {[]Step{Redirect}, objstore.ErrUnavailable},
		"503, then the content": {[]Step{d.Answer(503, ""), Raw(head + "Content-Length: 1\r\n\r\nx")}, nil},
	}
	maps.Copy(cases, own)
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			bucket, _ := d.script(t, test.Steps)
			body, err := bucket.Get(t.Context(), "o")
			content, err := readAll(body, err)
			if test.Error == nil {
				require.NoError(t, err)
				require.Equal(t, "x", content)
				return
			}
			require.ErrorIs(t, err, test.Error)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

// readAll reads and closes a body that was opened with err.
func readAll(body io.ReadCloser, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	return string(content), err
}

// RunResumes checks that a connection that is lost in the middle of a body costs a request, not the
// read, and that two contents are never joined.
func (d Dialect) RunResumes(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\n" + d.Tag + "\r\nContent-Length: 10\r\n\r\n"
	rest := func(span string, length int, content string) Step {
		return Raw(fmt.Sprintf("HTTP/1.1 206 Partial Content\r\n%s\r\nContent-Length: %d\r\nContent-Range: bytes %s/10\r\n\r\n%s",
			d.Tag, length, span, content))
	}
	for name, test := range map[string]struct {
		steps []Step
		want  string
		again int
	}{
		"once":            {[]Step{Raw(head + "0123"), rest("4-9", 6, "456789")}, "0123456789", 1},
		"at the start":    {[]Step{Raw(head), rest("0-9", 10, "0123456789")}, "0123456789", 1},
		"twice":           {[]Step{Raw(head + "0123"), rest("4-9", 6, "45"), rest("6-9", 4, "6789")}, "0123456789", 2},
		"not for ever":    {[]Step{Raw(head + "0"), rest("1-9", 9, "")}, "", 2},
		"another content": {[]Step{Raw(head + "0123"), d.Replaced}, "", 1},
		"another range":   {[]Step{Raw(head + "0123"), rest("3-9", 7, "3456789")}, "", 1},
		"the whole again": {[]Step{Raw(head + "0123"), Raw(head + "0123456789")}, "", 1},
		"gone":            {[]Step{Raw(head + "0123"), d.NoObject}, "", 1},
		"no tag":          {[]Step{Raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123")}, "", 0},
		"silence":         {[]Step{Stalls}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			bucket, store := d.script(t, test.steps)
			body, err := bucket.Get(t.Context(), "o")
			require.NoError(t, err)
			content, err := readAll(body, nil)
			if test.want == "" {
				require.ErrorIs(t, err, objstore.ErrUnavailable)
			} else {
				require.NoError(t, err)
				require.Equal(t, test.want, content)
			}
			require.Equal(t, test.again, len(store.Seen())-1)
			for _, r := range store.Seen()[1:] {
				d.Resumed(t, r)
			}
		})
	}
}

// RangeCase is the content of the range of four bytes from the third, or ErrUnavailable.
type RangeCase struct {
	Reply   Step
	Content string
	Refused bool
}

// RunRanges checks that another range than the requested one is refused.
func (d Dialect) RunRanges(t *testing.T, own map[string]RangeCase) {
	part := func(span, content string) Step {
		return Raw(fmt.Sprintf("HTTP/1.1 206 Partial Content\r\nContent-Length: %d\r\nContent-Range: bytes %s\r\n\r\n%s",
			len(content), span, content))
	}
	cases := map[string]RangeCase{
		"as asked":       {part("2-5/10", "abcd"), "abcd", false},
		"to the end":     {part("2-5/6", "abcd"), "abcd", false},
		"elsewhere":      {part("3-6/10", "abcd"), "", true},
		"shorter":        {part("2-3/10", "ab"), "", true},
		"unreadable":     {part("x", "abcd"), "", true},
		"backwards":      {part("5-2/10", "abcd"), "", true},
		"lying length":   {part("2-5/10", "ab"), "", true},
		"the whole":      {Raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"), "", true},
		"beyond its end": {d.NoRange, "", false},
	}
	maps.Copy(cases, own)
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			bucket, _ := d.script(t, []Step{test.Reply})
			body, err := bucket.GetRange(t.Context(), "o", 2, 4)
			content, err := readAll(body, err)
			if test.Refused {
				require.ErrorIs(t, err, objstore.ErrUnavailable)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.Content, content)
		})
	}
}

// ListCase has the names of a listing and the error that ends it.
type ListCase struct {
	Steps []Step
	Names []string
	Error error
}

// RunListings checks that pages are joined, and that one that cannot be right ends the listing with
// an error instead of omitting commits.
func (d Dialect) RunListings(t *testing.T, own map[string]ListCase) {
	page := d.List
	cases := map[string]ListCase{
		"two pages":           {[]Step{page("1", "t/a", "t/b+"), page("", "t/c")}, []string{"t/a", "t/b+", "t/c"}, nil},
		"empty page between":  {[]Step{page("1", "t/a"), page("2"), page("", "t/c")}, []string{"t/a", "t/c"}, nil},
		"out of order":        {[]Step{page("1", "t/b"), page("", "t/a")}, []string{"t/b"}, objstore.ErrUnavailable},
		"markers, odd names":  {[]Step{page("", "t/", "t//x", "t/a")}, []string{"t/a"}, nil},
		"same page again":     {[]Step{page("1", "t/a")}, []string{"t/a"}, objstore.ErrUnavailable},
		"empty pages forever": {[]Step{page("1")}, nil, objstore.ErrUnavailable},
		"another prefix":      {[]Step{page("", "u/a")}, nil, objstore.ErrUnavailable},
		"second page fails":   {[]Step{page("1", "t/a"), d.Denied}, []string{"t/a"}, objstore.ErrDenied},
		"no bucket":           {[]Step{d.NoBucket}, nil, objstore.ErrNoBucket},
		"no listing":          {[]Step{Raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<List")}, nil, objstore.ErrUnavailable},
		"empty body":          {[]Step{body("")}, nil, objstore.ErrUnavailable},
		"page of a proxy":     {[]Step{body("<!DOCTYPE html><html><body>Sign in<br></body></html>")}, nil, objstore.ErrUnavailable},
		"well-formed page":    {[]Step{body(`<?xml version="1.0"?><html xmlns="urn:x"><body/></html>`)}, nil, objstore.ErrUnavailable},
		"text":                {[]Step{body("OK")}, nil, objstore.ErrUnavailable},
		"JSON":                {[]Step{body("{}")}, nil, objstore.ErrUnavailable},
		"error with 200":      {[]Step{body(`<Error><Code>AccessDenied</Code></Error>`)}, nil, objstore.ErrUnavailable},
		"page, then a proxy":  {[]Step{page("more", "t/a"), body("<html></html>")}, []string{"t/a"}, objstore.ErrUnavailable},
	}
	maps.Copy(cases, own)
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			bucket, _ := d.script(t, test.Steps)
			var names []string
			var failure error
			for object, err := range bucket.List(t.Context(), "t/", objstore.ListOptions{}) {
				if err != nil {
					failure = err
					break
				}
				require.Zero(t, object.ModTime.UnixNano()%int64(d.Resolution))
				names = append(names, object.Name)
			}
			require.Equal(t, test.Names, names)
			require.ErrorIs(t, failure, test.Error)
		})
	}
}

// body replies with status 200 and a body of no declared type.
func body(text string) Step {
	return Raw(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text))
}
