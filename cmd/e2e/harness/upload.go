package harness

import (
	"bytes"
	"mime/multipart"
	"net/textproto"
	"testing"

	"github.com/stretchr/testify/require"
)

// Upload is a file in a request.
type Upload struct {
	Name, Content string
	// Encoding is the Content-Encoding of the file; empty means none.
	Encoding string
	// Fields alternate between names and values of the other fields.
	Fields []string
}

// Form encodes the upload as multipart/form-data and returns its media type.
func (u Upload) Form(t testing.TB) (body, media string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(u.Fields); i += 2 {
		require.NoError(t, w.WriteField(u.Fields[i], u.Fields[i+1]))
	}
	header := textproto.MIMEHeader{"Content-Disposition": {multipart.FileContentDisposition("file", u.Name)}, "Content-Type": {"text/csv"}}
	if u.Encoding != "" {
		header.Set("Content-Encoding", u.Encoding)
	}
	part, err := w.CreatePart(header)
	require.NoError(t, err)
	_, err = part.Write([]byte(u.Content))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String(), w.FormDataContentType()
}

// Infer asks for the schema of an upload.
func (c *Client) Infer(u Upload) Reply {
	c.T.Helper()
	body, media := u.Form(c.T)
	return c.Call("POST", "/v1/tables/infer-schema", body, "Content-Type", media)
}
