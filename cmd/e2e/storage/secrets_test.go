package storage_test

import (
	"bytes"
	"database/sql"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
)

// TestNoCredentialIsSeenOutside plants credentials of every kind and mode: in use, replaced, and
// refused for every reason, by stores that repeat requests and cut connections, too. It then searches
// for them in all that a server writes: the database of the catalog, the log, replies, the audit log,
// metrics, e-mails, and its files.
func TestNoCredentialIsSeenOutside(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := database(t)
			p := newPlanting(t, at)
			for _, store := range p.stores {
				p.life(t, store)
			}
			p.delegatedLife(t)
			p.seen(t, at)
		})
	}
}

// seen searches for the canaries, and for the control, in all that the server wrote.
func (p *planting) seen(t *testing.T, database string) {
	clean := func(place string, content []byte, control string) {
		t.Helper()
		require.Contains(t, string(content), control, "%s is searched", place)
		require.Empty(t, p.secrets.In(content), place)
	}
	p.formsAreFound(t)
	clean("replies", p.replies.Bytes(), p.control)
	resp, err := http.Get(p.URL + "/metrics")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	metrics, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	clean("metrics", metrics, "/credentials/azure")
	if database != "" {
		clean("the database", dump(t, database), p.control)
	}
	clean("the audit log", p.audit(t), p.control)
	require.Eventually(t, func() bool { return bytes.Contains(p.files(t, p.Config.MailDir), []byte(p.invited())) },
		time.Minute, 20*time.Millisecond)
	clean("e-mails", p.files(t, p.Config.MailDir), p.invited())
	control := p.control
	if database != "" {
		control = "primaryKeyId" // of the key file
	}
	clean("files in use", p.files(t, p.Config.DataDir), control)
	p.Stop()
	clean("the log", []byte(p.Log.String()), p.control)
	clean("files", p.files(t, p.Config.DataDir), control)
}

// audit returns all pages of the audit log.
func (p *planting) audit(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	for next := ""; ; {
		r := p.Admin.Call("GET", "/v1/organisations/"+p.Boot.OrganisationID+"/audit"+next, nil)
		all.Write(r.Body)
		token, more := r.JSON(t)["nextPageToken"].(string)
		if !more || token == "" {
			return all.Bytes()
		}
		next = "?page_token=" + url.QueryEscape(token)
	}
}

// files returns the content of all files in a directory.
func (p *planting) files(t *testing.T, dir string) []byte {
	t.Helper()
	var files bytes.Buffer
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // the running server has removed it
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		files.Write(content)
		return err
	}))
	return files.Bytes()
}

// dump returns every row of a PostgreSQL database as text.
func dump(t *testing.T, url string) []byte {
	t.Helper()
	db, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	list := func(query string) (texts []string) {
		rows, err := db.QueryContext(t.Context(), query)
		require.NoError(t, err)
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var text string
			require.NoError(t, rows.Scan(&text))
			texts = append(texts, text)
		}
		require.NoError(t, rows.Err())
		return texts
	}
	var all bytes.Buffer
	for _, table := range list(`SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables
		WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`) {
		for _, row := range list("SELECT row_to_json(t)::text FROM " + table + " t") {
			all.WriteString(row + "\n")
		}
	}
	return all.Bytes()
}
