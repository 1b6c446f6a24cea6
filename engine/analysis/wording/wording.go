package wording

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/llm"
)

// maxTokens bounds a reply together with the thoughts of the model.
const maxTokens = 8192

// schema is the schema of the reply.
const schema = `{"type":"object","properties":{"text":{"type":"string","description":"The text for the data owner"}},` +
	`"required":["text"],"additionalProperties":false}`

// Text is the wording of an answer. The numbers are set even if Write fails.
type Text struct {
	// Text is plain text without control characters. Its tags are those of the answer's
	// references.
	Text string
	// InputTokens and OutputTokens are the sums over all requests that a model answered.
	InputTokens, OutputTokens int64
	// Repairs is the number of replies that were refused and asked for again.
	Repairs int
	// DroppedReferences is the number of tags that the model invented, which were removed.
	DroppedReferences int
	// PromptHash is the SHA-256 of the system prompt and the prompt, in hexadecimal.
	PromptHash string
}

// Write lets a model word an answer of an action. model is the vendor's name of the model.
// After an invalid reply, Write asks once more. It returns the errors of package llm:
// [llm.ErrMalformed] if the second reply is invalid, too.
func Write(ctx context.Context, client llm.Client, model string, action analysis.Action, answer analysis.Answer) (Text, error) {
	data, err := evidence(action, answer)
	if err != nil {
		return Text{}, err
	}
	request := llm.Request{
		Model: model, System: system(action), Prompt: prompt(data), Schema: json.RawMessage(schema), MaxTokens: maxTokens,
	}
	hash := sha256.Sum256([]byte(request.System + request.Prompt))
	text := Text{PromptHash: hex.EncodeToString(hash[:])}
	original := request.Prompt
	for {
		reply, err := client.Complete(ctx, request)
		text.InputTokens += reply.InputTokens
		text.OutputTokens += reply.OutputTokens
		var reason string
		switch {
		case err == nil:
			text.Text, text.DroppedReferences, reason = read(reply.Document, answer.References)
			if reason == "" {
				return text, nil
			}
			err = fmt.Errorf("%w: %s", llm.ErrMalformed, reason)
		case errors.Is(err, llm.ErrMalformed) && reply.OutputTokens > 0:
			reason = "it was not one complete JSON document"
		default:
			// No model answered, so there is nothing to repair.
			return text, fmt.Errorf("wording of %s: %w", action, err)
		}
		text.Text, text.DroppedReferences = "", 0
		if text.Repairs == 1 {
			return text, fmt.Errorf("wording of %s: %w", action, err)
		}
		text.Repairs++
		request.Prompt = original + "\n\n" + repair(reason)
	}
}
