package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// resultsPlace is the setting results_url taken apart: a folder, or a bucket.
type resultsPlace struct {
	folder string
	prefix string
	bucket s3.Options
}

// resultsPlace reads results_url and the credential beside it. Errors name the
// setting and never repeat a secret.
func (c *Config) resultsPlace() (resultsPlace, error) {
	u, err := url.Parse(c.ResultsURL)
	switch {
	case err != nil: // not the error: it quotes the text, which may hold a secret
	case u.Scheme == "file" && u.Host == "" && strings.HasPrefix(u.Path, "/") && u.RawQuery == "":
		if c.ResultsAccessKeyID != "" || c.ResultsSecretAccessKey != "" || c.ResultsRoleARN != "" {
			return resultsPlace{}, errors.New("results_access_key_id, results_secret_access_key, results_role_arn: are for a results_url of s3://")
		}
		return resultsPlace{folder: filepath.FromSlash(u.Path)}, nil
	case u.Scheme == "s3" && u.User == nil && u.Fragment == "":
		return c.resultsBucket(u)
	}
	return resultsPlace{}, errors.New("results_url: must be file:///<absolute path> or s3://<bucket>/<prefix>?region=<region>")
}

func (c *Config) resultsBucket(u *url.URL) (resultsPlace, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return resultsPlace{}, errors.New("results_url: what follows the question mark cannot be read")
	}
	place := resultsPlace{prefix: strings.Trim(u.Path, "/")}
	place.bucket = s3.Options{
		Bucket: u.Host,
		Credential: s3.Credential{
			AccessKeyID: c.ResultsAccessKeyID, SecretAccessKey: c.ResultsSecretAccessKey, RoleARN: c.ResultsRoleARN,
		},
		Limits: s3.Limits{Connect: min(c.StoreTimeout, 5*time.Second), Idle: c.StoreTimeout},
	}
	for name, values := range query {
		switch value := values[0]; {
		case len(values) == 1 && name == "region":
			place.bucket.Region = value
		case len(values) == 1 && name == "endpoint":
			place.bucket.Endpoint = value
		case len(values) == 1 && name == "path_style" && (value == "true" || value == "false"):
			place.bucket.PathStyle = value == "true"
		default:
			return resultsPlace{}, errors.New("results_url: takes region, endpoint and path_style=true|false, each once")
		}
	}
	if place.prefix != "" && objstore.ValidName(place.prefix) != nil {
		return resultsPlace{}, errors.New("results_url: prefix must be a path without empty, '.' and '..' parts")
	}
	var refused *s3.OptionError
	if err := place.bucket.Check(); errors.As(err, &refused) {
		setting := "results_url: " + refused.Option
		switch refused.Option {
		case "access_key_id", "secret_access_key", "role_arn":
			setting = "results_" + refused.Option + ":"
		}
		return resultsPlace{}, errors.New(setting + " " + refused.Reason)
	}
	return place, nil
}

// resultsTrial bounds the trial of the results' bucket at start.
const resultsTrial = 10 * time.Second

// openResults opens the place of kept results; Verify has checked it. What
// processes that died left half-written in a folder goes. A bucket that is not
// there, or denies what has to be done in it, is an error now and not when the
// first result is kept; one that does not answer may do so later.
func openResults(ctx context.Context, config Config, log *slog.Logger) (objstore.Bucket, io.Closer, error) {
	place, err := config.resultsPlace()
	if err != nil {
		return nil, nil, err
	}
	if place.folder != "" {
		bucket, err := openResultsFolder(ctx, place.folder, log)
		return bucket, io.NopCloser(nil), err
	}
	client, err := s3.New(place.bucket)
	if err != nil {
		return nil, nil, err
	}
	bucket := objstore.Prefix(client, place.prefix)
	trial, cancel := context.WithTimeout(ctx, resultsTrial)
	defer cancel()
	// Whether it creates objects atomically does not matter here: each name has
	// one writer.
	err = storage.Probe(trial, bucket).Err()
	if errors.Is(err, objstore.ErrDenied) || errors.Is(err, objstore.ErrNoBucket) {
		return nil, nil, errors.Join(fmt.Errorf("results_url: %w", err), client.Close())
	}
	if err != nil && !errors.Is(err, storage.ErrNotAtomic) {
		log.Warn("the store of results does not answer as it should", "error", err)
	}
	return bucket, client, nil
}

// abandonedAfter is longer than any result takes to be written.
const abandonedAfter = 24 * time.Hour

func openResultsFolder(ctx context.Context, dir string, log *slog.Logger) (objstore.Bucket, error) {
	// Rows of governed tables lie there.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("results_url: %w", err)
	}
	bucket, err := file.New(dir)
	if err != nil {
		return nil, fmt.Errorf("results_url: %w", err)
	}
	if _, err := objstore.DiscardUploads(ctx, bucket, time.Now().Add(-abandonedAfter)); err != nil {
		log.Warn("some of what was left half-written beside the results stays", "error", err)
	}
	return bucket, nil
}
