package s3test

import (
	"os"
	"path/filepath"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// start starts a server, which runs until process is closed.
func start() (server Server, process *oracletest.Server, err error) {
	path, err := oracletest.Path(ProgramVariable, "versitygw")
	if err != nil {
		return Server{}, nil, err
	}
	process, err = oracletest.Serve(func(dir, address string) ([]string, error) {
		for _, name := range []string{"buckets", "iam"} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				return nil, err
			}
		}
		return []string{path, "--port", address, "--quiet", "--keep-alive", "--iam-dir", filepath.Join(dir, "iam"), "--iam-cache-disable",
			"posix", filepath.Join(dir, "buckets")}, nil
	}, "ROOT_ACCESS_KEY="+AccessKeyID, "ROOT_SECRET_KEY="+SecretAccessKey, "VGW_REGION="+Region)
	if err != nil {
		return Server{}, nil, err
	}
	return Server{Endpoint: "http://" + process.Address, Address: process.Address, dir: process.Dir, program: path}, process, nil
}
