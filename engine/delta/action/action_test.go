package action_test

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

func TestDecodeCommit(t *testing.T) {
	body := `{"commitInfo":{"timestamp":1,"operation":"WRITE","operationParameters":{"mode":"Append","n":3},"isBlindAppend":true,"x":{"y":1}}}
{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":["a"],"later":true}}

{"futureAction":{"anything":[1,2]}}
{"add":{"path":"a%20b","partitionValues":{"p":null,"q":"1"},"size":9223372036854775807,"modificationTime":-5,"dataChange":true,"stats":null,"tags":null}}
{"remove":{"path":"c"}}
{"txn":{"appId":"a","version":0},"unknown":1}
{"add":null,"domainMetadata":{"domain":"d","configuration":"{}","removed":true}}`
	got, err := action.DecodeCommit([]byte(body), action.Limits{})
	require.NoError(t, err)
	blind, one := true, "1"
	want := []action.Action{
		&action.CommitInfo{
			Timestamp: 1, Operation: "WRITE", IsBlindAppend: &blind,
			OperationParameters: map[string]string{"mode": "Append", "n": "3"},
			Extra:               map[string]stdjson.RawMessage{"x": stdjson.RawMessage(`{"y":1}`)},
		},
		&action.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{}, WriterFeatures: []string{"a"},
			Unknown: jsontext.Value(`{"later":true}`)},
		&action.Add{
			Path: "a%20b", PartitionValues: map[string]*string{"p": nil, "q": &one},
			Size: math.MaxInt64, ModificationTime: -5, DataChange: true,
		},
		&action.Remove{Path: "c", DataChange: true},
		&action.Txn{AppID: "a"},
		&action.DomainMetadata{Domain: "d", Configuration: "{}", Removed: true},
	}
	require.Empty(t, cmp.Diff(want, got))
}

