package delta

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

func value(s string) *string { return &s }

// TestConflictRules names its cases as they are commonly called for Delta.
func TestConflictRules(t *testing.T) {
	set := func(names ...string) map[string]struct{} {
		m := make(map[string]struct{})
		for _, n := range names {
			m[n] = struct{}{}
		}
		return m
	}
	inPartition := func(want string) func(map[string]*string) bool {
		return func(v map[string]*string) bool { return v["p"] != nil && *v["p"] == want }
	}
	add := func(p string) []*action.Add {
		return []*action.Add{{Path: "new-" + p, DataChange: true, PartitionValues: map[string]*string{"p": value(p)}}}
	}
	v2 := &action.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}
	features := func(list ...string) *action.Protocol {
		return &action.Protocol{MinReaderVersion: 1, MinWriterVersion: 7, WriterFeatures: append(list, featAppendOnly, featInvariants)}
	}
	rows := []struct {
		name string
		we   attempt
		won  winner
		want error
	}{
		{"allow_append_append", attempt{blindAppend: true}, winner{adds: add("a"), blindAppend: true}, nil},
		{"allow_append_delete", attempt{blindAppend: true}, winner{removes: []string{"f"}}, nil},
		{"disallow_whole_table_read_append", attempt{reads: reads{whole: true}}, winner{adds: add("a"), blindAppend: true}, ErrConcurrentAppend},
		{
			"allow_whole_table_read_blind_append_write_serializable",
			attempt{reads: reads{whole: true}, isolation: WriteSerializable},
			winner{adds: add("a"), blindAppend: true}, nil,
		},
		{
			"disallow_whole_table_read_other_append_write_serializable",
			attempt{reads: reads{whole: true}, isolation: WriteSerializable},
			winner{adds: add("a")}, ErrConcurrentAppend,
		},
		{
			"metadata_change_reads_everything_write_serializable",
			attempt{changesMetadata: true, isolation: WriteSerializable},
			winner{adds: add("a"), blindAppend: true}, ErrConcurrentAppend,
		},
		{
			"allow_concurrent_add_in_other_partition",
			attempt{partitioned: true, reads: reads{partitions: []func(map[string]*string) bool{inPartition("a")}}},
			winner{adds: add("b")}, nil,
		},
		{
			"add_in_partition_that_was_read",
			attempt{partitioned: true, reads: reads{partitions: []func(map[string]*string) bool{inPartition("a"), inPartition("b")}}},
			winner{adds: add("b")}, ErrConcurrentAppend,
		},
		{"unpartitioned_reader_conflicts_with_any_append", attempt{reads: reads{files: set("f")}}, winner{adds: add("a")}, ErrConcurrentAppend},
		{"disjoint_delete_read", attempt{reads: reads{files: set("f")}}, winner{removes: []string{"g"}}, nil},
		{"delete_read", attempt{reads: reads{files: set("f")}}, winner{removes: []string{"f"}}, ErrConcurrentDeleteRead},
		{"read_whole_table_disallows_delete", attempt{reads: reads{whole: true}}, winner{removes: []string{"g"}}, ErrConcurrentDeleteRead},
		{
			"delete_delete", attempt{reads: reads{files: set("f")}, removes: set("f")},
			winner{removes: []string{"f"}}, ErrConcurrentDeleteDelete,
		},
		{
			"optimize_with_append", attempt{reads: reads{files: set("f")}, removes: set("f"), isolation: SnapshotIsolation},
			winner{adds: add("a")}, nil,
		},
		{
			"optimize_with_delete_of_same_file", attempt{reads: reads{files: set("f")}, removes: set("f"), isolation: SnapshotIsolation},
			winner{removes: []string{"f"}}, ErrConcurrentDeleteDelete,
		},
		{"metadata_change", attempt{blindAppend: true}, winner{changesMetadata: true}, ErrMetadataChanged},
		{"same_app_id", attempt{blindAppend: true, reads: reads{apps: set("a")}}, winner{apps: []string{"b", "a"}}, ErrConcurrentTransaction},
		{"other_app_id", attempt{blindAppend: true, reads: reads{apps: set("a")}}, winner{apps: []string{"b"}}, nil},
		{"same_domain", attempt{domains: []string{"d"}}, winner{domains: []string{"d"}}, ErrDomainConflict},
		{"other_domain", attempt{domains: []string{"d"}}, winner{domains: []string{"e"}}, nil},
		{"protocol_both", attempt{changesProtocol: true}, winner{before: v2, protocol: v2}, ErrProtocolChanged},
		{"protocol_gains_harmless_feature", attempt{blindAppend: true}, winner{before: v2, protocol: features(featDV, featDomains)}, nil},
		{"protocol_gains_rule_for_rows", attempt{blindAppend: true}, winner{before: v2, protocol: features(featChecks)}, ErrProtocolChanged},
		{"protocol_loses_feature", attempt{blindAppend: true}, winner{before: features(featDV), protocol: features()}, ErrProtocolChanged},
		{
			"protocol_comes_before_append", attempt{reads: reads{whole: true}, changesProtocol: true},
			winner{before: v2, protocol: v2, adds: add("a"), changesMetadata: true}, ErrProtocolChanged,
		},
	}
	terminal := []error{ErrProtocolChanged, ErrConcurrentTransaction}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			err := conflict(&row.we, &row.won)
			if row.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, row.want)
			isTerminal := false
			for _, e := range terminal {
				isTerminal = isTerminal || errors.Is(err, e)
			}
			require.Equal(t, !isTerminal, errors.Is(err, ErrConflict))
		})
	}
}
