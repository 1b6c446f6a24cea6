package catalog

import (
	"net/mail"
	"strings"
	"time"
)

// User is a person. One user can be a member of several organisations.
type User struct {
	ID UserID
	// Email is unique and in lower case; see [NormaliseEmail].
	Email       string
	DisplayName string
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// NewUser is the input of [Users.CreateUser]. An empty ID lets the store
// choose one.
type NewUser struct {
	ID          UserID
	Email       string
	DisplayName string
}

// Validate returns nil or [FieldErrors].
func (n NewUser) Validate() error {
	var e FieldErrors
	e.email("email", n.Email)
	e.text("display_name", n.DisplayName, 0, 200)
	return e.Err()
}

// UserChange holds the fields to change. Nil fields keep their value.
type UserChange struct {
	Email       *string
	DisplayName *string
}

// Validate returns nil or [FieldErrors].
func (c UserChange) Validate() error {
	var e FieldErrors
	if c.Email != nil {
		e.email("email", *c.Email)
	}
	if c.DisplayName != nil {
		e.text("display_name", *c.DisplayName, 0, 200)
	}
	return e.Err()
}

// NormaliseEmail returns the form in which addresses are stored and compared.
func NormaliseEmail(address string) string {
	return strings.ToLower(strings.TrimSpace(address))
}

// ValidateEmail returns nil or [FieldErrors] for the given field name.
func ValidateEmail(field, address string) error {
	var e FieldErrors
	e.email(field, address)
	return e.Err()
}

func (e *FieldErrors) email(field, address string) {
	address = NormaliseEmail(address)
	parsed, err := mail.ParseAddress(address)
	_, domain, _ := strings.Cut(address, "@")
	// The parser accepts display names, comments and quoted local parts. Only a bare
	// address may be stored, otherwise two spellings name one mailbox.
	if err != nil || parsed.Address != address || len(address) > 254 ||
		domain == "" || strings.ContainsAny(address, " \"<>()[]\\,;:") {
		e.add(field, "must be an e-mail address")
	}
}

// Membership is the membership of a user in an organisation: the user's role, and the
// attributes that policies use.
type Membership struct {
	Org         OrgID
	User        UserID
	Email       string
	DisplayName string
	Role        Role
	// Attributes is never nil.
	Attributes map[string]string
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Bounds of the attributes of one member.
const (
	MaxAttributes          = 100
	MaxAttributeNameLength = 64
	MaxAttributeValueBytes = 4096
)

// ValidateAttributes returns nil or [FieldErrors].
func ValidateAttributes(attributes map[string]string) error {
	var e FieldErrors
	if len(attributes) > MaxAttributes {
		e.add("attributes", "must have at most %d entries", MaxAttributes)
		return e.Err()
	}
	for _, name := range sortedKeys(attributes) {
		if !attributeName(name) {
			e.add("attributes", "has a name that is not 1 to %d letters, digits, '_', '-' or '.', starting with a letter or '_'",
				MaxAttributeNameLength)
			continue
		}
		field := "attributes." + name
		if value := attributes[name]; len(value) > MaxAttributeValueBytes {
			e.add(field, "must have at most %d bytes", MaxAttributeValueBytes)
		} else if !storableText(value) {
			e.add(field, "must be valid UTF-8 without NUL")
		}
	}
	return e.Err()
}

func attributeName(name string) bool {
	if name == "" || len(name) > MaxAttributeNameLength {
		return false
	}
	for i, r := range name {
		switch {
		case r == '_', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		case i > 0 && (r == '-' || r == '.' || r >= '0' && r <= '9'):
		default:
			return false
		}
	}
	return true
}
