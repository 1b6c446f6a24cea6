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

// rowTrackingDomain holds the highest row id that was given out (protocol, "Row
// Tracking").
const rowTrackingDomain = "delta.rowTracking"

// tracksRows reports whether every file needs row ids, whether or not anybody
// reads them yet.
func (s *Snapshot) tracksRows() bool {
	return supports(s.state.protocol, featRowTracking) && !s.flag(propRowTrackingSuspend)
}

// RowColumns names the columns that hold ids and commit versions of rows which came
// from another file. They are in data files only: no schema, statistics or feed of
// changes has them (protocol, "Row Tracking").
type RowColumns struct{ ID, CommitVersion string }

// RowColumns are those of a table whose rows keep ids and commit versions when they
// move. It is false where they need not, and where [CheckRewritable] refuses.
func (s *Snapshot) RowColumns() (RowColumns, bool) {
	if !s.flag(propRowTracking) || s.checkRowColumns() != nil {
		return RowColumns{}, false
	}
	return s.rowColumns(), true
}

func (s *Snapshot) rowColumns() RowColumns { return rowColumnsOf(s.Properties()) }

// rowColumnsOf are those that properties name; a name is empty where they do not.
func rowColumnsOf(properties map[string]string) RowColumns {
	return RowColumns{ID: properties[propRowIDColumn], CommitVersion: properties[propRowVersionColumn]}
}

// checkRowColumns refuses a table whose rows must keep their ids and could not.
func (s *Snapshot) checkRowColumns() error {
	if !s.flag(propRowTracking) {
		return nil
	}
	names := s.rowColumns()
	switch {
	case !s.tracksRows():
		return refuseWrite(featRowTracking, "rows get no ids")
	case names.ID == "" || names.CommitVersion == "" || strings.EqualFold(names.ID, names.CommitVersion):
		return refuseWrite(featRowTracking, "ids of rows that move have no columns of their own")
	}
	stored := s.StoredFields()
	for i, f := range s.schema.Fields {
		if names.has(f.Name) || names.has(stored[i].Name) {
			return refuseWrite(featRowTracking, fmt.Sprintf("column %q has the name of a hidden one", f.Name))
		}
	}
	return nil
}

// has reports whether name is that of one of them to readers, who do not tell upper
// from lower case.
func (c RowColumns) has(name string) bool {
	return strings.EqualFold(c.ID, name) || strings.EqualFold(c.CommitVersion, name)
}

// nameRowColumns gives a table the names of its hidden columns. That nobody else has
// such a name is why a column may never get one of them: see checkNewName.
func nameRowColumns(properties map[string]string, newID func() string) {
	properties[propRowIDColumn] = "_row-id-col-" + newID()
	properties[propRowVersionColumn] = "_row-commit-version-col-" + newID()
}

// rowIDsPreserved marks a commit after which every row that was there before has its id
// and, unless it was changed, its commit version.
var rowIDsPreserved = map[string]stdjson.RawMessage{"tags": stdjson.RawMessage(`{"delta.rowTracking.preserved":"true"}`)}

type rowTracking struct {
	HighWaterMark *int64 `json:"rowIdHighWaterMark"`
}

// numberRows returns the adds of a commit that follows s with the ids of their
// rows, and the domain that remembers how far they go; nil when nothing was
// given out. Each try of a commit numbers anew: the winners took ids too.
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

// highestRowID is -1 before the first row.
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
