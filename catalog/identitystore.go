package catalog

// Identity is composed of the interfaces of the records by which people and programs come
// into organisations.
type Identity interface {
	Invitations
	Passwords
	ProviderApps
	ProviderLinks
	SealedSecrets
	IdentityBindings
	SingleSignOn
	Clients
	OpenClients
	ServiceAccounts
}
