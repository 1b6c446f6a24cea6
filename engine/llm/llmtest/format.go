package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/lakewarden/lakewarden/engine/llm"
)

// format is the protocol of one vendor.
type format struct {
	// base is the path of the base URL.
	base string
	// key returns the key of a request, or "".
	key func(http.Header) string
	// decode checks the path and the body of a request and completes it.
	decode func(r *http.Request, request *Request) error
	// reply returns the body of a reply.
	reply func(document string, end ending) any
}

var formats = map[llm.Family]format{
	llm.FamilyA: {key: anthropicKey, decode: decodeAnthropic, reply: replyAnthropic},
	llm.FamilyB: {base: "/v1", key: openaiKey, decode: decodeOpenAI, reply: replyOpenAI},
	llm.FamilyC: {key: geminiKey, decode: decodeGemini, reply: replyGemini},
}

// object is a JSON object.
type object = map[string]any

// strict decodes a body that has known members only.
func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// textPart is a part of a prompt.
type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func anthropicKey(h http.Header) string { return h.Get("X-Api-Key") }

func decodeAnthropic(r *http.Request, request *Request) error {
	var body struct {
		Model     string     `json:"model"`
		MaxTokens int        `json:"max_tokens"`
		System    []textPart `json:"system"`
		Messages  []struct {
			Role    string     `json:"role"`
			Content []textPart `json:"content"`
		} `json:"messages"`
		OutputConfig struct {
			Format struct {
				Type   string `json:"type"`
				Schema object `json:"schema"`
			} `json:"format"`
		} `json:"output_config"`
	}
	if err := strict(request.Body, &body); err != nil {
		return err
	}
	format := body.OutputConfig.Format
	switch {
	case r.URL.Path != "/v1/messages":
		return errors.New("path")
	case r.Header.Get("Anthropic-Version") != "2023-06-01":
		return errors.New("version of the API")
	case len(body.System) != 1 || body.System[0].Type != "text":
		return errors.New("system prompt")
	case len(body.Messages) != 1 || body.Messages[0].Role != "user" || len(body.Messages[0].Content) != 1 ||
		body.Messages[0].Content[0].Type != "text":
		return errors.New("messages")
	case format.Type != "json_schema":
		return errors.New("output format")
	}
	request.Model, request.MaxTokens, request.Schema = body.Model, body.MaxTokens, format.Schema
	request.System, request.Prompt = body.System[0].Text, body.Messages[0].Content[0].Text
	return nil
}

func replyAnthropic(document string, end ending) any {
	return object{
		"id": "msg_01", "type": "message", "role": "assistant", "model": "claude",
		"content": []object{
			{"type": "thinking", "thinking": "not part of the document", "signature": "c2ln"},
			{"type": "text", "text": document},
		},
		"stop_reason":   map[ending]string{ended: "end_turn", cutShort: "max_tokens", refused: "refusal"}[end],
		"stop_sequence": nil,
		"usage": object{
			"input_tokens": InputTokens - 300, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 200,
			"output_tokens": OutputTokens,
		},
	}
}

func openaiKey(h http.Header) string {
	key, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return key
}

func decodeOpenAI(r *http.Request, request *Request) error {
	var body struct {
		Model           string `json:"model"`
		Instructions    string `json:"instructions"`
		Input           string `json:"input"`
		MaxOutputTokens int    `json:"max_output_tokens"`
		Store           *bool  `json:"store"`
		Text            struct {
			Format struct {
				Type   string `json:"type"`
				Name   string `json:"name"`
				Strict bool   `json:"strict"`
				Schema object `json:"schema"`
			} `json:"format"`
		} `json:"text"`
	}
	if err := strict(request.Body, &body); err != nil {
		return err
	}
	format := body.Text.Format
	switch {
	case r.URL.Path != "/v1/responses":
		return errors.New("path")
	case body.Store == nil || *body.Store:
		return errors.New("the vendor would store the request")
	case format.Type != "json_schema" || format.Name == "" || !format.Strict:
		return errors.New("output format")
	}
	request.Model, request.MaxTokens, request.Schema = body.Model, body.MaxOutputTokens, format.Schema
	request.System, request.Prompt = body.Instructions, body.Input
	return nil
}

func replyOpenAI(document string, end ending) any {
	content := object{"type": "output_text", "text": document, "annotations": []object{}}
	if end == refused {
		content = object{"type": "refusal", "refusal": document}
	}
	reply := object{
		"id": "resp_01", "object": "response", "created_at": 1764000000, "model": "gpt", "status": "completed",
		"error": nil, "incomplete_details": nil,
		"output": []object{
			{"type": "reasoning", "id": "rs_01", "summary": []object{{"type": "summary_text", "text": "not part of the document"}}},
			{"type": "message", "id": "msg_01", "role": "assistant", "status": "completed", "content": []object{content}},
		},
		"usage": object{
			"input_tokens": InputTokens, "output_tokens": OutputTokens, "total_tokens": InputTokens + OutputTokens,
			"input_tokens_details": object{"cached_tokens": 200}, "output_tokens_details": object{"reasoning_tokens": 4},
		},
	}
	if end == cutShort {
		reply["status"], reply["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	}
	return reply
}

func geminiKey(h http.Header) string { return h.Get("X-Goog-Api-Key") }

func decodeGemini(r *http.Request, request *Request) error {
	type content struct {
		Role  string `json:"role"`
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	}
	var body struct {
		Contents          []content `json:"contents"`
		SystemInstruction content   `json:"systemInstruction"`
		GenerationConfig  struct {
			MaxOutputTokens    int    `json:"maxOutputTokens"`
			ResponseMIMEType   string `json:"responseMimeType"`
			ResponseJSONSchema object `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	if err := strict(request.Body, &body); err != nil {
		return err
	}
	model, ok := strings.CutPrefix(r.URL.Path, "/v1beta/models/")
	model, ends := strings.CutSuffix(model, ":generateContent")
	switch {
	case !ok || !ends || strings.Contains(model, "/"):
		return errors.New("path")
	case len(body.Contents) != 1 || body.Contents[0].Role != "user" || len(body.Contents[0].Parts) != 1:
		return errors.New("contents")
	case len(body.SystemInstruction.Parts) != 1:
		return errors.New("system instruction")
	case body.GenerationConfig.ResponseMIMEType != "application/json":
		return fmt.Errorf("response type %q", body.GenerationConfig.ResponseMIMEType)
	}
	request.Model, request.MaxTokens = model, body.GenerationConfig.MaxOutputTokens
	request.Schema = body.GenerationConfig.ResponseJSONSchema
	request.System, request.Prompt = body.SystemInstruction.Parts[0].Text, body.Contents[0].Parts[0].Text
	return nil
}

func replyGemini(document string, end ending) any {
	characters := []rune(document)
	half := len(characters) / 2
	candidate := object{
		"index":        0,
		"finishReason": map[ending]string{ended: "STOP", cutShort: "MAX_TOKENS", refused: "PROHIBITED_CONTENT"}[end],
	}
	if end != refused {
		candidate["content"] = object{"role": "model", "parts": []object{
			{"text": "not part of the document", "thought": true}, {"text": string(characters[:half])}, {"text": string(characters[half:])},
		}}
	}
	return object{
		"candidates": []object{candidate}, "modelVersion": "gemini", "responseId": "r1",
		"usageMetadata": object{
			"promptTokenCount": InputTokens, "candidatesTokenCount": OutputTokens - 4, "thoughtsTokenCount": 4,
			"totalTokenCount": InputTokens + OutputTokens,
		},
	}
}
