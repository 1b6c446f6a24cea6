package throttle

import (
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// Mailings limits the e-mails that one mailbox gets: links to set a password, whoever
// asks for them, and invitations to each organisation. It limits the invitations that one
// member sends, too, so that nobody sends bulk mail by the server. It also limits the audit entries
// about requests of people who are not known. It is safe for concurrent use. Each replica
// counts by itself.
type Mailings struct {
	sent     *meter
	inviters *meter
	requests tally
}

// The e-mails that one mailbox gets: five at once, and then one each quarter of an hour. The
// invitations that one member sends: 500 at once, and then one a minute.
const (
	mailBurst      = 5
	mailInterval   = 15 * time.Minute
	inviteBurst    = 500
	inviteInterval = time.Minute
)

// NewMailings returns empty counters. If now is nil, [time.Now] is used.
func NewMailings(now func() time.Time) *Mailings {
	if now == nil {
		now = time.Now
	}
	return &Mailings{
		sent: newMeter(now, mailBurst, mailInterval), inviters: newMeter(now, inviteBurst, inviteInterval),
		requests: newTally(now, newMeter(now, mailBurst, mailInterval)),
	}
}

// Allow counts an e-mail and reports whether it may be sent.
func (m *Mailings) Allow(email string) bool {
	return m.sent.add(email) == 0
}

// Invite counts an invitation of a mailbox to an organisation by a member, or returns a
// [TooManyError].
func (m *Mailings) Invite(org catalog.OrgID, by catalog.UserID, email string) error {
	switch {
	case !m.inviters.take(string(by)):
		return &TooManyError{inviteInterval}
	case !m.sent.take(string(org) + " " + email):
		return &TooManyError{mailInterval}
	}
	return nil
}

// Requested counts a request for an e-mail to a mailbox, known or not. audited reports
// whether the audit log gets an entry, and limited names what has too many; see [tally].
func (m *Mailings) Requested(email, remote string) (limited string, audited bool) {
	_, limited, audited = m.requests.add(email, remote)
	return limited, audited
}
