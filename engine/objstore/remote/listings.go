package remote

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
)

// errNotAListing: a reply with a good status is no listing.
var errNotAListing = errors.New("the answer is not a listing")

// listingHead bounds what precedes the root element of a listing: a declaration and white space.
const listingHead = 4 << 10

// Listings returns a transport that fails on replies to listings that are not an XML document with the
// root element root, such as the page of a proxy or an empty body. Decoders of XML take both for a
// listing of nothing, and everything in the store would look deleted. lists reports whether a request
// lists.
func Listings(inner http.RoundTripper, root string, lists func(*http.Request) bool) http.RoundTripper {
	return listings{inner, root, lists}
}

type listings struct {
	inner http.RoundTripper
	root  string
	lists func(*http.Request) bool
}

// RoundTrip implements http.RoundTripper.
func (l listings) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.inner.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK || !l.lists(r) {
		return resp, err
	}
	body := bufio.NewReaderSize(resp.Body, listingHead)
	head, err := body.Peek(listingHead)
	if err != nil && !errors.Is(err, io.EOF) {
		resp.Body.Close()
		return nil, err
	}
	if rootOf(head) != l.root {
		resp.Body.Close()
		return nil, errNotAListing
	}
	resp.Body = peeked{body, resp.Body}
	return resp, nil
}

// peeked is a body of which the beginning was read already.
type peeked struct {
	io.Reader
	io.Closer
}

// rootOf returns the local name of the first element of an XML document, or "".
func rootOf(head []byte) string {
	decoder := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(head, []byte("\uFEFF"))))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		token, err := decoder.RawToken()
		if err != nil {
			return ""
		}
		switch token := token.(type) {
		case xml.StartElement:
			return token.Name.Local
		case xml.CharData:
			if len(bytes.TrimSpace(token)) > 0 {
				return ""
			}
		}
	}
}