func TestDecodeRefuses(t *testing.T) {
	add := func(inside string) string { return `{"add":{` + inside + `}}` }
	rows := map[string]string{
		"not json":            `{"add"`,
		"array":               `[1]`,
		"scalar":              `7`,
		"torn line":           `{"add":{"path":"a","size":1}`,
		"two on a line":       `{"txn":{"appId":"a","version":1}}{"txn":{"appId":"b","version":1}}`,
		"two actions":         `{"txn":{"appId":"a","version":1},"remove":{"path":"x"}}`,
		"repeated member":     add(`"path":"good","path":"../bad","size":1`),
		"member in two cases": add(`"PATH":"good","size":1`),
		"add without path":    add(`"size":1`),
		"add without size":    add(`"path":"a"`),
		"negative size":       add(`"path":"a","size":-1`),
		"size beyond int64":   add(`"path":"a","size":9223372036854775808`),
		"size as fraction":    add(`"path":"a","size":1.5`),
		"size as text":        add(`"path":"a","size":"1"`),
		"invalid utf-8":       add("\"path\":\"\xff\",\"size\":1"),
		"dv storage":          add(`"path":"a","size":1,"deletionVector":{"storageType":"x","pathOrInlineDv":"a","sizeInBytes":1,"cardinality":1}`),
		"protocol empty":      `{"protocol":{}}`,
		"features too early":  `{"protocol":{"minReaderVersion":1,"minWriterVersion":2,"writerFeatures":[]}}`,
		"txn without version": `{"txn":{"appId":"a"}}`,
		"deep nesting":        `{"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
	}
	for name, body := range rows {
		t.Run(name, func(t *testing.T) {
			_, err := action.DecodeCommit([]byte(body), action.Limits{})
			require.ErrorIs(t, err, action.ErrMalformed)
		})
	}
}

func TestLimits(t *testing.T) {
	line := `{"remove":{"path":"abc"}}` + "\n"
	body := []byte(strings.Repeat(line, 3))
	for name, limits := range map[string]action.Limits{
		"line": {LineBytes: 10}, "commit": {CommitBytes: 30}, "actions": {Actions: 2},
	} {
		_, err := action.DecodeCommit(body, limits)
		require.ErrorIs(t, err, action.ErrTooLarge, name)
	}
	got, err := action.DecodeCommit(body, action.Limits{LineBytes: 25, CommitBytes: len(body), Actions: 3})
	require.NoError(t, err)
	require.Len(t, got, 3)
}

func TestCommitInfoOfAnyShape(t *testing.T) {
	got, err := action.DecodeCommit([]byte(`{"commitInfo":{"timestamp":"yesterday","operation":5,"operationParameters":[1],`+
		`"operationMetrics":{"a":1,"b":"2","c":{"d":3}},"isBlindAppend":"no","readVersion":null,"txnId":["x"]}}`), action.Limits{})
	require.NoError(t, err)
	info := got[0].(*action.CommitInfo)
	require.Zero(t, info.Timestamp)
	require.Nil(t, info.IsBlindAppend)
	require.Equal(t, map[string]string{"a": "1", "b": "2", "c": `{"d":3}`}, info.OperationMetrics)
	require.Contains(t, info.Extra, "txnId")
	for _, value := range []string{`[1,{"a":2}]`, `"by hand"`, "7", "true", "[]"} {
		got, err := action.DecodeCommit([]byte(`{"commitInfo":`+value+"}\n"+`{"txn":{"appId":"a","version":1}}`), action.Limits{})
		require.NoError(t, err, value)
		require.Equal(t, &action.CommitInfo{}, got[0], value)
		require.Len(t, got, 2, value)
	}
}

func TestEncodeRefuses(t *testing.T) {
	add := func(path, dv string) *action.Add {
		a := &action.Add{Path: path, Size: 1}
		if dv != "" {
			a.DeletionVector = &action.DeletionVector{StorageType: "i", PathOrInlineDV: dv}
		}
		return a
	}
	protocol := &action.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}
	rows := map[string][]action.Action{
		"add twice":              {add("a", ""), add("a", "")},
		"add twice, other dv":    {add("a", "x"), add("a", "y")},
		"remove twice":           {&action.Remove{Path: "a"}, &action.Remove{Path: "a"}},
		"add and remove, one dv": {add("a", ""), &action.Remove{Path: "a"}},
		"txn twice":              {&action.Txn{AppID: "a"}, &action.Txn{AppID: "a", Version: 2}},
		"protocol twice":         {protocol, protocol},
		"domain twice":           {&action.DomainMetadata{Domain: "d"}, &action.DomainMetadata{Domain: "d"}},
		"commitInfo late":        {protocol, &action.CommitInfo{}},
		"sidecar":                {&action.Sidecar{Path: "x"}},
		"add without path":       {&action.Add{Size: 1}},
	}
	for name, actions := range rows {
		t.Run(name, func(t *testing.T) {
			_, err := action.EncodeCommit(actions)
			require.ErrorIs(t, err, action.ErrInvalidCommit)
		})
	}
	_, err := action.EncodeCommit([]action.Action{
		&action.CommitInfo{}, add("a", "new"), &action.Remove{Path: "a"}, add("b", ""), &action.Txn{AppID: "a"}, &action.Txn{AppID: "b"},
	})
	require.NoError(t, err)
}

func TestRequiredMembersAreWritten(t *testing.T) {
	line, err := action.Encode(&action.Metadata{ID: "i", SchemaString: "{}"})
	require.NoError(t, err)
	require.JSONEq(t, `{"metaData":{"id":"i","format":{"provider":"","options":{}},"schemaString":"{}","partitionColumns":[],"configuration":{}}}`, string(line))
	line, err = action.Encode(&action.Add{Path: "p", Size: 1})
	require.NoError(t, err)
	require.JSONEq(t, `{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":0,"dataChange":false}}`, string(line))
}

// anyAction draws actions that can be in one commit.
func anyAction(t *rapid.T, i int) action.Action {
	text := rapid.String()
	optional := func(label string) *int64 {
		return rapid.Ptr(rapid.Int64(), true).Draw(t, label)
	}
	values := rapid.MapOf(text, rapid.Ptr(text, true))
	path := rapid.StringN(1, 20, -1).Draw(t, "path") + strings.Repeat("x", i)
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		a := &action.Add{
			Path: path, PartitionValues: values.Draw(t, "values"), Size: rapid.Int64Min(0).Draw(t, "size"),
			ModificationTime: rapid.Int64().Draw(t, "time"), DataChange: rapid.Bool().Draw(t, "change"),
			Stats: text.Draw(t, "stats"), BaseRowID: optional("row"),
		}
		if rapid.Bool().Draw(t, "dv") {
			a.DeletionVector = &action.DeletionVector{
				StorageType: "i", PathOrInlineDV: path, Offset: rapid.Ptr(rapid.Int32Min(0), true).Draw(t, "offset"),
				Cardinality: rapid.Int64Min(0).Draw(t, "cardinality"),
			}
		}
		return a
	case 1:
		return &action.Remove{
			Path: path, DeletionTimestamp: optional("deleted"), DataChange: rapid.Bool().Draw(t, "change"),
			PartitionValues: values.Draw(t, "values"), Size: optional("size"),
		}
	case 2:
		return &action.Txn{AppID: path, Version: rapid.Int64Min(math.MinInt64+1).Draw(t, "version"), LastUpdated: optional("updated")}
	case 3:
		return &action.DomainMetadata{Domain: path, Configuration: text.Draw(t, "configuration"), Removed: rapid.Bool().Draw(t, "removed")}
	}
	return &action.CDC{Path: path, PartitionValues: values.Draw(t, "values"), Size: rapid.Int64().Draw(t, "size")}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		info := &action.CommitInfo{
			Timestamp: rapid.Int64().Draw(t, "time"), Operation: rapid.String().Draw(t, "operation"),
			OperationParameters: map[string]string{}, TxnID: rapid.String().Draw(t, "txn"),
		}
		want := []action.Action{info}
		for i := range rapid.IntRange(0, 6).Draw(t, "n") {
			want = append(want, anyAction(t, i))
		}
		body, err := action.EncodeCommit(want)
		if err != nil {
			t.Skip("not one commit") // two draws named one thing
		}
		got, err := action.DecodeCommit(body, action.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s\n%s", d, body)
		}
	})
}

