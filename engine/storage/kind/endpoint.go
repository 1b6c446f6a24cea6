package kind

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// resolveTime bounds the look-up of a host name.
const resolveTime = 5 * time.Second

// CheckURL checks that a server may connect to an address that a field names. An empty
// address is allowed: it stands for the default of the kind.
func CheckURL(ctx context.Context, egress storage.Egress, field, address string) error {
	if address == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	err := egress.Check(ctx, address)
	switch {
	case errors.Is(err, storage.ErrEndpointRefused):
		return Refuse(field, "must be https and lead to a public address")
	case errors.Is(err, storage.ErrEndpointUnknown):
		return Refuse(field, "has no address")
	}
	return err
}

// Host returns the canonical host of an endpoint, with its port unless that is the
// default of the scheme.
func Host(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return "", Refuse("endpoint", "must be a URL")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	switch port := u.Port(); {
	case port == "", port == "443" && u.Scheme == "https", port == "80" && u.Scheme == "http":
		return host, nil
	default:
		return host + ":" + port, nil
	}
}

// CheckPrefix checks the folder that is the root; an empty one is the whole container.
func CheckPrefix(prefix string) error {
	if prefix != "" && objstore.ValidName(prefix) != nil {
		return Refuse("prefix", "must be a path without empty, '.' and '..' parts")
	}
	return nil
}
