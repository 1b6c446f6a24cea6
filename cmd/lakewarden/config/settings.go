package config

import (
	"flag"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"
)

// ServeCommand is the command that runs the server. Its help lists all settings.
const ServeCommand = "serve"

// withoutDefault describes the value of settings without an entry in [defaults].
var withoutDefault = map[string]string{
	"analysis_family_a_base_url": "that of the vendor",
	"analysis_family_b_base_url": "that of the vendor",
	"analysis_family_c_base_url": "that of the vendor",
	"analysis_models":            "none; in the YAML file only",
	"azure_authority":            "https://login.microsoftonline.com",
	"database_url":               "SQLite in the data directory",
	"extension_dir":              "extensions next to the binary",
	"file_mode":                  "that of the table's folder, without others",
	"issuers":                    "none; in the YAML file only",
	"key_file":                   "<data dir>/keys.json",
	"key_kms_endpoint":           "that of the key's region",
	"local_roots":                "<data dir>/storage",
	"mail_dir":                   "<data dir>/mail",
	"providers":                  "presets; in the YAML file only",
	"public_url":                 "http://<listen>",
	"rate_org_burst":             "10 × rate_burst",
	"rate_org_per_minute":        "10 × rate_per_minute",
	"results_url":                "<data dir>/results",
	"sandbox_root":               "<data dir>/sandbox",
}

// settingKeys returns the keys of [Settings] in declaration order.
func settingKeys() []string { return keysOf(reflect.TypeFor[Settings]()) }

func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		switch key := t.Field(i).Tag.Get("koanf"); key {
		case "":
		case ",squash":
			keys = append(keys, keysOf(t.Field(i).Type)...)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

func variable(key string) string { return envPrefix + strings.ToUpper(key) }

// printSettings lists every setting with its default.
func printSettings(w io.Writer) {
	fmt.Fprintln(w, "\nSettings, by environment variable; in lower case without LAKEWARDEN_ they are the keys\n"+
		"of the YAML file. README.md, \"Configuration\", describes each of them.")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	values := defaults()
	for _, key := range settingKeys() {
		value, ok := values[key]
		switch {
		case ok:
		case withoutDefault[key] != "":
			value = withoutDefault[key]
		default:
			value = "none"
		}
		fmt.Fprintf(table, "  %s\t%v\n", variable(key), value)
	}
	_ = table.Flush() // the help text needs no error
}

// flagUsage prints the help of a command. All commands read the settings, but only the
// help of the server lists all of them.
func flagUsage(fs *flag.FlagSet) {
	fmt.Fprintf(fs.Output(), "Usage of lakewarden %s:\n", fs.Name())
	fs.PrintDefaults()
	if fs.Name() == ServeCommand {
		printSettings(fs.Output())
		return
	}
	fmt.Fprintf(fs.Output(), "\nThe settings of the server apply too: see \"lakewarden %s --help\".\n", ServeCommand)
}
