// Package docs serves a browsable page for the API description. Everything it
// needs is embedded: the page works without the internet and loads nothing from
// elsewhere.
package docs
