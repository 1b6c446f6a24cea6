package s3_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestMachine opens a bucket with each of the identities that platforms offer. A source that fails
// does not give way to another one, which would be another identity.
func TestMachine(t *testing.T) {
	server := s3test.Start(t)
	name := server.Bucket(t)
	other := s3test.NewPlatform(t)
	empty := filepath.Join(t.TempDir(), "none")
	for source, machine := range map[string]func(*s3test.Platform) s3.Machine{
		"web identity": func(p *s3test.Platform) s3.Machine {
			return s3.Machine{
				TokenFile: p.TokenFile, RoleARN: s3test.PlatformRole, STS: p.URL, ContainerURL: other.ContainerURL, Metadata: other.URL,
			}
		},
		"container": func(p *s3test.Platform) s3.Machine {
			return s3.Machine{ContainerURL: p.ContainerURL, ContainerTokenFile: p.ContainerTokenFile, Metadata: other.URL}
		},
		"instance": func(p *s3test.Platform) s3.Machine { return s3.Machine{Metadata: p.URL} },
	} {
		t.Run(source, func(t *testing.T) {
			platform := s3test.NewPlatform(t)
			open := func(m s3.Machine) *s3.Bucket {
				o := options(server.Endpoint, name)
				o.Credential, o.Machine, o.Limits = s3.Credential{Ambient: true}, m, steady
				o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if address != server.Address {
						return nil, errors.New("the platform is not an address of the user")
					}
					return (&net.Dialer{}).DialContext(ctx, network, address)
				}
				return mustNew(t, o)
			}
			bucket := open(machine(platform))
			require.NoError(t, bucket.PutIfAbsent(t.Context(), "o", []byte("x")))
			require.Equal(t, "x", objstoretest.MustGet(t, bucket, "o"))
			require.NoError(t, bucket.Delete(t.Context(), "o"))
			require.Equal(t, 1, platform.Issued(), "the credentials are used again")

			fails := func(bucket *s3.Bucket, want error) {
				err := bucket.PutIfAbsent(t.Context(), "o", nil)
				require.ErrorIs(t, err, want)
				require.NotErrorIs(t, err, objstore.ErrUnknown, "nothing was sent to the bucket")
				for _, text := range []string{"secret", "127.0.0.1", empty} {
					require.NotContains(t, err.Error(), text)
				}
			}
			platform.Refuse(true)
			fails(open(machine(platform)), objstore.ErrCredential)
			gone := machine(platform)
			if gone.TokenFile != "" {
				gone.TokenFile = empty
				fails(open(gone), objstore.ErrUnavailable)
			}
			for _, address := range []*string{&gone.STS, &gone.ContainerURL, &gone.Metadata} {
				*address = "http://127.0.0.1:1"
			}
			if source != "container" {
				gone.ContainerURL = ""
			}
			fails(open(gone), objstore.ErrUnavailable)
			require.Zero(t, other.Issued())
		})
	}
}

// TestMachineStaysUnused: a key that fails is not replaced by the identity of the machine.
func TestMachineStaysUnused(t *testing.T) {
	server := s3test.Start(t)
	platform := s3test.NewPlatform(t)
	o := options(server.Endpoint, server.Bucket(t))
	o.Machine = s3.Machine{Metadata: platform.URL, ContainerToken: "CT-secret"}
	o.Credential.SecretAccessKey = "wrong"
	require.ErrorIs(t, mustNew(t, o).PutIfAbsent(t.Context(), "o", nil), objstore.ErrCredential)
	o.Credential = s3.Credential{}
	_, err := s3.New(o)
	require.Error(t, err)
	require.Zero(t, platform.Issued())
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", o, o, o), o.Machine.LogValue().String()} {
		require.False(t, strings.Contains(text, "CT-secret"))
	}

	o.Credential = s3.Credential{Ambient: true, RoleARN: "arn:aws:iam::123456789012:role/another"}
	_, err = s3.New(o)
	var refused *s3.OptionError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "credential", refused.Option)
}
