package bench

import (
	"context"
	"fmt"
	"net"
	"os/exec"
)

// The account of servers of Azure Blob Storage, and its key: the documented ones of the
// emulator, for which alone rclone puts the account into the path.
const (
	azureAccount = "devstoreaccount1"
	azureKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// azurite is a server of Azure Blob Storage.
type azurite struct{}

func (azurite) command(cfg Config, dir, address string) (program string, args, env []string, err error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", nil, nil, fmt.Errorf("find Node.js for Azurite: %w", err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, nil, err
	}
	args = []string{
		cfg.Azurite, "--silent", "--disableTelemetry", "--skipApiVersionCheck", "--blobHost", host, "--blobPort", port, "--location", dir,
	}
	return node, args, []string{"AZURITE_ACCOUNTS=" + azureAccount + ":" + azureKey}, nil
}

func (azurite) url(address string) string { return "http://" + address + "/" + azureAccount }

// ready implements storeProgram. Azurite answers no request without a credential.
func (azurite) ready(ctx context.Context, address string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	return err == nil && conn.Close() == nil
}

func (azurite) settings(endpoint string) (map[string]any, error) {
	return map[string]any{"endpoint": endpoint, "account": azureAccount, "container": storeBucket, "accountKey": azureKey}, nil
}

func (azurite) remote(endpoint string) map[string]string {
	return map[string]string{"type": "azureblob", "use_emulator": "true", "endpoint": endpoint}
}
