package azure

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// publicCloud is the domain of accounts without an endpoint of their own.
const publicCloud = "core.windows.net"

// azureHost matches the endpoints of an account: primary and secondary, of a zone, over a
// private link, and of the protocol of Data Lake Storage, which all lead to the same
// containers.
var azureHost = regexp.MustCompile(`^([a-z0-9]+)(?:-secondary)?(?:\.z[0-9]{1,2})?(?:\.privatelink)?\.(?:blob|dfs)\.` +
	`(core\.windows\.net|storage\.azure\.net|core\.usgovcloudapi\.net|core\.chinacloudapi\.cn)$`)

// clouds are the domains that belong to Azure.
var clouds = []string{".windows.net", ".azure.net", ".usgovcloudapi.net", ".chinacloudapi.cn"}

// location returns the canonical location of a root.
func location(s Settings) (kind.Location, error) {
	at := kind.Location{Scheme: "az", Store: publicCloud + "/" + s.Account, Container: s.Container, Prefix: s.Prefix}
	if s.Endpoint != "" {
		var err error
		if at.Store, err = storeOf(s); err != nil {
			return at, err
		}
	}
	if err := kind.CheckPrefix(s.Prefix); err != nil {
		return at, err
	}
	for part := range strings.SplitSeq(s.Prefix, "/") {
		// Azure may drop such a dot, and takes a backslash for a slash: the text would not be that of the
		// root to which it leads.
		if strings.HasSuffix(part, ".") || strings.Contains(part, `\`) {
			return at, kind.Refuse("prefix", `must not have a '\', nor parts that end in '.'`)
		}
	}
	return at, nil
}

// storeOf returns the store of an endpoint: its cloud and the account, or its host and
// path. A host outside Azure may serve one account under any name, so the name is no part
// of the store unless the path has it.
func storeOf(s Settings) (string, error) {
	host, err := kind.Host(s.Endpoint)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		return "", kind.Refuse("endpoint", "must be a URL")
	}
	folder := strings.Trim(u.Path, "/")
	name, _, _ := strings.Cut(host, ":")
	found := azureHost.FindStringSubmatch(name)
	switch {
	case found != nil && found[1] != s.Account:
		return "", kind.Refuse("endpoint", "must be an endpoint of the account")
	case found != nil && folder != "":
		// Azure would take the path for the container.
		return "", kind.Refuse("endpoint", "must not have a path")
	case found != nil && found[2] == "storage.azure.net":
		return publicCloud + "/" + s.Account, nil
	case found != nil:
		return found[2] + "/" + s.Account, nil
	}
	for _, domain := range clouds {
		if strings.HasSuffix(name, domain) {
			return "", kind.Refuse("endpoint", "must be the blob endpoint of the account")
		}
	}
	return strings.TrimSuffix(host+"/"+folder, "/"), nil
}
