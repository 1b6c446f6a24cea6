package action

import (
	stdjson "encoding/json"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// CommitInfo describes the origin of a commit. The protocol does not prescribe its
// contents, so a member with an unexpected type is not an error: it is in Extra only. A
// value that is not an object says nothing.
type CommitInfo struct {
	// Timestamp is the writer's clock in milliseconds since the epoch.
	Timestamp int64
	// InCommitTimestamp orders commits if the table has in-commit timestamps.
	InCommitTimestamp *int64
	Operation         string
	// OperationParameters holds JSON text by name.
	OperationParameters map[string]string
	OperationMetrics    map[string]string
	ReadVersion         *int64
	IsolationLevel      string
	// IsBlindAppend is nil if the writer did not state it. Readers must then assume
	// that it read the table.
	IsBlindAppend *bool
	EngineInfo    string
	UserID        string
	UserName      string
	// TxnID is unique for each commit. A writer identifies its own commits by it.
	TxnID string
	// Extra holds the remaining members as JSON, including empty and zero ones.
	Extra map[string]stdjson.RawMessage
}

// UnmarshalJSONFrom decodes members with the expected types and puts all others into
// Extra.
func (c *CommitInfo) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '{' { // of a writer with another form of it
		*c = CommitInfo{}
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	*c = CommitInfo{}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name := tok.String()
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if !c.take(name, v) {
			if c.Extra == nil {
				c.Extra = make(map[string]stdjson.RawMessage)
			}
			c.Extra[name] = stdjson.RawMessage(v.Clone())
		}
	}
	_, err := dec.ReadToken()
	return err
}

func (c *CommitInfo) take(name string, v jsontext.Value) bool {
	switch name {
	case "timestamp":
		return json.Unmarshal(v, &c.Timestamp) == nil && c.Timestamp != 0
	case "inCommitTimestamp":
		return takePointer(v, &c.InCommitTimestamp)
	case "operation":
		return json.Unmarshal(v, &c.Operation) == nil && c.Operation != ""
	case "operationParameters":
		m, ok := textMap(v)
		c.OperationParameters = m
		return ok
	case "operationMetrics":
		m, ok := textMap(v)
		c.OperationMetrics = m
		return ok
	case "readVersion":
		return takePointer(v, &c.ReadVersion)
	case "isolationLevel":
		return json.Unmarshal(v, &c.IsolationLevel) == nil && c.IsolationLevel != ""
	case "isBlindAppend":
		return takePointer(v, &c.IsBlindAppend)
	case "engineInfo":
		return json.Unmarshal(v, &c.EngineInfo) == nil && c.EngineInfo != ""
	case "userId":
		return json.Unmarshal(v, &c.UserID) == nil && c.UserID != ""
	case "userName":
		return json.Unmarshal(v, &c.UserName) == nil && c.UserName != ""
	case "txnId":
		return json.Unmarshal(v, &c.TxnID) == nil && c.TxnID != ""
	}
	return false
}

func takePointer[T any](v jsontext.Value, into **T) bool {
	var value *T
	if json.Unmarshal(v, &value) != nil {
		return false
	}
	*into = value
	return true
}

// textMap decodes an object whose values are strings. Some writers use numbers and
// objects, which it returns as JSON text.
func textMap(v jsontext.Value) (map[string]string, bool) {
	if v.Kind() == 'n' {
		return nil, true
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(v, &members) != nil {
		return nil, false
	}
	m := make(map[string]string, len(members))
	for name, value := range members {
		var s string
		if value.Kind() == '"' && json.Unmarshal(value, &s) == nil {
			m[name] = s
		} else {
			m[name] = string(value)
		}
	}
	return m, true
}

// MarshalJSON encodes the members that are set, and Extra.
func (c *CommitInfo) MarshalJSON() ([]byte, error) {
	m := make(map[string]any, 12+len(c.Extra))
	for name, v := range c.Extra {
		m[name] = jsontext.Value(v)
	}
	if c.Timestamp != 0 {
		m["timestamp"] = c.Timestamp
	}
	set := func(name, value string) {
		if value != "" {
			m[name] = value
		}
	}
	set("operation", c.Operation)
	set("isolationLevel", c.IsolationLevel)
	set("engineInfo", c.EngineInfo)
	set("userId", c.UserID)
	set("userName", c.UserName)
	set("txnId", c.TxnID)
	if c.OperationParameters != nil {
		m["operationParameters"] = c.OperationParameters
	}
	if c.OperationMetrics != nil {
		m["operationMetrics"] = c.OperationMetrics
	}
	if c.InCommitTimestamp != nil {
		m["inCommitTimestamp"] = *c.InCommitTimestamp
	}
	if c.ReadVersion != nil {
		m["readVersion"] = *c.ReadVersion
	}
	if c.IsBlindAppend != nil {
		m["isBlindAppend"] = *c.IsBlindAppend
	}
	return json.Marshal(m, json.Deterministic(true))
}

// JSONText encodes a string as the value of an operation parameter, which is a JSON
// document inside a string.
func JSONText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return strconv.Quote(s)
	}
	return string(b)
}
