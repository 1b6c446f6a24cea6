package extension

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// installTime bounds DuckDB's own download; after it the Python packages are tried.
const installTime = 20 * time.Second

// Install installs the named extensions of this DuckDB version below dir, laid out as DuckDB
// expects. Files that exist and are accepted stay. Each file comes from DuckDB's repository,
// or else from the Python package with the same signed file; it is installed only after DuckDB
// accepted its signature. Errors match [ErrUnusable].
func Install(ctx context.Context, dir string, names []string) error {
	platform, err := Platform()
	if err != nil {
		return err
	}
	for _, name := range names {
		target, err := filepath.Abs(location(dir, platform, name))
		if err != nil {
			return err
		}
		if accepted(target) {
			continue
		}
		if err := install(ctx, name, target); err != nil {
			return &Error{Name: name, Path: target, Reason: err.Error(),
				Remedy: "check the network, or put the file there by hand"}
		}
	}
	return nil
}

func install(ctx context.Context, name, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(target), ".install-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	file, repositoryErr := fromRepository(ctx, name, temp)
	if repositoryErr != nil {
		if file, err = fromPackage(ctx, name, temp); err != nil {
			return errors.Join(repositoryErr, err)
		}
	}
	if !accepted(file) {
		return errors.New("DuckDB does not accept the downloaded file")
	}
	if err := os.Chmod(file, 0o644); err != nil {
		return err
	}
	return os.Rename(file, target)
}

// accepted reports whether DuckDB loads the file with its signature check on.
func accepted(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	in, err := native.Open(native.BaseConfig())
	if err != nil {
		return false
	}
	defer in.Close()
	return in.Exec("LOAD "+engine.QuoteString(path)) == nil
}

// fromRepository downloads with DuckDB into a private directory.
func fromRepository(ctx context.Context, name, temp string) (string, error) {
	config := native.BaseConfig()
	config["extension_directory"] = filepath.Join(temp, "repository")
	in, err := native.Open(config)
	if err != nil {
		return "", err
	}
	defer in.Close()
	g := native.NewGuard(ctx, nil, installTime, in, nil)
	defer g.End()
	if err := in.Exec("INSTALL " + engine.QuoteIdent(name)); err != nil {
		return "", errors.New("DuckDB's repository cannot be reached")
	}
	return findFile(config["extension_directory"], name+".duckdb_extension")
}

// fromPackage extracts the file from the Python package of the same version.
func fromPackage(ctx context.Context, name, temp string) (string, error) {
	requirement := "duckdb-extension-" + name + "==" + strings.TrimPrefix(duck.LibraryVersion(), "v")
	python, err := withPip(ctx, temp)
	if err != nil {
		return "", err
	}
	wheels := filepath.Join(temp, "wheels")
	if err := run(ctx, python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary",
		":all:", "--dest", wheels, requirement); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(wheels, "*.whl"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("pip brought %d packages instead of one", len(found))
	}
	return unpack(found[0], name+".duckdb_extension", temp)
}

// withPip returns a Python that has pip: the system's, or one in a virtual environment if the
// system packages pip separately.
func withPip(ctx context.Context, temp string) (string, error) {
	const system = "python3"
	if run(ctx, system, "-m", "pip", "--version") == nil {
		return system, nil
	}
	venv := filepath.Join(temp, "venv")
	return filepath.Join(venv, "bin", "python"), run(ctx, system, "-m", "venv", venv)
}

// run runs a program; its error includes the output.
func run(ctx context.Context, program string, args ...string) error {
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, args[1], err, native.Clip(strings.TrimSpace(string(out))))
	}
	return nil
}

// maxExtension bounds the size of an unpacked file.
const maxExtension = 1 << 30

// unpack writes the member with the base name into dir.
func unpack(archive, base, dir string) (string, error) {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	for _, member := range r.File {
		if filepath.Base(member.Name) != base {
			continue
		}
		in, err := member.Open()
		if err != nil {
			return "", err
		}
		defer func() { _ = in.Close() }()
		path := filepath.Join(dir, base)
		out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(out, io.LimitReader(in, maxExtension))
		return path, errors.Join(err, out.Close())
	}
	return "", fmt.Errorf("%s holds no %s", filepath.Base(archive), base)
}

func findFile(dir, base string) (string, error) {
	var found string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == base {
			found = path
		}
		return err
	})
	if err == nil && found == "" {
		err = fmt.Errorf("%s was not downloaded", base)
	}
	return found, err
}
