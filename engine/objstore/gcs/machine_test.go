package gcs_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/gcs"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

func TestMachine(t *testing.T) {
	server := gcstest.Start(t)
	guard := server.Guard(t)
	o := options(guard.Endpoint, server.Bucket(t), "")
	o.Credential, o.Machine, o.Limits = gcs.Credential{Ambient: true}, gcs.Machine{Metadata: guard.Metadata}, steady
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if "http://"+address != guard.Endpoint {
			return nil, errors.New("the metadata server is not an address of the user")
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	bucket := mustNew(t, o)
	works(t, bucket)
	require.Equal(t, 1, guard.Issued(), "the token is used again")
	guard.Revoke(gcstest.MachineKey)
	_, err := bucket.Stat(t.Context(), "o")
	require.ErrorIs(t, err, objstore.ErrCredential)
	works(t, bucket) // a token that the store refuses is replaced

	o.Machine.Metadata = "127.0.0.1:1"
	refused(t, mustNew(t, o), objstore.ErrUnavailable)
	issued := guard.Issued()
	o.Machine.Metadata, o.Dial = guard.Metadata, nil
	o.Credential = gcs.Credential{ServiceAccountKey: server.Guard(t).Key(t, "unknown")}
	refused(t, mustNew(t, o), objstore.ErrCredential)
	require.Equal(t, issued, guard.Issued(), "a key that fails is not replaced by the identity of the machine")
}

// TestTokens uses the tokens of somebody else, and passes the errors of their source on.
func TestTokens(t *testing.T) {
	server := gcstest.Start(t)
	guard := server.Guard(t)
	guard.Accept("theirs", "somebody")
	gone := errors.New("they left")
	var failure error
	requests := 0
	o := options(guard.Endpoint, server.Bucket(t), "")
	o.Limits = steady
	o.Credential = gcs.Credential{Tokens: func(context.Context) (remote.Token, error) {
		requests++
		return remote.Token{Value: "theirs"}, failure
	}}
	bucket := mustNew(t, o)
	works(t, bucket)
	require.Greater(t, requests, 4, "a token without a lifetime is not used again")
	failure = gone
	refused(t, bucket, gone)

	o.Credential.Ambient = true
	_, err := gcs.New(o)
	var wrong *gcs.OptionError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "credential", wrong.Option)
}

// TestForeignIdentitiesCopyWhatTheSourceMayRead: the identity of a bucket without a key of its own may
// read more than the credential of the bucket from which is copied.
func TestForeignIdentitiesCopyWhatTheSourceMayRead(t *testing.T) {
	server := gcstest.Start(t)
	guard := server.Guard(t)
	name := server.Bucket(t)
	owner := mustNew(t, options(guard.Endpoint, name, guard.Key(t, "owner")))
	require.NoError(t, owner.PutIfAbsent(t.Context(), "theirs", []byte("x")))
	stranger := mustNew(t, options(guard.Endpoint, name, guard.Key(t, "stranger")))
	guard.Revoke("stranger")
	o := options(guard.Endpoint, server.Bucket(t), "")
	o.Credential, o.Machine = gcs.Credential{Ambient: true}, gcs.Machine{Metadata: guard.Metadata}
	target := mustNew(t, o)
	copied, err := objstore.Copy(t.Context(), target, "mine", stranger, objstore.Object{Name: "theirs"})
	require.ErrorIs(t, err, objstore.ErrCredential)
	require.False(t, copied)
	copied, err = objstore.Copy(t.Context(), target, "mine", owner, objstore.Object{Name: "theirs"})
	require.NoError(t, err)
	require.True(t, copied)
}
