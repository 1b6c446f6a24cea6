package delta

import (
	stdjson "encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// rowTrackingDomain is the metadata domain that holds the highest assigned row id
// (protocol, "Row Tracking").
const rowTrackingDomain = "delta.rowTracking"

// tracksRows reports whether every new file needs row ids, even if row tracking is not
// enabled for readers.
func (s *Snapshot) tracksRows() bool {
	return supports(s.state.protocol, featRowTracking) && !s.flag(propRowTrackingSuspend)
}

// RowColumns holds the physical names of the columns that materialize row ids and row
// commit versions of moved rows. They exist in data files only, not in the schema,
// statistics or change data files (protocol, "Row Tracking").
type RowColumns struct{ ID, CommitVersion string }

// RowColumns returns the names of a table whose moved rows must preserve their ids and
// commit versions. It is false if they need not, and if [CheckRewritable] returns an
// error.
func (s *Snapshot) RowColumns() (RowColumns, bool) {
	if !s.flag(propRowTracking) || s.checkRowColumns() != nil {
		return RowColumns{}, false
	}
	return s.rowColumns(), true
}

func (s *Snapshot) rowColumns() RowColumns { return rowColumnsOf(s.Properties()) }

// rowColumnsOf returns the names in the properties; a name is empty if it is not set.
func rowColumnsOf(properties map[string]string) RowColumns {
	return RowColumns{ID: properties[propRowIDColumn], CommitVersion: properties[propRowVersionColumn]}
}

// checkRowColumns refuses a table whose moved rows must preserve their ids but cannot.
func (s *Snapshot) checkRowColumns() error {
	if !s.flag(propRowTracking) {
		return nil
	}
	names := s.rowColumns()
	switch {
	case !s.tracksRows():
		return refuseWrite(featRowTracking, "new rows are not assigned ids")
	case names.ID == "" || names.CommitVersion == "" || strings.EqualFold(names.ID, names.CommitVersion):
		return refuseWrite(featRowTracking, "no columns are configured for the ids of moved rows")
	}
	stored := s.StoredFields()
	for i, f := range s.schema.Fields {
		if names.has(f.Name) || names.has(stored[i].Name) {
			return refuseWrite(featRowTracking, fmt.Sprintf("column %q has the name of a hidden column", f.Name))
		}
	}
	return nil
}

// has reports whether name is one of the names, ignoring case as readers do.
func (c RowColumns) has(name string) bool {
	return strings.EqualFold(c.ID, name) || strings.EqualFold(c.CommitVersion, name)
}

// nameRowColumns sets random names for the table's hidden columns. checkNewName makes
// sure that no column gets the same name later.
func nameRowColumns(properties map[string]string, newID func() string) {
	properties[propRowIDColumn] = "_row-id-col-" + newID()
	properties[propRowVersionColumn] = "_row-commit-version-col-" + newID()
}

// rowIDsPreserved marks a commit that preserves the ids of all existing rows and the
// commit versions of unchanged ones.
var rowIDsPreserved = map[string]stdjson.RawMessage{"tags": stdjson.RawMessage(`{"delta.rowTracking.preserved":"true"}`)}

type rowTracking struct {
	HighWaterMark *int64 `json:"rowIdHighWaterMark"`
}

// numberRows returns the files of the commit that follows s with their row ids, and the
// domain metadata with the new highest id, or nil if no id was assigned. It runs for
// every attempt, because the winning commits may have assigned ids too.
func (t *Txn) numberRows(s *Snapshot) ([]*action.Add, *action.DomainMetadata, error) {
	if !s.tracksRows() || len(t.adds) == 0 {
		return t.adds, nil, nil
	}
	high, err := s.highestRowID()
	if err != nil {
		return nil, nil, err
	}
	start, version := high, s.version+1
	numbered := make([]*action.Add, len(t.adds))
	for i, a := range t.adds {
		numbered[i] = a
		if a.BaseRowID != nil {
			continue // the rows were in the table before
		}
		n, ok := numRecords(a.Stats)
		if !ok || n > math.MaxInt64-1-high {
			return nil, nil, fmt.Errorf("rows of file %q cannot be numbered: %w", a.Path, ErrInvalidTxn)
		}
		add, base := *a, high+1
		add.BaseRowID, add.DefaultRowCommitVersion = &base, &version
		numbered[i] = &add
		high += n
	}
	if high == start {
		return numbered, nil, nil
	}
	return numbered, &action.DomainMetadata{
		Domain: rowTrackingDomain, Configuration: `{"rowIdHighWaterMark":` + strconv.FormatInt(high, 10) + `}`,
	}, nil
}

// highestRowID returns -1 if no id was assigned.
func (s *Snapshot) highestRowID() (int64, error) {
	d := s.state.domains[rowTrackingDomain]
	if d == nil {
		return -1, nil
	}
	var mark rowTracking
	if err := json.Unmarshal([]byte(d.Configuration), &mark); err != nil || mark.HighWaterMark == nil || *mark.HighWaterMark < -1 {
		return 0, fmt.Errorf("domain %s: %w", rowTrackingDomain, ErrMalformed)
	}
	return *mark.HighWaterMark, nil
}
