package llmtest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// The numbers of tokens that answers with a document claim.
const (
	InputTokens  = 1200
	OutputTokens = 34
)

// Answer is what a server answers to a request.
type Answer struct {
	write func(w http.ResponseWriter, r *http.Request, f format)
}

// ending is how a model ended.
type ending int

const (
	ended ending = iota
	cutShort
	refused
)

// Document answers with a document that the model wrote, which may be any text.
func Document(document string) Answer { return envelope(document, ended) }

// CutShort answers with a document that reached the limit of tokens.
func CutShort(document string) Answer { return envelope(document, cutShort) }

// Refusal answers that the model refuses.
func Refusal() Answer { return envelope("I cannot help with that.", refused) }

func envelope(document string, end ending) Answer {
	return Answer{func(w http.ResponseWriter, _ *http.Request, f format) {
		body, err := json.Marshal(f.reply(document, end))
		if err != nil {
			panic(err)
		}
		writeJSON(w, body)
	}}
}

// Status answers with an error of the API, which quotes the request and its key.
func Status(code int, header http.Header) Answer {
	return Answer{func(w http.ResponseWriter, r *http.Request, f format) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		message, _ := json.Marshal("failed with key " + f.key(r.Header))
		_, _ = w.Write([]byte(`{"type":"error","error":{"type":"error","code":` + strconv.Itoa(code) +
			`,"status":"FAILED","message":` + string(message) + `}}`))
	}}
}

// Garbage answers with bytes that are not JSON but claim to be.
func Garbage() Answer { return Raw([]byte("\x00\xff<html>{{{")) }

// Raw answers with a body that claims to be JSON.
func Raw(body []byte) Answer {
	return Answer{func(w http.ResponseWriter, _ *http.Request, _ format) { writeJSON(w, body) }}
}

// Silence does not answer.
func Silence() Answer {
	return Answer{func(_ http.ResponseWriter, r *http.Request, _ format) { <-r.Context().Done() }}
}

// Trickle sends a byte every few milliseconds, without end.
func Trickle() Answer {
	return Answer{func(w http.ResponseWriter, r *http.Request, _ format) {
		w.Header().Set("Content-Type", "application/json")
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		for {
			_, err := w.Write([]byte(" "))
			if err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
				return
			case <-ticks.C:
			}
		}
	}}
}

// Endless sends valid JSON as fast as it can, without end.
func Endless() Answer {
	return Answer{func(w http.ResponseWriter, _ *http.Request, _ format) {
		w.Header().Set("Content-Type", "application/json")
		chunk := bytes.Repeat([]byte("[1],"), 1<<14)
		_, err := w.Write([]byte("["))
		for err == nil {
			_, err = w.Write(chunk)
		}
	}}
}

// Bomb sends 64 MiB of spaces as a small compressed body.
func Bomb() Answer {
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	chunk := bytes.Repeat([]byte(" "), 1<<20)
	for range 1 << 6 {
		if _, err := z.Write(chunk); err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return Answer{func(w http.ResponseWriter, _ *http.Request, _ format) {
		w.Header().Set("Content-Encoding", "gzip")
		writeJSON(w, compressed.Bytes())
	}}
}

// Hangup ends the connection without an answer.
func Hangup() Answer {
	return Answer{func(http.ResponseWriter, *http.Request, format) { panic(http.ErrAbortHandler) }}
}

// Partial ends the connection in the middle of an answer.
func Partial() Answer {
	return Answer{func(w http.ResponseWriter, _ *http.Request, _ format) {
		w.Header().Set("Content-Length", "1000")
		writeJSON(w, []byte("{"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}}
}

// Redirect answers with a redirect that keeps the method and the body.
func Redirect(to string) Answer {
	return Answer{func(w http.ResponseWriter, r *http.Request, _ format) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}}
}

func writeJSON(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}
