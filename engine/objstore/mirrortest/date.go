package mirrortest

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// date replaces the times of objects in a reply by those of their files.
func (m *mirror) date(r *http.Response) error {
	name, single := strings.CutPrefix(r.Request.URL.Path, m.objects)
	switch media := r.Header.Get("Content-Type"); {
	case strings.HasPrefix(media, "application/json"):
		return m.rewriteBody(r, m.dateJSON)
	case strings.HasPrefix(media, "application/xml") && r.Request.URL.Query().Get("comp") == "list":
		return m.rewriteBody(r, m.dateXML)
	case single && r.Header.Get("Last-Modified") != "":
		if t, ok := m.modified(name); ok {
			r.Header.Set("Last-Modified", t.Format(http.TimeFormat))
		}
	}
	return nil
}

// modified returns the time of a file.
func (m *mirror) modified(name string) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.known[name]
	return s.modified.UTC(), ok
}

// dateJSON changes a description of an object, or a list of them, by Google Cloud Storage.
func (m *mirror) dateJSON(body []byte) []byte {
	var reply map[string]json.RawMessage
	var items []map[string]json.RawMessage
	if json.Unmarshal(body, &reply) != nil {
		return body
	}
	if json.Unmarshal(reply["items"], &items) == nil {
		for _, item := range items {
			m.dateItem(item)
		}
		reply["items"], _ = json.Marshal(items) // of valid JSON
	}
	m.dateItem(reply)
	dated, err := json.Marshal(reply)
	if err != nil {
		return body
	}
	return dated
}

func (m *mirror) dateItem(item map[string]json.RawMessage) {
	var name string
	if json.Unmarshal(item["name"], &name) != nil {
		return
	}
	if t, ok := m.modified(name); ok {
		item["updated"] = json.RawMessage(strconv.Quote(t.Format(time.RFC3339Nano)))
	}
}

var listed = regexp.MustCompile(`(?s)(<Blob><Name>)([^<]*)(</Name>.*?<Last-Modified>)[^<]*`)

// dateXML changes a list of objects by Azure Blob Storage.
func (m *mirror) dateXML(body []byte) []byte {
	return listed.ReplaceAllFunc(body, func(blob []byte) []byte {
		parts := listed.FindSubmatch(blob)
		t, ok := m.modified(html.UnescapeString(string(parts[2])))
		if !ok {
			return blob
		}
		return bytes.Join([][]byte{parts[1], parts[2], parts[3], []byte(t.Format(http.TimeFormat))}, nil)
	})
}

func (m *mirror) rewriteBody(r *http.Response, rewrite func([]byte) []byte) error {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		replaceBody(r, rewrite(body))
	}
	return err
}

// replaceBody replaces the body of a reply, which has been read.
func replaceBody(r *http.Response, body []byte) {
	_ = r.Body.Close()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
}
