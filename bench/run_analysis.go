package bench

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

//go:embed data/planted/*.py
var plantedScripts embed.FS

// Analysis describes the generated tables of an analysis workload.
type Analysis struct {
	// Measure says which tables are generated, which analyses run on them and how their
	// answers are judged; see [measures].
	Measure string `json:"measure"`
	// Rows is the size of the tables, in the unit of the generator.
	Rows int `json:"rows"`
}

// measures holds the generators of the measures, in data/planted.
var measures = map[string]string{
	"duplicates":   "people",
	"standardize":  "keyed",
	"anomalies":    "defects",
	"placeholders": "placeholders",
	"classify":     "typed",
	"mapping":      "headers",
	"checks":       "rules",
	"changes":      "versions",
	"clean":        "clean",
}

func (a Analysis) validate() error {
	if _, ok := measures[a.Measure]; !ok {
		return fmt.Errorf("unknown measure %q", a.Measure)
	}
	if a.Rows < 1 {
		return errors.New("an analysis needs rows")
	}
	return nil
}

// planted is what a generator says about its tables. Each generator sets some of the fields.
type planted struct {
	// Keys are the primary keys by table.
	Keys map[string][]string `json:"keys"`
	// Tables are the names of the tables.
	Tables []string `json:"tables"`
	// Entities has the person of each row, in the order of the ids from 1.
	Entities []int `json:"entities"`
	// Clusters are the values that key collision puts together.
	Clusters     [][]string    `json:"clusters"`
	Defects      []defect      `json:"defects"`
	Placeholders []placeholder `json:"placeholders"`
	Columns      []typedColumn `json:"columns"`
	Requests     []headers     `json:"requests"`
	Differences  []difference  `json:"differences"`

	folder string // path of the generated tables
	whole  string // path of the larger tables of the measure clean
	truth  string // path of the truth
	schema string // of the tables at the server
}

// analysisAnswer is the reply of an analysis. Optional members may be absent.
type analysisAnswer struct {
	Engine    string          `json:"engine"`
	Sampled   bool            `json:"sampled"`
	Result    json.RawMessage `json:"result"`
	Proposals []proposal      `json:"proposals"`
}

// proposal is a change that an analysis suggests.
type proposal struct {
	Title  string         `json:"title"`
	Apply  *proposedCall  `json:"apply"`
	Effect proposedEffect `json:"effect"`
}

type proposedCall struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body"`
}

type proposedEffect struct {
	Violations *int64 `json:"violations"`
}

// analysisLimit is the limit of findings in requests, the largest that the server accepts.
const analysisLimit = 10_000

// analysis generates tables, requests analyses of them and judges the answers.
func (r *runner) analysis(ctx context.Context) error {
	p, err := r.plant(ctx)
	if err != nil {
		return err
	}
	switch r.workload.Analysis.Measure {
	case "duplicates":
		return r.judgeDuplicates(ctx, p)
	case "standardize":
		return r.judgeStandardize(ctx, p)
	case "anomalies":
		return r.judgeAnomalies(ctx, p)
	case "placeholders":
		return r.judgePlaceholders(ctx, p)
	case "classify":
		return r.judgeClasses(ctx, p)
	case "mapping":
		return r.judgeMapping(ctx, p)
	case "checks":
		return r.judgeChecks(ctx, p)
	case "changes":
		return r.judgeChanges(ctx, p)
	default:
		return r.judgeClean(ctx, p)
	}
}

