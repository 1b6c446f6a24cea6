package llm

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// anthropicVendor is the Messages API with a JSON schema as output format. A forced call of
// a tool would do the same, but models that always think refuse it.
var anthropicVendor = vendor{
	baseURL: "https://api.anthropic.com",
	header:  "X-Api-Key",
	headers: []string{"Anthropic-Version"},
	connect: connectAnthropic,
}

// connectAnthropic makes the service of messages instead of a client, which would read the
// environment (ANTHROPIC_BASE_URL, _API_KEY, _AUTH_TOKEN, _PROFILE, _CUSTOM_HEADERS and
// more) and profiles in the home folder. The variables of its traces
// (ANTHROPIC_OPEN_TELEMETRY) are overridden.
func connectAnthropic(baseURL string, client *http.Client) (complete, error) {
	messages := anthropic.NewMessageService(
		option.WithBaseURL(baseURL+"/"), option.WithHTTPClient(client), option.WithAPIKey(placeholder), option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
		// The context bounds the time. Without this, large limits of tokens are refused.
		option.WithRequestTimeout(24*time.Hour),
	)
	return func(ctx context.Context, request Request, schema map[string]any) (Reply, error) {
		message, err := messages.New(ctx, anthropic.MessageNewParams{
			Model:     request.Model,
			MaxTokens: int64(request.MaxTokens),
			System:    []anthropic.TextBlockParam{{Text: request.System}},
			Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(request.Prompt))},
			OutputConfig: anthropic.OutputConfigParam{
				Format: anthropic.JSONOutputFormatParam{Schema: schema},
			},
		})
		if err != nil {
			return Reply{}, err
		}
		if message == nil {
			return Reply{}, malformed("reply is no message")
		}
		reply := Reply{
			InputTokens: clamp(message.Usage.InputTokens) + clamp(message.Usage.CacheCreationInputTokens) +
				clamp(message.Usage.CacheReadInputTokens),
			OutputTokens: message.Usage.OutputTokens,
		}
		switch message.StopReason {
		case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence:
		case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
			return reply, malformed("document is cut at the limit of tokens")
		case anthropic.StopReasonRefusal:
			return reply, malformed("model refuses to answer")
		default:
			return reply, malformed("reply has an unknown end")
		}
		var text strings.Builder
		for _, block := range message.Content {
			if block.Type == "text" {
				text.WriteString(block.Text)
			}
		}
		reply.Document = json.RawMessage(text.String())
		return reply, nil
	}, nil
}
