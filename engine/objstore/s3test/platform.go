package s3test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The web identity and the container that a Platform knows.
const (
	PlatformRole  = "arn:aws:iam::123456789012:role/lakewarden"
	webIdentity   = "web-identity-of-the-test"
	containerText = "container-token-of-the-test"
	metadataToken = "metadata-token-of-the-test"
)

// Platform is what a cloud offers to a machine to prove its identity: STS for web identities, the
// credentials of containers, and the instance metadata service. It issues the server's own key.
type Platform struct {
	// URL is its base: that of STS and of the instance metadata service.
	URL string
	// ContainerURL issues the credentials of containers.
	ContainerURL string
	// TokenFile has the token of the web identity, ContainerTokenFile that of the container.
	TokenFile, ContainerTokenFile string

	issued  atomic.Int64
	refuses atomic.Bool
}

// NewPlatform starts a platform that ends with the test.
func NewPlatform(tb testing.TB) *Platform {
	tb.Helper()
	p := &Platform{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", p.sts)
	mux.HandleFunc("GET /container", p.container)
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
		_, _ = fmt.Fprint(w, metadataToken)
	})
	mux.HandleFunc("GET /latest/meta-data/iam/security-credentials/{role...}", p.instance)
	server := httptest.NewServer(mux)
	tb.Cleanup(server.Close)
	p.URL, p.ContainerURL = server.URL, server.URL+"/container"
	dir := tb.TempDir()
	p.TokenFile, p.ContainerTokenFile = filepath.Join(dir, "web-identity"), filepath.Join(dir, "container")
	for path, text := range map[string]string{p.TokenFile: webIdentity, p.ContainerTokenFile: containerText + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatalf("write a token: %v", err)
		}
	}
	return p
}

// Issued returns the number of credentials issued so far.
func (p *Platform) Issued() int { return int(p.issued.Load()) }

// Refuse decides whether every request is refused.
func (p *Platform) Refuse(refuses bool) { p.refuses.Store(refuses) }

// expiry is the end of what is issued now.
func expiry() string { return time.Now().Add(time.Hour).UTC().Format(time.RFC3339) }

// sts is AssumeRoleWithWebIdentity.
func (p *Platform) sts(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/xml")
	if p.refuses.Load() || r.PostFormValue("Action") != "AssumeRoleWithWebIdentity" || r.PostFormValue("RoleArn") != PlatformRole ||
		r.PostFormValue("WebIdentityToken") != webIdentity || r.Header.Get("Authorization") != "" {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>"+
			"<Message>secret of STS</Message></Error></ErrorResponse>")
		return
	}
	p.issued.Add(1)
	const reply = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>` +
		`<Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken>` +
		`<Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
	_, _ = fmt.Fprintf(w, reply, AccessKeyID, SecretAccessKey, SessionToken, expiry())
}

// SessionToken is part of the credentials that a Platform issues. The server accepts none.
const SessionToken = ""

// container is the endpoint of containers.
func (p *Platform) container(w http.ResponseWriter, r *http.Request) {
	p.credentials(w, r.Header.Get("Authorization") == containerText, http.StatusUnauthorized)
}

// instance lists the role of the instance, and issues its credentials.
func (p *Platform) instance(w http.ResponseWriter, r *http.Request) {
	known := r.Header.Get("X-Aws-Ec2-Metadata-Token") == metadataToken
	if known && r.PathValue("role") == "" && strings.HasSuffix(r.URL.Path, "/") && !p.refuses.Load() {
		_, _ = fmt.Fprint(w, "instance-role")
		return
	}
	p.credentials(w, known && r.PathValue("role") == "instance-role", http.StatusNotFound)
}

// credentials replies with the document of credentials, or with a refusal.
func (p *Platform) credentials(w http.ResponseWriter, ok bool, refusal int) {
	w.Header().Set("Content-Type", "application/json")
	if !ok || p.refuses.Load() {
		w.WriteHeader(refusal)
		_, _ = fmt.Fprint(w, `{"code":"refused","message":"secret of the platform"}`)
		return
	}
	p.issued.Add(1)
	_ = json.NewEncoder(w).Encode(map[string]string{
		"Code": "Success", "AccessKeyId": AccessKeyID, "SecretAccessKey": SecretAccessKey, "Token": SessionToken, "Expiration": expiry(),
	})
}