// members draws an object with some of the known members of an action, each with one of
// its values, and with unknown members.
func members(t *rapid.T, known map[string][]string) string {
	items := []string{}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if values := known[name]; len(values) == 1 || rapid.Bool().Draw(t, name) {
			items = append(items, `"`+name+`":`+rapid.SampledFrom(values).Draw(t, name+" value"))
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "unknown") {
		items = append(items, fmt.Sprintf(`"later%d":%s`, i, rapid.SampledFrom([]string{`{"a":[1,"x",{}]}`, `""`, "0", "false", "[]",
			"9007199254740993"}).Draw(t, "unknown value")))
	}
	return "{" + strings.Join(items, ",") + "}"
}

// TestEveryMemberIsPreserved decodes and encodes actions with every combination of
// members, including empty, zero and unknown ones.
func TestEveryMemberIsPreserved(t *testing.T) {
	texts, flags, numbers := []string{`""`, `"x"`, `"ü\u0000"`}, []string{"true", "false"}, []string{"0", "1", "-9223372036854775807"}
	values, lists := []string{`{}`, `{"p":null,"q":""}`}, []string{`[]`, `["a"]`}
	rapid.Check(t, func(t *rapid.T) {
		vector := []string{members(t, map[string][]string{"storageType": {`"u"`}, "pathOrInlineDv": {`"a"`}, "sizeInBytes": {"1"},
			"cardinality": {"1"}, "offset": {"0", "1"}})}
		file := map[string][]string{
			"path": {`"a"`}, "size": {"0"}, "dataChange": {"false"}, "partitionValues": {`{"p":null}`}, "modificationTime": {"0"},
			"stats": {`"{}"`, `"x"`}, "tags": values, "deletionVector": {vector[0], vector[0]}, "baseRowId": numbers,
			"defaultRowCommitVersion": numbers,
		}
		removed := maps.Clone(file)
		delete(removed, "modificationTime")
		removed["deletionTimestamp"], removed["extendedFileMetadata"], removed["partitionValues"], removed["size"] = numbers, flags, values,
			numbers
		added := maps.Clone(file)
		added["clusteringProvider"] = []string{`"x"`, `"y"`}
		body := map[string]map[string][]string{
			"add": added, "remove": removed,
			"metaData": {
				"id": {`"i"`}, "schemaString": {`"{}"`}, "partitionColumns": {`[]`}, "configuration": {`{"a":""}`},
				"format": {members(t, map[string][]string{"provider": {`"parquet"`}, "options": {`{}`}})},
				"name":   texts, "description": texts, "createdTime": numbers,
			},
			"protocol":       {"minReaderVersion": {"3"}, "minWriterVersion": {"7"}, "readerFeatures": lists, "writerFeatures": lists},
			"txn":            {"appId": {`"a"`}, "version": {"1"}, "lastUpdated": numbers},
			"domainMetadata": {"domain": {`"d"`}, "configuration": {`""`}, "removed": {"false"}},
			"cdc":            {"path": {`"a"`}, "partitionValues": {`{}`}, "size": {"0"}, "dataChange": {"false"}, "tags": values},
			"sidecar":        {"path": {`"a"`}, "sizeInBytes": {"0"}, "modificationTime": {"0"}, "tags": values},
			"commitInfo": {
				"timestamp": numbers, "inCommitTimestamp": numbers, "operation": texts, "operationParameters": values[:1],
				"operationMetrics": {`{}`, `{"a":""}`},
				"readVersion":      numbers, "isolationLevel": texts, "isBlindAppend": flags, "engineInfo": texts, "userId": texts, "userName": texts,
				"txnId": texts,
			},
		}
		kind := rapid.SampledFrom(slices.Sorted(maps.Keys(body))).Draw(t, "action")
		line := `{"` + kind + `":` + members(t, body[kind]) + `}`
		actions, err := action.DecodeCommit([]byte(line), action.Limits{})
		require.NoError(t, err, line)
		require.Len(t, actions, 1, line)
		again, err := action.Encode(actions[0])
		require.NoError(t, err, line)
		var want, got any
		require.NoError(t, stdjson.Unmarshal([]byte(line), &want))
		require.NoError(t, stdjson.Unmarshal(again, &got))
		require.Empty(t, cmp.Diff(want, got), line)
	})
}

