package bench

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed workloads/*.json
var workloadFiles embed.FS

// Kind says how a workload is run.
type Kind string

// The kinds of workloads.
const (
	// KindCompare runs the same statements on the server and on peers.
	KindCompare Kind = "compare"
	// KindPoint measures the server's overhead for one short statement.
	KindPoint Kind = "point"
	// KindFirst measures the first statement of new users.
	KindFirst Kind = "first"
	// KindValidate measures the time until a statement is refused.
	KindValidate Kind = "validate"
	// KindStream measures memory and the time of the first byte for a large result.
	KindStream Kind = "stream"
	// KindIdle measures the memory of idle users.
	KindIdle Kind = "idle"
	// KindIsolation compares a server whose engine runs in separate processes with
	// one whose engine does not.
	KindIsolation Kind = "isolation"
	// KindBudget runs statements of many users at once within one memory budget.
	KindBudget Kind = "budget"
	// KindKills measures one organisation while the process of another is killed.
	KindKills Kind = "kills"
	// KindLog compares loading the snapshot of a table with delta-rs.
	KindLog Kind = "log"
	// KindMaintain compares maintenance of a table with delta-rs.
	KindMaintain Kind = "maintain"
	// KindWrite writes rows to a table with a key, and alternates merges with
	// delta-rs.
	KindWrite Kind = "write"
	// KindBodies measures the cost of request bodies for the server, without its
	// engine.
	KindBodies Kind = "bodies"
	// KindFlood measures one user while others send wrong keys.
	KindFlood Kind = "flood"
	// KindInfer compares the inference of a CSV file's schema with plain DuckDB's reading
	// of the file.
	KindInfer Kind = "infer"
	// KindAllowed compares the list of a reference domain's values with the same statement
	// in plain DuckDB.
	KindAllowed Kind = "allowed"
	// KindRequests sends small requests of many keys at a fixed rate.
	KindRequests Kind = "requests"
	// KindSharing measures when the attach of a storage configuration takes effect on open
	// sessions.
	KindSharing Kind = "sharing"
	// KindSlow measures one user while another one reads results too slowly.
	KindSlow Kind = "slow"
	// KindMove compares moves between object stores with rclone.
	KindMove Kind = "move"
	// KindDiscover measures the discovery of many tables.
	KindDiscover Kind = "discover"
	// KindAnalysis compares the answers of analyses with what is known of generated tables.
	KindAnalysis Kind = "analysis"
)

// Workload is one measurement, described by data.
type Workload struct {
	Name  string   `json:"name"`
	Title string   `json:"title"`
	Kind  Kind     `json:"kind"`
	Tags  []string `json:"tags"`
	// Folder is the folder of the tables, below the data folder. Default tpch.
	Folder string `json:"folder"`
	// Remote reads the tables from an object store on loopback.
	Remote *Remote `json:"remote"`
	// Log is the table of a log workload.
	Log *Log `json:"log"`
	// Maintenance is the work of a maintain workload.
	Maintenance *Maintenance `json:"maintenance"`
	// Write is the work of a write workload.
	Write *Write `json:"write"`
	// Bodies are the requests of a bodies workload.
	Bodies *Bodies `json:"bodies"`
	// Flood is the load that runs during the statements of a flood workload.
	Flood *Flood `json:"flood"`
	// Slow are the readers of a slow workload.
	Slow *SlowReaders `json:"slow"`
	// Inference is the file of an infer workload.
	Inference *Inference `json:"inference"`
	// Allowed is the domain of an allowed workload.
	Allowed *AllowedValues `json:"allowed"`
	// Requests is the load of a requests workload.
	Requests *Requests `json:"requests"`
	// Move is what a move workload moves.
	Move *Move `json:"move"`
	// Discovery is the bucket of a discover workload.
	Discovery *Discovery `json:"discovery"`
	// Analysis is what an analysis workload asks for.
	Analysis *Analysis `json:"analysis"`
	// Filtered runs the workload under the row filters of filters.json.
	Filtered bool `json:"filtered"`
	// Peers are the subjects other than the server: duckdb, roapi, splink, visible, which
	// is plain DuckDB over tables of the visible rows alone, and local, which is another
	// server over the same tables on disk.
	Peers []string `json:"peers"`
	// Modes are the ways in which plain DuckDB reads the table of a point workload.
	Modes []string `json:"modes"`
	// Queries names a file of statements in the data folder; Statements lists them
	// directly. A workload has one of the two.
	Queries    string      `json:"queries"`
	Statements []Statement `json:"statements"`
	// Again runs each statement twice in a row and measures the second run, which finds the copies
	// of visible rows that the first one made.
	Again  bool `json:"again"`
	Warmup int  `json:"warmup"`
	Runs   int  `json:"runs"`
	// Users is the number of users of a first, idle, budget or sharing workload.
	Users int `json:"users"`
	// BudgetMiB is the memory that the statements of a budget workload share.
	BudgetMiB int `json:"budget_mib"`
	// Kills is the number of processes that a kills workload kills.
	Kills int `json:"kills"`
	// Sizes are the statement lengths of a validate workload, in bytes.
	Sizes []int `json:"sizes"`
	// Seed determines the order of statements, the drawn values and the generated tables.
	Seed    uint64   `json:"seed"`
	Targets []Target `json:"targets"`
}

// Remote describes the object store.
type Remote struct {
	// Store is its kind: s3 (the default), azure or gcs.
	Store string `json:"store"`
	// DelayMillis is the delay of every request.
	DelayMillis int `json:"delay_ms"`
}

func (r Remote) kind() string { return cmp.Or(r.Store, storeS3) }

// Statement is a query of a workload. The argument "$key" is replaced by a value
// drawn between 1 and Keys.
type Statement struct {
	Name string `json:"name"`
	SQL  string `json:"sql"`
	Args []any  `json:"args"`
	Keys int    `json:"keys"`
	// Repeat is how often an isolation or flood workload runs the statement in a
	// round. Default 1.
	Repeat int `json:"repeat"`
}

// Target is a bound on one metric of the workload's outcome.
type Target struct {
	Metric  string   `json:"metric"`
	AtMost  *float64 `json:"at_most"`
	AtLeast *float64 `json:"at_least"`
}

// Met reports whether value is within the bound.
func (t Target) Met(value float64) bool {
	return (t.AtMost == nil || value <= *t.AtMost) && (t.AtLeast == nil || value >= *t.AtLeast)
}

// Filter is a row filter in two forms: the policy condition for the server, and the
// equivalent hand-written predicate.
type Filter struct {
	// Folder is the folder of the table, if the filter is not for every folder without filters of
	// its own.
	Folder string `json:"folder"`
	Table  string `json:"table"`
	Column string `json:"column"`
	Op     string `json:"op"`
	Value  any    `json:"value"`
	SQL    string `json:"sql"`
}

// Workloads returns all workloads, by name.
func Workloads() ([]Workload, error) {
	names, err := fs.Glob(workloadFiles, "workloads/*.json")
	if err != nil {
		return nil, fmt.Errorf("list workloads: %w", err)
	}
	var all []Workload
	for _, name := range names {
		if strings.HasSuffix(name, "/filters.json") {
			continue
		}
		var w Workload
		if err := decodeFile(name, &w); err != nil {
			return nil, err
		}
		if err := w.validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, w)
	}
	return all, nil
}

// Select returns the workloads with one of the comma-separated names or tags; "all"
// selects all.
func Select(all []Workload, choice string) ([]Workload, error) {
	if choice == "" || choice == "all" {
		return all, nil
	}
	wanted := strings.Split(choice, ",")
	var chosen []Workload
	for _, w := range all {
		match := func(word string) bool { return word == w.Name || slices.Contains(w.Tags, word) }
		if slices.ContainsFunc(wanted, match) {
			chosen = append(chosen, w)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no workload has the name or tag %q", choice)
	}
	return chosen, nil
}

// Filters returns the row filters of the filtered workloads.
func Filters() ([]Filter, error) {
	var filters []Filter
	err := decodeFile("workloads/filters.json", &filters)
	return filters, err
}

func decodeFile(name string, into any) error {
	text, err := workloadFiles.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("decode %s: %w", name, err)
	}
	return nil
}

func (w Workload) validate() error {
	kinds := []Kind{KindCompare, KindPoint, KindFirst, KindValidate, KindStream, KindIdle, KindIsolation, KindBudget, KindKills, KindLog,
		KindMaintain, KindWrite, KindBodies, KindFlood, KindInfer, KindAllowed, KindRequests, KindSharing, KindSlow, KindMove, KindDiscover,
		KindAnalysis}
	switch {
	case w.Name == "" || w.Title == "":
		return errors.New("a workload needs a name and a title")
	case !slices.Contains(kinds, w.Kind):
		return fmt.Errorf("unknown kind %q", w.Kind)
	case w.Runs < 1:
		return errors.New("runs must be positive")
	case (w.Queries != "") == (len(w.Statements) > 0) &&
		!slices.Contains([]Kind{KindValidate, KindLog, KindMaintain, KindWrite, KindBodies, KindInfer, KindAllowed, KindRequests, KindMove,
			KindDiscover, KindAnalysis}, w.Kind):
		return errors.New("exactly one of queries and statements")
	case (w.Kind == KindLog) != (w.Log != nil):
		return errors.New("a log workload, and no other, describes a log")
	case (w.Kind == KindMaintain) != (w.Maintenance != nil):
		return errors.New("a maintain workload, and no other, describes maintenance")
	case (w.Kind == KindWrite) != (w.Write != nil):
		return errors.New("a write workload, and no other, describes a write")
	case (w.Kind == KindBodies) != (w.Bodies != nil):
		return errors.New("a bodies workload, and no other, has bodies")
	case (w.Kind == KindSlow) != (w.Slow != nil):
		return errors.New("a slow workload, and no other, describes slow readers")
	case (w.Kind == KindFlood) != (w.Flood != nil):
		return errors.New("a flood workload, and no other, describes a flood")
	case (w.Kind == KindInfer) != (w.Inference != nil):
		return errors.New("an infer workload, and no other, describes a file")
	case (w.Kind == KindAllowed) != (w.Allowed != nil):
		return errors.New("an allowed workload, and no other, describes a domain")
	case (w.Kind == KindRequests) != (w.Requests != nil):
		return errors.New("a requests workload, and no other, describes requests")
	case (w.Kind == KindMove) != (w.Move != nil):
		return errors.New("a move workload, and no other, describes a move")
	case (w.Kind == KindDiscover) != (w.Discovery != nil):
		return errors.New("a discover workload, and no other, describes a discovery")
	case (w.Kind == KindAnalysis) != (w.Analysis != nil):
		return errors.New("an analysis workload, and no other, describes an analysis")
	case (w.Kind == KindPoint) != (len(w.Modes) > 0):
		return errors.New("a point workload, and no other, has modes")
	case w.Kind == KindBudget && (w.BudgetMiB < 1 || w.Users < 1):
		return errors.New("a budget workload needs a budget and users")
	case w.Kind == KindSharing && w.Users < 2:
		return errors.New("a sharing workload needs two users")
	case (w.Kind == KindKills) != (w.Kills > 0):
		return errors.New("a kills workload, and no other, has kills")
	case w.Remote != nil && w.Kind != KindCompare:
		return errors.New("only a compare workload can be remote")
	case len(w.Targets) == 0:
		return errors.New("a workload without a target decides nothing")
	}
	if w.Move != nil {
		if err := w.Move.validate(); err != nil {
			return err
		}
	}
	if w.Analysis != nil {
		if err := w.Analysis.validate(); err != nil {
			return err
		}
	}
	for _, t := range w.Targets {
		if t.AtMost == nil && t.AtLeast == nil {
			return fmt.Errorf("target %s has no bound", t.Metric)
		}
	}
	for _, p := range w.Peers {
		switch {
		case p == peerDuckDB && (w.Remote == nil || w.Remote.kind() == storeS3):
		case p == peerSplink && w.Analysis != nil, p == peerVisible && w.Filtered && w.folder() == folderTPCDS:
		case p == peerRoapi && w.Remote == nil, p == peerLocal && w.Remote != nil:
		default:
			return fmt.Errorf("no peer %q in such a workload", p)
		}
	}
	return nil
}

// prepared reports whether the workload reads tables that Prepare creates.
func (w Workload) prepared() bool {
	return !slices.Contains([]Kind{KindLog, KindBodies, KindFlood, KindInfer, KindAllowed, KindRequests, KindSharing, KindSlow, KindMove,
		KindDiscover, KindAnalysis}, w.Kind)
}

// folder returns the folder of the workload's tables, below the data folder.
func (w Workload) folder() string {
	if w.Folder == "" {
		return folderTPCH
	}
	return w.Folder
}

// settings returns the server's settings for the workload, in addition to those of
// every run.
func (w Workload) settings() []string {
	var settings []string
	if w.Remote != nil || w.Move != nil || w.Discovery != nil {
		settings = append(settings, "LAKEWARDEN_ALLOW_PRIVATE_ENDPOINTS=true")
	}
	if w.Kind == KindIsolation || w.Kind == KindKills || w.Kind == KindBodies {
		settings = append(settings, "LAKEWARDEN_ISOLATION="+isolationProcess)
	}
	if w.Write != nil && w.Write.Operation == "insert" {
		settings = append(settings, "LAKEWARDEN_LOG_LEVEL=debug") // logs the number of files of each check of keys
	}
	if w.Slow != nil {
		settings = append(settings, fmt.Sprintf("LAKEWARDEN_SPILL_MIB=%d", slowSpillMiB),
			fmt.Sprintf("LAKEWARDEN_SPILL_ORG_MIB=%d", slowSpillMiB/2))
	}
	if w.BudgetMiB > 0 {
		settings = append(settings, fmt.Sprintf("LAKEWARDEN_MEMORY_MIB=%d", w.BudgetMiB))
	}
	return settings
}

// ParseQueries splits a file of statements, each of which follows a line "-- name:
// NAME".
func ParseQueries(text string) ([]Statement, error) {
	const mark = "-- name:"
	var statements []Statement
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, mark); ok {
			statements = append(statements, Statement{Name: strings.TrimSpace(name)})
			continue
		}
		if len(statements) == 0 {
			if strings.TrimSpace(line) != "" {
				return nil, fmt.Errorf("text before the first %q line", mark)
			}
			continue
		}
		statements[len(statements)-1].SQL += line
	}
	for i := range statements {
		statements[i].SQL = strings.TrimRight(strings.TrimSpace(statements[i].SQL), "; \n")
		if statements[i].SQL == "" {
			return nil, fmt.Errorf("statement %s is empty", statements[i].Name)
		}
	}
	return statements, nil
}
