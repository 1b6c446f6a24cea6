package delta

import (
	"fmt"
	"math"
	"strconv"

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
