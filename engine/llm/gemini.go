package llm

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"

	"google.golang.org/genai"
)

// geminiVendor is generateContent of the Gemini API with a JSON schema.
var geminiVendor = vendor{
	baseURL: "https://generativelanguage.googleapis.com",
	header:  "X-Goog-Api-Key",
	headers: []string{"X-Goog-Api-Client"},
	connect: connectGemini,
}

// connectGemini makes a client whose settings are all explicit. The SDK reads the
// environment nevertheless (GOOGLE_GENAI_USE_ENTERPRISE, GOOGLE_GENAI_USE_VERTEXAI,
// GOOGLE_API_KEY, GEMINI_API_KEY, GOOGLE_CLOUD_PROJECT, _LOCATION, _REGION,
// GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL). What it reads loses against the
// settings here: the backend, which also makes it ignore projects and locations, the key,
// the address and the client.
func connectGemini(baseURL string, client *http.Client) (complete, error) {
	sdk, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: placeholder, HTTPClient: client,
		HTTPOptions: genai.HTTPOptions{BaseURL: baseURL + "/", APIVersion: "v1beta"},
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, request Request, schema map[string]any) (Reply, error) {
		response, err := sdk.Models.GenerateContent(ctx, request.Model, genai.Text(request.Prompt), &genai.GenerateContentConfig{
			SystemInstruction:  genai.NewContentFromText(request.System, genai.RoleUser),
			MaxOutputTokens:    int32(min(request.MaxTokens, math.MaxInt32)),
			ResponseMIMEType:   "application/json",
			ResponseJsonSchema: schema,
			// Otherwise a reply that asks for it is followed by further requests.
			AutomaticContinuation: genai.Ptr(false),
		})
		if err != nil {
			return Reply{}, err
		}
		var reply Reply
		if u := response.UsageMetadata; u != nil {
			reply.InputTokens = clamp(int64(u.PromptTokenCount)) + clamp(int64(u.ToolUsePromptTokenCount))
			reply.OutputTokens = clamp(int64(u.CandidatesTokenCount)) + clamp(int64(u.ThoughtsTokenCount))
		}
		if len(response.Candidates) == 0 || response.Candidates[0] == nil {
			return reply, malformed("model refuses to answer")
		}
		candidate := response.Candidates[0]
		switch candidate.FinishReason {
		case genai.FinishReasonStop:
		case genai.FinishReasonMaxTokens:
			return reply, malformed("document is cut at the limit of tokens")
		default:
			return reply, malformed("model refuses to answer")
		}
		var text strings.Builder
		if candidate.Content != nil {
			for _, part := range candidate.Content.Parts {
				if part != nil && !part.Thought {
					text.WriteString(part.Text)
				}
			}
		}
		reply.Document = json.RawMessage(text.String())
		return reply, nil
	}, nil
}
