// Package docs serves a browsable page for the API description. Everything that the page
// needs is embedded, so it works without the internet and loads nothing from other
// servers.
package docs
