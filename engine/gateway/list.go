package gateway

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// maxKeys is the maximum and default size of a page, as in S3.
const maxKeys = 1000

// listing is a page of ListObjectsV2.
type listing struct {
	XMLName        xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name           string
	Prefix         string
	Delimiter      string `xml:",omitempty"`
	MaxKeys        int
	EncodingType   string `xml:",omitempty"`
	KeyCount       int
	IsTruncated    bool
	StartAfter     string `xml:",omitempty"`
	Token          string `xml:"ContinuationToken,omitempty"`
	NextToken      string `xml:"NextContinuationToken,omitempty"`
	Contents       []listedObject
	CommonPrefixes []commonPrefix
}

type listedObject struct {
	Key          string
	LastModified string
	ETag         string
	Size         int64
	StorageClass string
}

type commonPrefix struct{ Prefix string }

// listArguments are the parameters that a listing accepts.
var listArguments = []string{"list-type", "prefix", "delimiter", "start-after", "continuation-token",
	"max-keys", "encoding-type", "fetch-owner", "x-id"}

// list answers ListObjectsV2. It always reads the listing from the store.
func (q *request) list() error {
	page, after, err := q.listing()
	if err != nil {
		return err
	}
	last := ""
	for found, err := range q.entries(page.Prefix, after, page.Delimiter != "") {
		if err != nil {
			return err
		}
		if page.KeyCount == page.MaxKeys {
			page.IsTruncated = true
			page.NextToken = base64.RawURLEncoding.EncodeToString([]byte(last))
			break
		}
		page.add(q.gateway.cache, q.location, found)
		last = found.Name
	}
	if page.EncodingType != "" {
		page.encode()
	}
	writeXML(q.w, q.r.Method, http.StatusOK, page)
	return nil
}

// listing parses the parameters. It returns an empty page and the name after which the page begins.
func (q *request) listing() (page listing, after string, err error) {
	for key, values := range q.query {
		if !slices.Contains(listArguments, key) || len(values) != 1 {
			return page, "", refuseArgument
		}
	}
	page = listing{
		Name: q.location.Bucket, Prefix: q.name, MaxKeys: maxKeys, Delimiter: q.query.Get("delimiter"),
		EncodingType: q.query.Get("encoding-type"), StartAfter: q.query.Get("start-after"), Token: q.query.Get("continuation-token"),
	}
	after = page.StartAfter
	if page.Token != "" {
		token, err := base64.RawURLEncoding.DecodeString(page.Token)
		if err != nil {
			return page, "", refuseArgument
		}
		after = string(token)
	}
	if text := q.query.Get("max-keys"); text != "" {
		n, err := digits(text)
		if err != nil || n == 0 {
			return page, "", refuseArgument
		}
		page.MaxKeys = int(min(n, maxKeys))
	}
	if q.query.Get("list-type") != "2" || (page.Delimiter != "" && page.Delimiter != "/") ||
		(page.EncodingType != "" && page.EncodingType != "url") || objstore.ValidPrefix(page.Prefix) != nil {
		return page, "", refuseArgument
	}
	return page, after, nil
}

// add adds an object or a common prefix to the page.
func (p *listing) add(c *cache, location *Location, found objstore.Object) {
	p.KeyCount++
	if strings.HasSuffix(found.Name, "/") {
		p.CommonPrefixes = append(p.CommonPrefixes, commonPrefix{found.Name})
		return
	}
	object := c.learn(location, found)
	p.Contents = append(p.Contents, listedObject{
		Key: found.Name, Size: object.size, ETag: object.etag(), StorageClass: "STANDARD",
		LastModified: object.modTime().Format("2006-01-02T15:04:05.000Z"),
	})
}

// encode escapes the names on the page, as encoding-type=url requires.
func (p *listing) encode() {
	for _, text := range []*string{&p.Prefix, &p.Delimiter, &p.StartAfter} {
		*text = escape(*text)
	}
	for i := range p.Contents {
		p.Contents[i].Key = escape(p.Contents[i].Key)
	}
	for i := range p.CommonPrefixes {
		p.CommonPrefixes[i].Prefix = escape(p.CommonPrefixes[i].Prefix)
	}
}

// escape escapes a name except for its slashes, like S3.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(name), "+", "%20"), "%2F", "/")
}

// etag returns a tag that identifies one content under one name.
func (o object) etag() string {
	return `"` + strconv.FormatUint(uint64(o.stamp), 36) + "-" + strconv.FormatInt(o.size, 36) + `"`
}

func (o object) modTime() time.Time { return time.Unix(0, o.stamp).UTC() }
