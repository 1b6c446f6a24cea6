package v1

import "github.com/danielgtaylor/huma/v2"

// openKey is the key of [Route.Open] in the metadata of an operation.
const openKey = "open"

// Doors is the adapter of an API some of whose routes need no credential.
type Doors struct {
	// Adapter serves the routes that need a credential.
	huma.Adapter
	// Open serves those with [Route.Open].
	Open huma.Adapter
}

// Handle implements huma.Adapter.
func (d Doors) Handle(op *huma.Operation, handler func(huma.Context)) {
	if open, _ := op.Metadata[openKey].(bool); open {
		d.Open.Handle(op, handler)
		return
	}
	d.Adapter.Handle(op, handler)
}
