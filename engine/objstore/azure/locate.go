package azure

import (
	"net/url"
	"path"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Locate implements objstore.Locator for the schemes that programs use for Azure. It takes the name
// unchanged, and refuses names that a program could shorten as paths.
func (b *Bucket) Locate(dir string, ref objstore.Reference) (string, bool) {
	switch ref.Scheme {
	case "abfs", "abfss", "wasb", "wasbs", "az", "azure":
	default:
		return "", false
	}
	if !b.named(ref.Host) || path.Clean(ref.Path) != ref.Path {
		return "", false
	}
	return strings.CutPrefix(strings.TrimPrefix(ref.Path, "/"), dir)
}

// named reports whether the authority of a URI names the container: alone, or with the host of the
// account, which is "container@account.dfs.core.windows.net" in the public cloud.
func (b *Bucket) named(authority string) bool {
	name, host, qualified := strings.Cut(authority, "@")
	if name != b.name || !qualified {
		return name == b.name
	}
	service, own := strings.CutPrefix(host, b.account+".")
	kind, cloud, _ := strings.Cut(service, ".")
	return own && (kind == "dfs" || kind == "blob") && cloud == b.cloud
}

// cloudOf returns the part of the host of a blob service that its cloud decides, or "" if the host
// does not name the account.
func cloudOf(containerURL, account string) string {
	u, err := url.Parse(containerURL)
	if err != nil {
		return ""
	}
	cloud, ok := strings.CutPrefix(u.Hostname(), account+".blob.")
	if !ok {
		return ""
	}
	return cloud
}
