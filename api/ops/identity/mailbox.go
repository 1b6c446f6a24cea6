package identity

import "github.com/lakewarden/lakewarden/catalog"

// mailbox returns the form in which an e-mail address is stored and compared, or an error
// of the field email.
func mailbox(email string) (string, error) {
	if err := catalog.ValidateMailbox("email", email); err != nil {
		return "", err
	}
	return catalog.NormaliseEmail(email), nil
}
