package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/stores"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// operationPatience is how long a request waits before its work continues as an
// operation.
const operationPatience = 30 * time.Second

// newOperations starts the runner of operations. It stops before the parts that operations use,
// or when the returned function is called, at the beginning of the drain.
func newOperations(
	background context.Context, settings config.Settings, store *authz.Store, sessions revocation.Sessions, queries *query.Service,
	metrics *objstore.Metrics, log *slog.Logger, parts *lifecycle.Group,
) (longwork.Service, query.Stored, func(context.Context) error, error) {
	bucket, closer, err := stores.OpenResults(background, settings, log)
	if err != nil {
		return longwork.Service{}, query.Stored{}, nil, err
	}
	parts.OnClose(func(context.Context) error { return closer.Close() })
	stored := query.Stored{
		Queries: queries, OrgBytes: settings.ResultsOrgBytes * config.MiB,
		Results: query.Results{
			Bucket: metrics.Wrap(bucket, "results"), Temp: filepath.Join(settings.DataDir, "tmp"), MaxBytes: settings.ResultBytes * config.MiB,
		},
	}
	// Half of the turns are reserved for callers that wait for an answer.
	stored.Runner = longwork.NewRunner(background, store, longwork.Options{
		Name: replicaName(), Running: max(1, settings.MaxRunning/2), Keep: settings.ResultsKeep, Describe: operationProblem,
		Discard: stored.Results.Discard, Revocations: queries.Revocations, Sessions: sessions, Audit: queries.Audit, Logger: log,
	})
	var ended sync.Once
	endWork := func(ctx context.Context) error {
		ended.Do(func() {
			if stored.Runner.Close(ctx) != nil {
				log.Warn("some operations did not end in time and are lost")
			}
		})
		return nil
	}
	parts.OnClose(endWork)
	return longwork.Service{Store: store, Runner: stored.Runner, Patience: operationPatience}, stored, endWork, nil
}

// replicaName differs after each start, so that operations of an earlier process are
// not taken for those of this one.
func replicaName() string {
	host, _ := os.Hostname() // for display only
	return fmt.Sprintf("%.100s/%d/%s", host, os.Getpid(), uuid.NewString())
}

// operationProblem returns an error in the words of a response.
func operationProblem(err error) catalog.OperationProblem {
	reported := problem.From(err)
	p := catalog.OperationProblem{Code: reported.Name, Message: reported.Message}
	for _, d := range reported.Details {
		p.Details = append(p.Details, catalog.FieldError{Field: d.Field, Message: d.Message})
	}
	return p
}
