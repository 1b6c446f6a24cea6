package sqltree

import "bytes"

// Matches reports whether text is a tree equal to want, without building it. False is
// inconclusive: the trees may still be equal in their canonical forms.
func Matches(text []byte, want *Node) bool {
	m := matcher{decoder{text: text, depth: 1 << 20, lean: true}}
	ok := m.value(want)
	m.space()
	return ok && m.at == len(text)
}

type matcher struct{ decoder }

// value reads one value and compares it.
func (m *matcher) value(want any) bool {
	switch c := m.next(); c {
	case '{':
		n, _ := want.(*Node)
		if n == nil {
			return m.slow(want)
		}
		return m.fields(n)
	case '[':
		list, _ := want.([]any)
		if len(list) == 0 {
			return m.slow(want)
		}
		return m.items(list)
	case '"':
		start := m.at
		end := bytes.IndexByte(m.text[start+1:], '"')
		s, isText := want.(string)
		if isText && end == len(s) && string(m.text[start+1:start+1+end]) == s && bytes.IndexByte(m.text[start+1:start+1+end], '\\') < 0 {
			m.at = start + end + 2
			return true
		}
		return m.slow(want)
	}
	return m.slow(want)
}

// slow decodes a value and compares it with [Equal].
func (m *matcher) slow(want any) bool {
	got, err := m.decoder.value(0)
	return err == nil && Equal(want, got)
}

func (m *matcher) items(want []any) bool {
	m.at++
	for i := 0; ; i++ {
		if i >= len(want) || m.next() == ']' || !m.value(want[i]) {
			return false
		}
		done, err := m.separator(']')
		if err != nil {
			return false
		}
		if done {
			return i+1 == len(want)
		}
	}
}

func (m *matcher) fields(want *Node) bool {
	m.at++
	if m.next() == '}' {
		m.at++
		return Equal(want, &Node{})
	}
	seen := uint64(0)
	for at := 0; ; {
		if m.next() != '"' {
			return false
		}
		key, _, err := m.quoted()
		if err != nil || m.next() != ':' {
			return false
		}
		m.at++
		i := want.index(key, at)
		switch {
		case key == "query_location":
			_, err = m.decoder.value(0)
			if err != nil {
				return false
			}
		case i < 0:
			if trueByDefault[key] || !m.slow(nil) {
				return false
			}
		case seen&(1<<i) != 0 || !m.value(want.vals[i]):
			return false
		}
		if i >= 0 {
			seen |= 1 << i
			at = i + 1
		}
		done, err := m.separator('}')
		if err != nil {
			return false
		}
		if done {
			break
		}
	}
	for i, k := range want.keys {
		if seen&(1<<i) == 0 && k != "query_location" && (trueByDefault[k] || !IsDefault(want.vals[i])) {
			return false
		}
	}
	return true
}

// index returns the position of a field, which is tried at the expected position first.
// Nodes have fewer than 64 fields.
func (n *Node) index(key string, at int) int {
	if at < len(n.keys) && n.keys[at] == key {
		return at
	}
	for i, k := range n.keys {
		if k == key && i < 64 {
			return i
		}
	}
	return -1
}
