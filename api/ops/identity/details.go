package identity

import (
	"encoding/json"
	"strings"
)

// maxAuditText bounds unverified text in the audit log, in bytes: the length of the
// longest e-mail address.
const maxAuditText = 254

// details returns the details of an audit entry: pairs of names and texts.
func details(pairs ...string) json.RawMessage {
	members := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		text := strings.ToValidUTF8(pairs[i+1], "\uFFFD")
		if len(text) > maxAuditText {
			text = strings.ToValidUTF8(text[:maxAuditText], "")
		}
		members[pairs[i]] = text
	}
	raw, _ := json.Marshal(members) // texts: cannot fail
	return raw
}
