package v1

import (
	"maps"

	"github.com/danielgtaylor/huma/v2"
)

// sentHeaders describes the headers of replies.
var sentHeaders = map[string]*huma.Header{
	"Allow":              header(huma.TypeString, "The methods of the path"),
	"Location":           header(huma.TypeString, "Path of the operation"),
	"Preference-Applied": header(huma.TypeString, preferAsync),
	"Retry-After":        header(huma.TypeInteger, "Seconds to wait"),
	"WWW-Authenticate":   header(huma.TypeString, "Bearer, and what is wrong with the credential"),
	"X-Query-Id":         header(huma.TypeString, "The statement, as in the audit log"),
	TrailerTruncated:     trailer(huma.TypeBoolean, "A trailer, behind the rows: whether the result goes on"),
	TrailerNextPage:      trailer(huma.TypeString, "A trailer, behind the rows: the token of the next page, if there is one"),
}

// trailer describes a header that follows the body. It is not required, because it is
// absent when the headers are sent.
func trailer(kind, description string) *huma.Header {
	h := header(kind, description)
	h.Required = false
	return h
}

// header describes a header that the response always has.
func header(kind, description string) *huma.Header {
	return &huma.Header{Description: description, Required: true, Schema: &huma.Schema{Type: kind}}
}

// headers returns references to some of [sentHeaders], and adds these to the description.
func headers(api huma.API, names ...string) map[string]*huma.Param {
	components := api.OpenAPI().Components
	if components.Headers == nil {
		components.Headers = maps.Clone(sentHeaders)
	}
	refs := map[string]*huma.Param{}
	for _, name := range names {
		refs[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
	return refs
}