func FuzzDecodeCommit(f *testing.F) {
	f.Add([]byte(`{"add":{"path":"a","partitionValues":{"p":null},"size":1,"modificationTime":2,"dataChange":true,"stats":"{}"}}`))
	f.Add([]byte(`{"commitInfo":{"timestamp":1,"operationMetrics":{"a":1}}}` + "\n" +
		`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":[]}}`))
	f.Add([]byte(`{"metaData":{"id":"i","format":{"provider":"parquet","options":{}},"schemaString":"{}","partitionColumns":[],"configuration":{}}}`))
	f.Add([]byte(`{"x":1,"remove":{"path":"..","deletionVector":{"storageType":"u","pathOrInlineDv":"a","offset":1,"sizeInBytes":1,` +
		`"cardinality":1}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		actions, err := action.DecodeCommit(body, action.Limits{})
		if err != nil {
			require.Truef(t, isTyped(err), "%v", err)
			return
		}
		for _, a := range actions {
			line, err := action.Encode(a)
			require.NoError(t, err)
			again, err := action.DecodeCommit(line, action.Limits{})
			require.NoError(t, err)
			require.Len(t, again, 1)
			second, err := action.Encode(again[0])
			require.NoError(t, err)
			require.Equal(t, string(line), string(second))
		}
	})
}

func isTyped(err error) bool {
	return errors.Is(err, action.ErrMalformed) || errors.Is(err, action.ErrTooLarge)
}