// plant generates the tables, unless they exist, and registers a copy of them with the
// server.
func (r *runner) plant(ctx context.Context) (*planted, error) {
	in, seed := r.workload.Analysis, r.workload.Seed
	if r.cfg.Seed != 0 {
		seed = r.cfg.Seed
		r.out.note("seed %d instead of %d", seed, r.workload.Seed)
	}
	folder := filepath.Join(r.cfg.Data, fmt.Sprintf("analysis-%s-%d-%d", in.Measure, in.Rows, seed))
	p := &planted{folder: folder, whole: folder + "-whole", truth: folder + ".json"}
	args := []string{folder, strconv.Itoa(in.Rows), strconv.FormatUint(seed, 10)}
	switch in.Measure {
	case "anomalies":
		args = append(args, r.cfg.Flights)
	case "clean":
		args = append(args, p.whole)
	}
	text, err := plantedScript("folder", measures[in.Measure])
	if err != nil {
		return nil, err
	}
	r.cfg.Progress("%s: generate tables", r.workload.Name)
	if err := script(ctx, r.cfg, text, args...); err != nil {
		return nil, err
	}
	truth, err := os.ReadFile(p.truth)
	if err != nil {
		return nil, fmt.Errorf("read truth: %w", err)
	}
	if err := json.Unmarshal(truth, p); err != nil {
		return nil, fmt.Errorf("decode truth: %w", err)
	}
	// The declaration of a key is a commit, so the server gets a copy of the tables.
	own := filepath.Join(filepath.Base(r.server.dir), "analysed")
	if err := linkTree(folder, filepath.Join(r.cfg.Data, own)); err != nil {
		return nil, fmt.Errorf("copy tables: %w", err)
	}
	if p.schema, err = r.server.storage(ctx, own); err != nil {
		return nil, err
	}
	for table, key := range p.Keys {
		path := p.path(table) + "/primary-key"
		if err := r.server.admin.call(ctx, http.MethodPut, path, map[string]any{"columns": key}, nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// plantedScript returns files of data/planted, one after another.
func plantedScript(names ...string) (string, error) {
	var all []byte
	for _, name := range names {
		text, err := plantedScripts.ReadFile("data/planted/" + name + ".py")
		if err != nil {
			return "", fmt.Errorf("read script: %w", err)
		}
		all = append(append(all, text...), '\n')
	}
	return string(all), nil
}

func (p *planted) path(table string) string { return "/v1/tables/lake/" + p.schema + "/" + table }

// ask requests an analysis of a table and decodes its result, unless result is nil. It returns
// the time of the request that was answered, without waits for limits of the server.
func (r *runner) ask(ctx context.Context, p *planted, table, action string, options map[string]any, result any) (analysisAnswer,
	time.Duration, error) {
	request := map[string]any{"action": action, "limit": analysisLimit}
	for name, value := range options {
		request[name] = value
	}
	asker := r.server.admin
	if r.workload.Analysis.Measure == "duplicates" {
		asker = asker.async() // it may take longer than a request may
	}
	var answer analysisAnswer
	var elapsed time.Duration
	err := throttled(ctx, func() (time.Duration, error) {
		begun := time.Now()
		answer = analysisAnswer{}
		err := asker.complete(ctx, p.path(table)+"/analyze", request, &answer)
		elapsed = time.Since(begun)
		var refused *StatusError
		if errors.As(err, &refused) {
			return refused.Wait, err
		}
		return 0, err
	})
	if err == nil && result != nil && len(answer.Result) > 0 {
		err = json.Unmarshal(answer.Result, result)
	}
	if err != nil {
		return answer, 0, fmt.Errorf("%s of %s: %w", action, table, err)
	}
	if answer.Engine != "" && answer.Engine != "builtin" {
		return answer, 0, fmt.Errorf("%s of %s was answered by engine %s", action, table, answer.Engine)
	}
	return answer, elapsed, nil
}

// splink runs splink on the generated people, if the workload has it as a peer.
func (r *runner) splink(ctx context.Context, p *planted) (score, bool, error) {
	if !slices.Contains(r.workload.Peers, peerSplink) {
		return score{}, false, nil
	}
	text, err := plantedScript("splinkpeer")
	if err != nil {
		return score{}, false, err
	}
	r.cfg.Progress("%s: splink", r.workload.Name)
	var reply struct {
		Precision float64 `json:"precision"`
		Recall    float64 `json:"recall"`
		Seconds   float64 `json:"seconds"`
		Threshold float64 `json:"threshold"`
	}
	if err := r.runPython(ctx, &reply, text, filepath.Join(p.folder, "people"), p.truth); err != nil {
		return score{}, false, fmt.Errorf("splink: %w", err)
	}
	r.out.note("splink took %.1f s; its best threshold is %g", reply.Seconds, reply.Threshold)
	return score{precision: reply.Precision, recall: reply.Recall}, true, nil
}
