package s3_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/storage/kind"
	"github.com/lakewarden/lakewarden/engine/storage/kind/s3"
)

func record(t *testing.T, fields string) kind.Record {
	t.Helper()
	access, err := s3.Kind{}.New(kind.Secret(fields))
	require.NoError(t, err)
	r, err := access.Record()
	require.NoError(t, err)
	return r
}

func TestLocationsAreCanonical(t *testing.T) {
	at := func(store string) kind.Location {
		return kind.Location{Scheme: "s3", Store: store, Container: "b", Prefix: "p/q"}
	}
	for _, test := range []struct {
		region, endpoint string
		want             kind.Location
	}{
		{"eu-central-1", "", at("aws")},
		{"us-east-1", "https://s3.amazonaws.com", at("aws")},
		{"us-east-1", "https://S3.eu-central-1.amazonaws.com:443/", at("aws")},
		{"us-east-1", "https://bucket.vpce-1.s3.eu-central-1.vpce.amazonaws.com", at("aws")},
		{"cn-north-1", "", at("aws-cn")},
		{"cn-north-1", "https://s3.cn-north-1.amazonaws.com.cn", at("aws-cn")},
		{"x", "https://Store.Example.", at("store.example")},
		{"auto", "https://storage.googleapis.com", kind.Location{Scheme: "gs", Store: "storage.googleapis.com", Container: "b", Prefix: "p/q"}},
		{"x", "http://store.example:9000", at("store.example:9000")},
	} {
		fields := fmt.Sprintf(`{"bucket":"b","prefix":"/p/q/","region":%q,"endpoint":%q}`, test.region, test.endpoint)
		require.Equal(t, test.want, record(t, fields).Location, test.endpoint)
	}
	for _, fields := range []string{
		`{"bucket":"b","endpoint":"https://b.s3.amazonaws.com"}`, `{"bucket":"b","endpoint":"https://b.storage.googleapis.com"}`,
		`{"bucket":"b","endpoint":"x"}`, `{"bucket":"b","prefix":"a/../b"}`,
	} {
		access, err := s3.Kind{}.New(kind.Secret(fields))
		require.NoError(t, err)
		_, err = access.Record()
		require.ErrorAs(t, err, new(kind.FieldErrors), fields)
	}
}

func TestPathStyleFollowsTheEndpoint(t *testing.T) {
	for fields, want := range map[string]bool{
		`{"bucket":"b"}`:                                                             false,
		`{"bucket":"b","pathStyle":true}`:                                            true,
		`{"bucket":"b","endpoint":"https://store.example"}`:                          true,
		`{"bucket":"b","endpoint":"https://store.example","pathStyle":false}`:        false,
		`{"bucket":"b","endpoint":"https://store.example","secretAccessKey":"none"}`: true,
	} {
		var settings s3.Settings
		stored := record(t, fields).Settings
		require.NoError(t, json.Unmarshal(stored, &settings))
		require.Equal(t, want, settings.PathStyle, fields)
		require.NotContains(t, string(stored), "none")
	}
}

func TestStoredDocumentsOfLaterVersionsAreRead(t *testing.T) {
	access, err := s3.Kind{}.Access(json.RawMessage(`{"bucket":"b","region":"r","new":1}`),
		kind.Secret(`{"accessKeyId":"a","secretAccessKey":"planted","roleArn":"x","new":1}`))
	require.NoError(t, err)
	r, err := access.Record()
	require.NoError(t, err)
	require.Equal(t, "assume_role", r.Mode)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", access, access, access), "planted")
	plain, err := access.Secret()
	require.NoError(t, err)
	require.Contains(t, string([]byte(plain)), "planted")
}
