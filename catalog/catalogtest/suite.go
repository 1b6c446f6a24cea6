package catalogtest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// Config creates the stores under test.
type Config struct {
	// Database creates an empty database that lives as long as tb, and returns a
	// function that opens another store on it. The store is closed before tb ends.
	// Announced changes must reach a watch within a second.
	Database func(tb testing.TB) (open func(now func() time.Time) catalog.Store)
	// Context adds the caller that the store expects to the context; nil adds nothing.
	Context func(context.Context) context.Context
}

// Run runs the whole suite, with a new database for each part.
func Run(t *testing.T, config Config) {
	for _, part := range []struct {
		name string
		test func(*testing.T, *world)
	}{
		{"organisations", organisations},
		{"deleted organisation", deletedOrganisation},
		{"restored organisation", restoredOrganisation},
		{"purged organisation", purgedOrganisation},
		{"organisations of a user", userOrganisations},
		{"invitations", invitations},
		{"accepted invitations", acceptedInvitations},
		{"invitations with a password", passwordInvitations},
		{"invitations end with rights", endedInvitations},
		{"race for an invitation", raceInvitations},
		{"race of replaced invitations", raceReplacedInvitations},
		{"race of demoted inviters", raceInviters},
		{"users", users},
		{"added people", addedPeople},
		{"consent of people", consentOfPeople},
		{"service members", serviceMembers},
		{"race of created organisations", raceCreations},
		{"members", members},
		{"last admin", lastAdmin},
		{"removed member", removedMember},
		{"deleted person", deletedPerson},
		{"required single sign-on", requiredSingleSignOn},
		{"attributes", attributes},
		{"workspaces", workspaces},
		{"workspace members", workspaceMembers},
		{"storage configs", storageConfigs},
		{"storage secrets", storageSecrets},
		{"attached configs", attachedConfigs},
		{"undone attaches", undoneAttaches},
		{"attaches keep tables", attachesKeepTables},
		{"taken configs", takenConfigs},
		{"sandboxes", sandboxes},
		{"quota of a sandbox", sandboxQuota},
		{"race for a quota", raceQuota},
		{"quota of service accounts", serviceQuota},
		{"purged sandbox", purgedSandbox},
		{"sandbox of an older schema", formerSandbox},
		{"unused tables of a sandbox", unusedTables},
		{"restored tables of a sandbox", restoredTables},
		{"replaced table of a sandbox", droppedImpostor},
		{"locations", locations},
		{"visibility against an oracle", visibility},
		{"resolve names", resolveNames},
		{"resolve delta ids", resolveDelta},
		{"register and rename", registerAndRename},
		{"names from paths", namesFromPaths},
		{"discovery", discovery},
		{"tombstones", tombstones},
		{"changed identity", changedIdentity},
		{"adopted identity", adoptedIdentity},
		{"dropping does not hide a changed identity", droppedIdentity},
		{"policies", policies},
		{"policy history", policyHistory},
		{"enabled policies", enabledPolicies},
		{"deleted policies", deletedPolicies},
		{"constraints", constraints},
		{"constraints make a table governed", governedByConstraints},
		{"remembered rules", rememberedRules},
		{"column domains", columnDomains},
		{"replaced domains", replacedDomains},
		{"invalid domains", invalidDomains},
		{"cycles of domains", domainCycles},
		{"values of domains", domainValues},
		{"shared domains", sharedDomains},
		{"uses that a change was judged by", judgedUses},
		{"changes of values", valueChanges},
		{"deletions of values", deletedValues},
		{"changes of values are taken over", takenValueChanges},
		{"publications", publications},
		{"domains make a table governed", governedByDomains},
		{"domains of an adopted identity", adoptedDomains},
		{"cycles of an adopted identity", adoptedCycles},
		{"domains against a model", randomDomains},
		{"domains of tables that are gone", domainsOfGone},
		{"emptied organisations", emptied},
		{"clients", clients},
		{"open clients", openClients},
		{"service accounts", serviceAccounts},
		{"provider applications", providerApps},
		{"provider links", providerLinks},
		{"race of claims", raceClaims},
		{"sealed secrets", sealedSecrets},
		{"sealed secrets replaced", sealedSecretsReplaced},
		{"analysis providers", analysisProviders},
		{"counted analyses", countedAnalyses},
		{"race of analyses", raceAnalyses},
		{"use of models", analysisUse},
		{"keys", keys},
		{"key rotation", keyRotation},
		{"lifetimes", lifetimes},
		{"operations", operations},
		{"cancelled operations", cancelledOperations},
		{"lost operations", lostOperations},
		{"write leases", writeLeases},
		{"write keys", writeKeys},
		{"deletions of files", fileDeletions},
		{"moved tables", movedTables},
		{"reverted moves", revertedMoves},
		{"refused moves", refusedMoves},
		{"moves keep places", movesKeepPlaces},
		{"moves and writes", movesAndWrites},
		{"moves are taken over", movesAreTakenOver},
		{"keys of moves", moveKeys},
		{"moved references", movedReferences},
		{"reads of replicas", replicaReads},
		{"passwords", passwords},
		{"single sign-on", singleSignOn},
		{"e-mail domains", emailDomains},
		{"lapsed e-mail domains", lapsedEmailDomains},
		{"identified subjects", identifiedSubjects},
		{"changed addresses", changedAddresses},
		{"identity bindings", identityBindings},
		{"race of subjects", raceSubjects},
		{"audit", audit},
		{"pages", pages},
		{"hostile text", hostileText},
		{"epoch", epoch},
		{"watch", watch},
		{"watches end", watchesEnd},
		{"race of updates", raceUpdates},
		{"race of last admins", raceLastAdmins},
		{"race of locations", raceLocations},
		{"race of attaches", raceAttaches},
		{"race of attach and undo", raceAttachUndo},
		{"race of reservations", raceReservations},
		{"race of names", raceNames},
		{"race for an operation", raceOperations},
		{"race of writes and domains", racePublications},
		{"race of domains", raceDomains},
		{"cancelled context", cancelledContext},
		{"closed store", closedStore},
	} {
		t.Run(strings.ReplaceAll(part.name, " ", "-"), func(t *testing.T) {
			ctx := t.Context()
			if config.Context != nil {
				ctx = config.Context(ctx)
			}
			w := &world{T: t, ctx: ctx, open: config.Database(t)}
			w.clock.Store(time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC).UnixMicro())
			w.Store = w.open(w.now)
			part.test(t, w)
		})
	}
}

// world is a store with its own clock and functions to fill it.
type world struct {
	*testing.T
	catalog.Store
	ctx   context.Context
	open  func(now func() time.Time) catalog.Store
	clock atomic.Int64
	count atomic.Int64
}

// now advances with every call, so that orders by time are unambiguous.
func (w *world) now() time.Time { return time.UnixMicro(w.clock.Add(1)).UTC() }
