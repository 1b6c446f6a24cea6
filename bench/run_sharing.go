package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// sharingRows is the number of rows of the table of a sharing workload.
const sharingRows = 1000

// longSQL runs until it is interrupted.
const longSQL = "SELECT count(*) FROM t a, t b, t c, t d WHERE (a.id * b.id + c.id * d.id) % 7 = 3"

// pollPause is the pause between two attempts to see the effect of an attach.
const pollPause = 5 * time.Millisecond

// sharing attaches a configuration from a workspace whose members have open sessions to
// another one, and measures when members of both notice.
func (r *runner) sharing(ctx context.Context) error {
	config, err := r.sharedTable(ctx)
	if err != nil {
		return err
	}
	crew, err := r.crew(ctx, "crew", r.workload.Users)
	if err != nil {
		return err
	}
	others, err := r.crew(ctx, "others", 1)
	if err != nil {
		return err
	}
	var visible, refused, interrupted, closed Samples
	for round := range r.workload.Warmup + r.workload.Runs {
		if err := r.attach(ctx, config, crew.workspace); err != nil {
			return err
		}
		if err := r.open(ctx, crew); err != nil {
			return err
		}
		run, err := r.attachAway(ctx, config, crew, others)
		if err != nil {
			return err
		}
		if round >= r.workload.Warmup {
			visible, refused = append(visible, run.visible), append(refused, run.refused)
			interrupted, closed = append(interrupted, run.interrupted), append(closed, run.closed)
		}
	}
	r.out.add("users", float64(r.workload.Users), "")
	for _, effect := range []struct {
		name  string
		taken Samples
	}{{"visible", visible}, {"refused", refused}, {"interrupted", interrupted}, {"closed", closed}} {
		r.out.add("p50."+effect.name, effect.taken.Median(), "ms")
		r.out.add("max."+effect.name, effect.taken.Quantile(1), "ms")
	}
	return nil
}

// sharedTable creates the table and returns the id of its configuration.
func (r *runner) sharedTable(ctx context.Context) (string, error) {
	id, err := uuid.Parse(strings.TrimPrefix(r.schema, "cfg_"))
	if err != nil {
		return "", fmt.Errorf("schema %s: %w", r.schema, err)
	}
	err = r.server.admin.call(ctx, http.MethodPost, "/v1/tables", map[string]any{
		"catalog": "lake", "schema": r.schema, "name": "t", "columns": []any{map[string]any{"name": "id", "type": "long"}},
	}, nil)
	if err != nil {
		return "", err
	}
	rows := make([]map[string]any, sharingRows)
	for i := range rows {
		rows[i] = map[string]any{"id": i}
	}
	return id.String(), r.server.admin.call(ctx, http.MethodPost, "/v1/tables/lake/"+r.schema+"/t/rows", map[string]any{"rows": rows}, nil)
}

// crew is a workspace with members.
type crew struct {
	workspace string
	members   []*client
}

// crew creates a workspace with viewers.
func (r *runner) crew(ctx context.Context, name string, size int) (crew, error) {
	var made struct {
		ID string `json:"id"`
	}
	spaces := "/v1/organisations/" + r.server.organisation + "/workspaces"
	if err := r.server.admin.call(ctx, http.MethodPost, spaces, map[string]any{"name": name}, &made); err != nil {
		return crew{}, err
	}
	c := crew{workspace: made.ID}
	for i := range size {
		email := fmt.Sprintf("%s%03d@bench.example", name, i)
		who, err := r.server.command(ctx, "user", "add", "--org", r.server.organisation, "--email", email, "--role", "viewer", "--json")
		if err != nil {
			return c, err
		}
		role := map[string]any{"role": "viewer"}
		if err := r.server.admin.call(ctx, http.MethodPut, spaces+"/"+c.workspace+"/members/"+who.UserID, role, nil); err != nil {
			return c, err
		}
		c.members = append(c.members, newClient(r.server.base, who.APIKey).in(r.schema))
	}
	return c, nil
}

func (r *runner) attach(ctx context.Context, config, workspace string) error {
	return r.server.admin.call(ctx, http.MethodPost, "/v1/storages/configs/"+config+"/attach", map[string]any{"workspaceId": workspace}, nil)
}

// open has every member run a statement, so that each has a session.
func (r *runner) open(ctx context.Context, c crew) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.cfg.Threads)
	for _, member := range c.members {
		group.Go(func() error {
			_, err := member.Ask(ctx, r.statements[0])
			return err
		})
	}
	return group.Wait()
}

// attachTimes are times from the start of an attach, in milliseconds.
type attachTimes struct {
	// visible is when a new member first read the table, and refused when a former member
	// could not any more. interrupted is the end of a running statement, and closed that of
	// the idle sessions.
	visible, refused, interrupted, closed float64
}

// attachAway attaches the configuration to the workspace of others.
func (r *runner) attachAway(ctx context.Context, config string, from, others crew) (t attachTimes, err error) {
	group, ctx := errgroup.WithContext(ctx)
	var begun time.Time
	attached := make(chan struct{})
	after := func(taken *float64, done func() (bool, error)) {
		group.Go(func() error {
			<-attached
			err := poll(ctx, done)
			*taken = millis(time.Since(begun))
			return err
		})
	}
	running := from.members[0]
	group.Go(func() error {
		_, _, err := running.try(ctx, Statement{SQL: longSQL})
		ended := time.Now()
		<-attached
		t.interrupted = millis(ended.Sub(begun))
		status := new(StatusError)
		if errors.As(err, &status) && status.Code() == "query_cancelled" {
			return nil
		}
		return fmt.Errorf("the running statement was not cancelled: %w", err)
	})
	err = poll(ctx, func() (bool, error) {
		count, err := r.sessions(ctx, "running")
		return count > 0, err
	})
	if err != nil {
		close(attached)
		return t, errors.Join(err, group.Wait())
	}
	reads := func(c *client) (bool, error) {
		_, _, err := c.try(ctx, r.statements[0])
		status := new(StatusError)
		if errors.As(err, &status) && status.Code() == "table_not_found" {
			return false, nil
		}
		return err == nil, err
	}
	after(&t.visible, func() (bool, error) { return reads(others.members[0]) })
	after(&t.refused, func() (bool, error) {
		ok, err := reads(from.members[1])
		return !ok, err
	})
	after(&t.closed, func() (bool, error) {
		// Those who ask meanwhile have sessions again.
		count, err := r.sessions(ctx, "idle")
		return count <= 2, err
	})
	begun = time.Now()
	err = r.attach(ctx, config, others.workspace)
	close(attached)
	return t, errors.Join(err, group.Wait())
}

// poll repeats done until it is true.
func poll(ctx context.Context, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if err := pause(ctx, pollPause); err != nil {
			return err
		}
	}
}

// sessions returns the number of sessions in a state.
func (r *runner) sessions(ctx context.Context, state string) (float64, error) {
	f, err := r.figures(ctx)
	return f.sessions[state], err
}
