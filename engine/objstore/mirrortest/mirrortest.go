package mirrortest

import (
	"testing"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/gcs"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
)

// Kinds of stores.
const (
	Azure = "azure"
	GCS   = "gcs"
)

// Bucket is an empty bucket and the folder of its objects. It ends with the test.
type Bucket struct {
	// Name is that of the bucket or container.
	Name string
	// Endpoint is the URL at which the store is reached with the credential.
	Endpoint string
	// Folder is the directory that holds the objects as files.
	Folder string
	// Credential is what the store accepts: the key of the account, or the document of a service
	// account's key.
	Credential string
	// Token makes an access token that the store accepts for an hour. It is nil for Azure.
	Token func() string
	// Body has the fields of a request for a storage configuration that are the same for every one
	// over this bucket.
	Body map[string]any
}

// Open makes a bucket on a server of the kind.
func Open(tb testing.TB, kind string) Bucket {
	tb.Helper()
	if kind == Azure {
		return openAzure(tb)
	}
	return openGCS(tb)
}

func openAzure(tb testing.TB) Bucket {
	server := azuretest.Start(tb)
	name := server.Container(tb)
	direct, err := azure.New(azure.Options{
		Account: azuretest.Account, Container: name, Endpoint: server.Endpoint, Credential: azure.Credential{AccountKey: azuretest.Key},
	})
	folder, address := start(tb, direct, err, server.Address, "/"+azuretest.Account+"/"+name+"/")
	b := Bucket{Name: name, Endpoint: server.Through(address).Endpoint, Folder: folder, Credential: azuretest.Key}
	b.Body = map[string]any{
		"kind": Azure, "account": azuretest.Account, "container": name, "endpoint": b.Endpoint, "accountKey": b.Credential,
	}
	return b
}

func openGCS(tb testing.TB) Bucket {
	server := gcstest.Start(tb)
	name := server.Bucket(tb)
	inside := server.Guard(tb)
	direct, err := gcs.New(gcs.Options{
		Bucket: name, Endpoint: inside.Endpoint, Credential: gcs.Credential{ServiceAccountKey: inside.Key(tb, "mirror")},
	})
	folder, address := start(tb, direct, err, server.Address, "/storage/v1/b/"+name+"/o/")
	guard := server.Through(address).Guard(tb)
	b := Bucket{Name: name, Endpoint: guard.Endpoint, Folder: folder, Credential: guard.Key(tb, "client")}
	b.Token = func() string {
		token := "token-" + uuid.NewString()
		guard.Accept(token, "client")
		return token
	}
	b.Body = map[string]any{"kind": GCS, "bucket": name, "endpoint": b.Endpoint, "serviceAccountKey": b.Credential}
	return b
}

// store is a bucket that is closed at the end of a test.
type store interface {
	objstore.Bucket
	Close() error
}
