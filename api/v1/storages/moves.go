package storages

import (
	"context"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/storage"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type moveInput struct {
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
	Key    string    `header:"Idempotency-Key" maxLength:"255" doc:"A repeated request with the same key gets the reply of the first"`
	Body   struct {
		SourceConfigID      string `json:"sourceConfigId" format:"uuid"`
		SourcePath          string `json:"sourcePath" maxLength:"1024" doc:"A folder below the root of the source; empty means the root"`
		DestinationConfigID string `json:"destinationConfigId" format:"uuid"`
		DestinationPath     string `json:"destinationPath" maxLength:"1024" doc:"A folder without objects; empty means the root"`
		DryRun              bool   `json:"dry_run,omitempty" doc:"Check everything, count what would be moved, and move nothing"`
	}
}

func (in *moveInput) request() (storage.MoveRequest, error) {
	source, err := catalog.ParseID[catalog.ConfigID](in.Body.SourceConfigID)
	if err != nil {
		return storage.MoveRequest{}, err
	}
	target, err := catalog.ParseID[catalog.ConfigID](in.Body.DestinationConfigID)
	return storage.MoveRequest{
		Source: catalog.Place{Config: source, Path: in.Body.SourcePath}, Target: catalog.Place{Config: target, Path: in.Body.DestinationPath},
		Key: in.Key, DryRun: in.Body.DryRun,
	}, err
}

type moved struct {
	ObjectsMoved       int64  `json:"objectsMoved"`
	BytesTransferred   int64  `json:"bytesTransferred"`
	TablesDeregistered int64  `json:"tablesDeregistered" doc:"Registered tables that left the source; they are registered at the destination"`
	DiscoveryTriggered bool   `json:"discoveryTriggered" doc:"The destination is being discovered; false for a dry run"`
	Message            string `json:"message"`
}

func movedOf(m storage.Moved) moved {
	out := moved{
		ObjectsMoved: m.Objects, BytesTransferred: m.Bytes, TablesDeregistered: m.Tables, DiscoveryTriggered: !m.DryRun,
		Message: fmt.Sprintf("Objects moved: %d. Tables moved: %d.", m.Objects, m.Tables),
	}
	if m.DryRun {
		out.Message = fmt.Sprintf("Nothing was moved. Objects at the source: %d. Tables: %d.", m.Objects, m.Tables)
	}
	return out
}

// MoveRoutes registers the move of objects between storage configurations.
func MoveRoutes(api huma.API, moves *storage.Moves, operations longwork.Service) {
	write := v1.Route{Tag: "Storage", Scope: auth.ScopeStorageWrite, Camel: true, Local: true}
	v1.AddDeferrable(api, write.With("POST", "/v1/storages/move", "moveObjects", "Move objects between storage configurations").
		Describe("Copies all objects below the source path to the destination, verifies them, registers the tables there and deletes the "+
			"source. Ids, names that people chose, policies, domains and keys of tables stay. Tables can be read during the move, and not be "+
			"written to. The caller must see all rows and columns of every table at the source. A destination that is personal or in another "+
			"workspace also needs storage_configs:share. A long move continues as an operation; with Prefer: respond-async at once."),
		func(ctx context.Context, in *moveInput) (moved, *catalog.Operation, error) {
			request, err := in.request()
			if err != nil {
				return moved{}, nil, err
			}
			patience := operations.Patience
			if in.Prefer.Async() {
				patience = 0
			}
			done, goesOn, err := moves.Move(ctx, request, patience, func(m storage.Moved) any { return movedOf(m) })
			return movedOf(done), goesOn, err
		})
}
