package s3

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Machine tells how this machine proves its own identity to AWS. The platform on which the server
// runs sets it. Exactly one source is used, so that a source that fails does not give way to another
// identity: a web identity if TokenFile is set, a container's credentials if ContainerURL is set, else
// the role of the instance.
type Machine struct {
	// TokenFile is the file with the token of a web identity, and RoleARN its role.
	TokenFile, RoleARN string
	// STS is the URL at which the token is exchanged; empty is the endpoint of the bucket's region.
	STS string
	// ContainerURL issues the credentials of the container. ContainerToken, or the content of the
	// file ContainerTokenFile, authorises the request.
	ContainerURL, ContainerToken, ContainerTokenFile string
	// Metadata is the URL of the instance metadata service; empty is its link-local address.
	Metadata string
	// Dial opens the connections of these requests, which usually lead to a loopback or link-local
	// address; nil is the system's dialer.
	Dial remote.Dial
}

// String omits secrets, so that they do not reach logs and errors.
func (m Machine) String() string { return "s3.Machine(redacted)" }

// GoString is String.
func (m Machine) GoString() string { return m.String() }

// LogValue implements slog.LogValuer.
func (m Machine) LogValue() slog.Value { return slog.StringValue(m.String()) }

// credentials returns the credentials of the machine, which are cached and renewed in time. The
// requests are not watched, because their outcome is not that of the write that follows.
func (m Machine) credentials(region string, limits Limits) aws.CredentialsProvider {
	transport := remote.NewTransport(m.Dial, limits)
	client := remote.NewClient(transport)
	var source aws.CredentialsProvider
	switch {
	case m.TokenFile != "":
		exchange := sts.New(sts.Options{
			Region: region, BaseEndpoint: endpoint(m.STS), Credentials: aws.AnonymousCredentials{}, HTTPClient: client, Retryer: retryer(limits),
		})
		source = stscreds.NewWebIdentityRoleProvider(exchange, m.RoleARN, stscreds.IdentityTokenFile(m.TokenFile),
			func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = sessionName })
	case m.ContainerURL != "":
		source = endpointcreds.New(m.ContainerURL, func(o *endpointcreds.Options) {
			o.HTTPClient, o.Retryer, o.AuthorizationToken = client, retryer(limits), m.ContainerToken
			if m.ContainerTokenFile != "" {
				o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(m.containerToken)
			}
		})
	default:
		source = ec2rolecreds.New(func(o *ec2rolecreds.Options) {
			o.Client = imds.New(imds.Options{
				Endpoint: m.Metadata, ClientEnableState: imds.ClientEnabled, EnableFallback: aws.FalseTernary,
				HTTPClient: client, Retryer: retryer(limits),
			})
		})
	}
	return machineCredentials{aws.NewCredentialsCache(source), transport}
}

// containerToken reads the file for every request, because the platform replaces its content.
func (m Machine) containerToken() (string, error) {
	token, err := os.ReadFile(m.ContainerTokenFile)
	return strings.TrimSpace(string(token)), err
}

// machineCredentials translates the errors of a source.
type machineCredentials struct {
	source    aws.CredentialsProvider
	transport *http.Transport
}

// Retrieve implements aws.CredentialsProvider.
func (c machineCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := c.source.Retrieve(ctx)
	if err == nil {
		return found, nil
	}
	c.transport.CloseIdleConnections()
	if ctxErr := ctx.Err(); ctxErr != nil {
		return found, ctxErr
	}
	// The text is dropped: it can contain addresses, paths and the reply.
	family := objstore.ErrUnavailable
	var api smithy.APIError
	var reply interface{ HTTPStatusCode() int }
	status := 0
	if errors.As(err, &reply) {
		status = reply.HTTPStatusCode()
	}
	if status >= 400 && status < 500 && status != http.StatusTooManyRequests ||
		errors.As(err, &api) && api.ErrorFault() == smithy.FaultClient {
		family = objstore.ErrCredential
	}
	return found, remote.CredentialFailed(fmt.Errorf("%w: identity of this machine", family))
}
