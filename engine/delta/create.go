package delta

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// CreateOptions describes a new table.
type CreateOptions struct {
	Schema           Struct
	PartitionColumns []string
	Properties       map[string]string
	Name             string
	Description      string
	// UserID and UserName are recorded in the first commit.
	UserID   string
	UserName string
	// Options apply to the returned snapshot. At is ignored.
	Options Options
}

// Create writes version 0 of a table into a folder without a log. Existing data files
// in the folder do not become part of the table.
//
// Errors: those of [CreateOptions.Validate], [ErrTableExists],
// [ErrUnsupportedFeature], [ErrCommitUnknown], and those of the bucket.
func Create(ctx context.Context, b objstore.Bucket, c CreateOptions) (*Snapshot, error) {
	s, err := create(ctx, b, c)
	if err != nil {
		return nil, fmt.Errorf("creating delta table: %w", err)
	}
	return s, nil
}

func create(ctx context.Context, b objstore.Bucket, c CreateOptions) (*Snapshot, error) {
	opts := c.Options
	opts.At = At{}
	opts = opts.orDefault()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Properties = maps.Clone(c.Properties)
	if strings.EqualFold(c.Properties[propRowTracking], "true") {
		nameRowColumns(c.Properties, opts.NewID)
	}
	if mapped(c.Properties) {
		numbers := newColumnNumbers(c.Schema, nil, columnName(opts.NewID))
		c.Schema, _ = numbers.assign(c.Schema).(Struct)
		c.Properties[propMaxColumnID] = strconv.Itoa(numbers.last)
	}
	protocol := newProtocol(c.Schema, c.Properties)
	schemaString, err := c.Schema.JSON()
	if err != nil {
		return nil, err
	}
	metadata := &action.Metadata{
		ID: opts.NewID(), Name: unlessEmpty(c.Name), Description: unlessEmpty(c.Description),
		Format:       action.Format{Provider: "parquet", Options: map[string]string{}},
		SchemaString: schemaString, PartitionColumns: slices.Clone(c.PartitionColumns),
		Configuration: c.Properties, CreatedTime: new(opts.Clock().UnixMilli()),
	}
	// List first: in a table whose old commits were cleaned up, version 0 does not
	// exist either.
	for o, err := range b.List(ctx, logpath.Dir, objstore.ListOptions{Shallow: true}) {
		if err != nil {
			return nil, err
		}
		if logpath.Parse(o.Name).Kind != logpath.Other {
			return nil, ErrTableExists
		}
	}
	st := emptyState(opts.EngineInfo, b)
	st.protocol, st.metadata = protocol, metadata
	before, err := newSnapshot(b, opts, -1, st, &commit{version: -1})
	if err != nil {
		return nil, err
	}
	if err := CheckWritable(before, EvaluatesChecks, EvaluatesInvariants, FillsDefaults, FillsGenerated); err != nil {
		return nil, err
	}
	if err := before.checkResult(before.Files()); err != nil {
		return nil, err
	}
	return before.publishFirst(ctx, c)
}

// unlessEmpty returns nil if text is empty, so that the member is omitted from the log.
func unlessEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// publishFirst publishes version 0 on top of s, which is the empty state before it.
func (s *Snapshot) publishFirst(ctx context.Context, c CreateOptions) (*Snapshot, error) {
	t := s.Begin(Operation{Name: "CREATE TABLE", UserID: c.UserID, UserName: c.UserName, Parameters: map[string]string{
		"isManaged":   "false",
		"description": action.JSONText(c.Description),
		"partitionBy": jsonList(c.PartitionColumns),
		"properties":  jsonObject(c.Properties),
	}})
	t.protocol, t.metadata = s.state.protocol, s.state.metadata
	body, err := t.body(s)
	if err != nil {
		return nil, err
	}
	own, err := decodeCommit(0, body, s.opts.Limits)
	if err != nil {
		return nil, err
	}
	result, cause := publish(ctx, s.committer(), 0, body)
	if result == refused {
		return nil, cause
	}
	var first *Snapshot
	if result == committed {
		first, err = t.landed(ctx, s, own, len(body))
	} else {
		// The commit may have been published despite an unknown outcome, or by a
		// request that the client repeated.
		r := t.rebase(ctx, s, t.attempt())
		switch {
		case r.ours:
			first, err = r.snapshot, r.err
		case r.taken:
			return nil, ErrTableExists
		default:
			return nil, &UnknownError{TxnID: t.id, cause: errors.Join(cause, r.err)}
		}
	}
	if err != nil {
		return nil, err
	}
	first.afterCommit(ctx)
	return first, nil
}

func jsonList(list []string) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = action.JSONText(s)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func jsonObject(m map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, action.JSONText(k)+":"+action.JSONText(m[k]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}
