package llm

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
)

// openaiVendor is the Responses API with a strict JSON schema.
var openaiVendor = vendor{
	baseURL: "https://api.openai.com/v1",
	header:  "Authorization",
	prefix:  "Bearer ",
	connect: connectOpenAI,
}

// connectOpenAI makes the service of responses instead of a client, which would read the
// environment (OPENAI_BASE_URL, _API_KEY, _ADMIN_KEY, _ORG_ID, _PROJECT_ID,
// _CUSTOM_HEADERS).
func connectOpenAI(baseURL string, client *http.Client) (complete, error) {
	service := responses.NewResponseService(
		option.WithBaseURL(baseURL+"/"), option.WithHTTPClient(client), option.WithAPIKey(placeholder), option.WithMaxRetries(0),
	)
	return func(ctx context.Context, request Request, schema map[string]any) (Reply, error) {
		response, err := service.New(ctx, responses.ResponseNewParams{
			Model:           request.Model,
			Instructions:    param.NewOpt(request.System),
			Input:           responses.ResponseNewParamsInputUnion{OfString: param.NewOpt(request.Prompt)},
			MaxOutputTokens: param.NewOpt(int64(request.MaxTokens)),
			// By default the vendor stores requests for later ones to refer to.
			Store: param.NewOpt(false),
			Text: responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigUnionParam{
				OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{
					Name: "document", Schema: schema, Strict: param.NewOpt(true),
				},
			}},
		})
		if err != nil {
			return Reply{}, err
		}
		if response == nil {
			return Reply{}, malformed("reply is no response")
		}
		reply := Reply{InputTokens: response.Usage.InputTokens, OutputTokens: response.Usage.OutputTokens}
		switch response.Status {
		case responses.ResponseStatusCompleted:
		case responses.ResponseStatusIncomplete:
			return reply, malformed("document is cut at the limit of tokens, or filtered")
		case responses.ResponseStatusFailed, responses.ResponseStatusCancelled:
			return reply, malformed("model failed")
		default:
			return reply, malformed("reply has an unknown end")
		}
		var text strings.Builder
		for _, item := range response.Output {
			if item.Type != "message" {
				continue
			}
			for _, content := range item.Content {
				switch content.Type {
				case "output_text":
					text.WriteString(content.Text)
				case "refusal":
					return reply, malformed("model refuses to answer")
				}
			}
		}
		reply.Document = json.RawMessage(text.String())
		return reply, nil
	}, nil
}
